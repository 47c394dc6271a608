"""ctxkit salvage: a clean copy of a damaged log, and a report of what is left out."""

from __future__ import annotations

import shlex

import msgspec

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened
from ctxkit.cli.options import LogArgument, Reading, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.errors import CannotCreate, Usage
from ctxkit.logfile.chain_head import head
from ctxkit.recovery.records import soundness
from ctxkit.recovery.salvage import Range, Salvaged
from ctxkit.store.atomic import create

_KINDS = {"left": "not taken", "mended": "mended", "added": "mended"}


@takes(Reading)
def command(
    log: LogArgument = "-",
    *,
    output: str,
    reading: Reading,
) -> None:
    """Write a clean copy of a damaged log to a new file, and report every byte range that is left out.

    Every whole record is copied byte for byte to a line of its own, even after a torn one, on one line with others, or
    among NUL bytes. A record that only a tolerant reader accepts is rewritten so that every program reads it in the
    same way. The copy reads like the log, including its own ops, and has no damage. A log without damage gives an equal
    copy.

    LOG is never changed, and no file is ever overwritten. The copy is written whole or not at all, readable only by its
    owner. Ops in a sidecar stay there. A log that goes on from another file gives a copy that does so, too.
    """
    if not output:
        raise Usage("-o needs the name of a new file, or - for standard output")
    if output == "-" and reading.json:
        raise Usage("--json and -o - both need standard output", "name a file: -o NEW")
    target = opened(log, reading, command="salvage", report=False)
    if output == "-" and streams.same_as_stdout(target.opening.path):
        text = f"standard output is {target.opening.name} itself: nothing was written"
        raise CannotCreate(text, "another file: the log is never changed")
    made = target.salvage()
    with streams.progress(f"salvaging {target.opening.name}"):
        if output == "-":
            streams.out_bytes(made.pieces)
        else:
            create(output, made.pieces)
    if reading.json:
        for one in made.ranges:
            streams.out_json(msgspec.to_builtins(one))
        streams.out_json({"records": made.records, "size": made.size, "left": made.left, "equal": not made.ranges})
    else:
        for one in made.ranges:
            streams.say(_line(target.opening.name, one))
    streams.flush()
    streams.say(_summary(target, output, made))
    if (before := head(target)) is not None:
        streams.say(f"head of {target.opening.name}: {before}")
        if output != "-":
            streams.say(f"head of {output}: {head(Log.open(output))}")
    _sidecar(target, output)
    for file in dict.fromkeys(one.file for one in target.transcript.damage if one.file):
        call = shlex.join(["ctxkit", "export", target.opening.name, "--to", "codex", "-o"])
        streams.say(f"{file} is damaged, and the copy goes on from it, too")
        streams.hint(f"{call} WHOLE writes the history of all files to one, which can be salvaged")


def _line(name: str, one: Range) -> str:
    place = f"bytes {one.offset} to {one.offset + one.size}" if one.size else f"before byte {one.offset}"
    return f"{name}:{one.line}: {one.code}: {place}: {_KINDS[one.kind]}: {one.text}"


def _summary(log: Log, output: str, made: Salvaged) -> str:
    name = "standard output" if output == "-" else output
    what = f"wrote {name}: {layout.count(made.records, 'record')}, {layout.count(made.size, 'byte')}"
    if not made.ranges:
        odd = len({one.line for one in (*soundness(log), *log.transcript.damage) if not one.file})
        if odd:
            lines = f"{layout.count(odd, 'line')} {'have' if odd > 1 else 'has'} findings"
            return f"{what}: every record is sound JSON; the copy is equal; {lines} that ctxkit check lists"
        return f"{what}: nothing is damaged; the copy is equal"
    return f"{what}; {layout.count(made.left, 'byte')} left out"


def _sidecar(log: Log, output: str) -> None:
    """Say that ops in a sidecar are not in the copy."""
    sidecar = log.opening.sidecar
    if sidecar is None or log.native or sidecar.ops_size() is None:
        return
    to = "NEW" if output == "-" else output
    streams.say(f"its ops stay in {sidecar.ops_path}: copy that folder to {to}.ctxkit to have them too")
