"""ctxkit check: find damage in a log and its ops."""

from __future__ import annotations

from ctxkit.cli import io, render
from ctxkit.cli.ink import Ink
from ctxkit.cli.params import LogArgument, Reading, takes
from ctxkit.cli.run import opened
from ctxkit.errors import ExitCode


@takes(Reading)
def command(log: LogArgument = "-", *, reading: Reading) -> int:
    """Look for damaged lines, ops that do not fit or cannot be read, and calls and results without each other.

    Exit 0: nothing was found; 1: what was found is printed, a line each. Nothing is changed, ever.
    """
    target = opened(log, reading, command="check", report=False)
    findings = target.check()
    for finding in findings:
        if reading.json:
            io.out_json({"where": finding.where, "code": finding.code, "text": finding.text})
        else:
            place = Ink(finding.where, "bold")
            io.out(f"{target.opening.name}: ", place, ": ", Ink(finding.code, "red"), f": {finding.text}", hang=2)
    io.flush()
    ops, messages = render.count(len(target.ledger.entries), "op"), render.count(len(target.messages), "message")
    io.say(f"{messages}, {ops}: {render.count(len(findings), 'problem') if findings else 'nothing'} found")
    return int(ExitCode.NO) if findings else int(ExitCode.DONE)
