"""ctxkit check: find damage in a log, its ops and the files beside it, and prove its context."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened
from ctxkit.cli.options import LogArgument, ManyLogs, Reading, refuse_doubtful, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import ERROR, WARNING, Styled
from ctxkit.core.findings import Finding
from ctxkit.errors import ExitCode, Usage
from ctxkit.export.agents import AGENTS
from ctxkit.formats.base import Proofs
from ctxkit.logfile.chain_head import head as head_of
from ctxkit.logfile.chain_head import proved
from ctxkit.recovery.check import refused, undone_damage

_REASONS = 8
"""Reasons for unproved requests that are printed; the others are counted."""


class FailOn(StrEnum):
    """The least that ends with exit 1."""

    DAMAGE = "damage"
    NOTES = "notes"


@takes(ManyLogs, Reading)
def command(
    log: LogArgument = "-",
    *,
    fail_on: FailOn = FailOn.DAMAGE,
    head: str | None = None,
    accept: bool = False,
    reading: Reading,
) -> int:
    """Look for damage in lines, ops, calls and results, snapshots and config, and for conflict copies beside the log.

    It also finds ops that do not fit, calls without results and results without calls. Conflict copies are files that
    synchronising programs leave; the differences are listed. If the log's own program recorded the hashes of the
    messages that it sent, they prove the context. Damage is what is wrong in bytes or ops, and what the log's program
    would send to be refused; all else is a note, such as a call that was interrupted. Exit 0: nothing was found, except
    notes; 1: damage was found, with --fail-on notes also a note. Findings are printed, one per line; -q prints nothing,
    the exit code tells. The log is never changed.

    Each op names the one before it. The printed head covers all ops and the records before the newest one. Store it
    elsewhere and pass it to --head later: it shows if ops are missing or a record was changed.
    """
    if accept:
        refuse_doubtful(log)
    target = opened(log, reading, command="check", report=False, tolerant=True)
    proofs = target.proofs()
    if accept:
        _accept(target)
    findings = target.check(proofs, notes=True)
    since = None
    if head is not None:
        since, wrong = proved(target, head)
        findings += wrong
    problems = [one for one in findings if not one.note]
    ends = ExitCode.NO if (findings if fail_on is FailOn.NOTES else problems) else ExitCode.DONE
    if reading.quiet:
        return int(ends)
    for finding in findings:
        if reading.json:
            streams.out_json({"log": target.opening.name, **msgspec.to_builtins(finding)})
        else:
            spans: list[str | Styled] = [Styled(finding.where, "bold"), ": "] if finding.where != finding.code else []
            code = Styled(finding.code, WARNING if finding.note else ERROR)
            words = f": {'note: ' if finding.note else ''}{finding.text}"
            streams.out(f"{target.opening.name}: ", *spans, code, words, hang=2)
    if reading.json and not problems:
        streams.out_json({"log": target.opening.name, "findings": 0})
    if proofs.requests and reading.json:
        unproved = [{"where": f"line {o.line}", "request": o.request, "text": o.text} for o in proofs.unproved]
        found = {"requests": proofs.requests, "proved": proofs.proved, "messages": proofs.messages}
        streams.out_json({**found, "given": proofs.given, "unproved": unproved})
    elif proofs.requests:
        for line in _proved(proofs):
            streams.out(line, hang=2)
    now = head_of(target)
    if now is not None and reading.json:
        streams.out_json({"head": str(now), "ops": len(target.ledger.entries)})
    elif now is not None:
        streams.out(f"head: {now}", hang=2)
    streams.flush()
    if since is not None:
        came = len(target.ledger.entries) - since.number
        streams.say(f"the head is that of op {since.number} ({since.name}); {layout.count(came, 'op')} came since")
    number = len(findings) - len(problems)
    notes = f", {layout.count(number, 'note')}" if number else ""
    ops, messages = layout.count(len(target.ledger.entries), "op"), layout.count(len(target.messages), "message")
    if not target.messages and not target.ledger.entries and not problems:
        streams.say(f"{target.opening.name} has no message: is it the right file?")
    streams.sum_up(
        f"{messages}, {ops}: {layout.count(len(problems), 'problem') if problems else 'nothing'} found{notes}"
    )
    if hint := _hint(target, problems):
        streams.hint(hint)
    return int(ends)


def _hint(log: Log, problems: list[Finding]) -> str:
    """The command that voids the first op for which the log is refused, or the one that mends a session whose requests
    are; "" if neither helps.
    """
    wrong = refused(log)
    one = next((entry for entry in wrong if entry.id), None)
    if one is None:
        stopped = any(problem.code in log.opening.format.leaves for problem in problems)
        mended = stopped and log.opening.format.name in AGENTS
        return "`ctxkit resume LOG` goes on with a copy in which each call has its result" if mended else ""
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return (
        f"the log is refused because of op {one.number}{more}: undo it with `ctxkit undo LOG {one.id} --force-replay`"
    )


def _accept(log: Log) -> None:
    """Record in the sidecar that the breaks, and the undone ops with a fault, are accepted.

    Raises Usage for a stream, and what writing to the sidecar raises.
    """
    sidecar, found, undone = log.opening.sidecar, log.breaks(), undone_damage(log)
    if sidecar is None:
        raise Usage("a stream has no sidecar to note a break in: nothing was changed", "name a log, or --sidecar DIR")
    if not found and not undone:
        streams.say("there is no break of the chain to accept: nothing was changed")
        return
    from ctxkit.store.accepted import accept

    accept(sidecar, [*(one.key for one in found), *undone])
    also = f" and {layout.count(len(undone), 'undone op')}" if undone else ""
    streams.say(f"{layout.count(len(found), 'break')} of the chain{also} accepted")


def _proved(proofs: Proofs) -> Iterator[str]:
    """How many requests prove the context, and why the others do not."""
    copies = f" ({proofs.given:,} of them by its copies)" if proofs.given else ""
    requests, messages = layout.count(proofs.requests, "request"), layout.count(proofs.messages, "message")
    yield f"proved: {proofs.proved:,} of {requests}, {messages}{copies}"
    reasons: dict[str, list[int]] = {}
    for one in proofs.unproved:
        reasons.setdefault(one.text, []).append(one.line)
    for text, lines in list(reasons.items())[:_REASONS]:
        where = f"on line {lines[0]:,}" if len(lines) == 1 else f"the first on line {lines[0]:,}"
        yield f"unproved: {layout.count(len(lines), 'request')}, {where}: {text}"
    if len(reasons) > _REASONS:
        yield f"unproved: {len(reasons) - _REASONS:,} more reasons (--json names all)"
