"""ctxkit recover: after a crash: what is damaged or unfinished, and a context to go on from; -o: a clean copy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened, write
from ctxkit.cli.options import LogArgument, Reading, Writing, refuse_doubtful, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.core.ops import Op
from ctxkit.core.snapshot import SnapshotHead
from ctxkit.core.times import seconds
from ctxkit.errors import CannotCreate, NothingChanges, Usage
from ctxkit.logfile.chain_head import head
from ctxkit.recovery.records import soundness
from ctxkit.recovery.recover import ENDS, TORN, WHYS, Recovery, RecoveryPoint, To, recovery
from ctxkit.recovery.salvage import Range, Salvaged
from ctxkit.store.atomic import create

POINTS: dict[str, To] = {
    "step": "step", "exchange": "exchange", "question": "question", "checkpoint": "checkpoint",
}  # fmt: skip
KEYS: dict[str, To] = {"y": "checkpoint", "s": "step", "e": "exchange", "q": "question"}
"""Key that is typed -> the point."""
KINDS = {"left": "not taken", "mended": "mended", "added": "mended"}
"""What was done with a range of bytes -> its name in the report."""


@takes(Writing, Reading)
def command(
    log: LogArgument = "-",
    *,
    point: str | None = None,
    output: str | None = None,
    writing: Writing,
    reading: Reading,
) -> None:
    """After a crash, report what is damaged or unfinished, and go back to where the context is whole.

    It reports damage, calls without a result, an exchange without an end, drafts that were left, and the newest
    checkpoint. If the last exchange has no end, there are up to three points to go back to: the end of its last whole
    step, the end of the last complete exchange (if there is neither, the question), and the newest checkpoint. On a
    terminal it asks; --yes takes the newer of the first two, --point names one. The messages after the point leave the
    context, as an op: nothing is deleted, and `ctxkit undo LOG` brings everything back. Without --yes and --point, and
    without a terminal, it only reports.

    Exit 0: there is nothing to recover, or it is done; 1: something was found, and nothing was changed.

    -o writes a clean copy of a damaged log to a new file instead, and reports every byte range that is left out; LOG is
    never changed. Every whole record is copied byte for byte to a line of its own, even after a torn one, on one line
    with others, or among NUL bytes. A record that only a tolerant reader accepts is rewritten so that every program
    reads it in the same way. The copy reads like the log, including its own ops, and has no damage; of a log without
    damage it is equal. No file is ever overwritten. The copy is written whole or not at all, readable only by its
    owner. Ops in a sidecar stay there. A log that goes on from another file gives a copy that does so, too.
    """
    if output is not None:
        if point or writing.yes or writing.dry_run or writing.op_id:
            raise Usage("-o writes a copy, and changes nothing in the log: nothing was written", "leave the others out")
        _copy(log, output, reading)
        return
    refuse_doubtful(log)
    goal = _point(point, yes=writing.yes)

    def action(target: Log) -> Op | None:
        found.append(recovery(target))
        if target.op_id and target.op_id in target.ledger.by_id:
            return target.recover(goal)
        return _recovered(target, found[0], goal, json=reading.json, asked=not (writing.yes or point or target.dry_run))

    def report(target: Log, op: Mapping[str, Any] | None) -> dict[str, Any]:
        return as_json(target, found[0], op)

    found: list[Recovery] = []
    write(log, reading, writing, "recover", action, report=report, damage=False)


def _point(word: str | None, *, yes: bool) -> To | None:
    if word is None:
        return None
    if yes:
        raise Usage("--yes and --point cannot be combined: nothing was changed", "use only one of them")
    if word not in POINTS:
        raise Usage(
            f"--point {word!r} is not a point to go back to: nothing was changed", f"one of {', '.join(POINTS)}"
        )
    return POINTS[word]


def _recovered(log: Log, found: Recovery, to: To | None, *, json: bool, asked: bool) -> Op | None:
    """Report what was found; the op, if one is wanted. Raises NothingChanges."""
    if not asked:
        op = log.recover(to)
        _print(log, found, json=json, points=False)
        return op
    piped = log.opening.path is None
    keys = _keys(found) if found.open is not None and not piped and not json and streams.on_terminal() else ""
    _print(log, found, json=json, points=not keys)
    if keys:
        chosen = _ask(found, keys)
        if chosen is not None:
            return log.recover(chosen)
        raise NothingChanges("nothing was changed", "ctxkit recover LOG --yes goes back without asking")
    if found.sound:
        return log.recover(None)
    if json:
        (streams.err_json if piped else streams.out_json)(as_json(log, found, None))
    raise NothingChanges(f"{log.opening.name}: {_words(found)}: nothing was changed", _hint(found))


def _print(log: Log, found: Recovery, *, json: bool, points: bool) -> None:
    """Print what was found, on standard output unless the log or the op goes there."""
    for line in () if json else lines(log, found, points=points):
        if log.opening.path is None or log.dry_run:
            streams.say(*line)
        else:
            streams.out(*line, hang=2)
    streams.flush()


def _keys(found: Recovery) -> str:
    """The keys that can be typed, except n."""
    kept = "y" if found.checkpoint is not None else ""
    return kept + "".join(point.to[0] for point in found.points if point.count)


def _ask(found: Recovery, keys: str) -> To | None:
    """Ask for the point to go back to; None for none."""
    if found.checkpoint is not None:
        streams.say_always(f"Resume from checkpoint? {named(found.checkpoint)}")
        streams.say_always(f"y  exactly its context: {layout.count(found.checkpoint.message_count, 'message')}")
    else:
        streams.say_always("Go back?")
    for point in found.points:
        if point.count:
            streams.say_always(f"{point.to[0]}  {describe(point)}")
    streams.say_always("n  nothing changes")
    return KEYS.get(streams.choose(keys + "n"))


def _words(found: Recovery) -> str:
    return found.state if found.state != "clean" else "a draft was left"


def _hint(found: Recovery) -> str:
    best = found.best
    if found.unplayed is not None:
        return found.unplayed.hint
    if best is not None and best.count:
        return f"ctxkit recover LOG --yes goes back to message {best.message}"
    if found.drafts or found.state != "interrupted":
        return "the context is whole"
    further = [f"--point {point.to}" for point in found.points if point.count]
    return "nothing needs to leave: you can go on from here" + (
        f", or further back with {further[0]}" if further else ""
    )


NAMED = 10
"""Findings of each kind that are listed; --json has all."""


def lines(log: Log, found: Recovery, *, points: bool = True) -> Iterator[Line]:
    """Yield a line for each finding; with `points` also the newest checkpoint and the other recovery points."""
    name = log.opening.name
    damage: list[Line] = [_at(name, one.where, one.code, one.text) for one in found.damage]
    for gap in found.lost:
        place = f"bytes {gap.offset} to {gap.offset + gap.size} are lost"
        damage.append(_at(name, f"line {gap.line}", gap.code, f"{place}: {gap.text}"))
    yield from _some(damage)
    mends = any(
        one.line is not None and one.where.startswith("line ") and one.code != "missing-parent" for one in found.damage
    )
    if mends or any(one.code != TORN for one in found.lost):
        call = shlex.join(["ctxkit", "recover", name, "-o", "NEW"])
        yield [Styled("copy", "cyan"), f": {call} writes a clean copy of the rest"]
    yield from _some([_at(name, one.where, one.code, one.text) for one in found.unanswered])
    if found.open is not None:
        one = found.open
        which = f"message {one.first}" if one.first == one.last else f"messages {one.first} to {one.last}"
        yield _at(name, which, "no-end", f"the last exchange has no end: {WHYS[one.why]}")
    for draft in found.drafts[-NAMED:]:
        yield [Styled("draft", "cyan"), f": {draft.path}: continue with: {draft.apply}"]
    if not points:
        return
    if found.checkpoint is not None and not found.sound:
        size = layout.count(found.checkpoint.message_count, "message")
        yield [Styled("checkpoint", "cyan"), f": {named(found.checkpoint)}: {size}"]
    for point in found.points:
        yield [Styled(point.to, "cyan"), f": {describe(point)}"]


def _at(name: str, where: str, code: str, text: str) -> Line:
    return [f"{name}: ", Styled(where, "bold"), ": ", Styled(code, "red"), f": {text}"]


def _some(found: list[Line]) -> Iterator[Line]:
    yield from found[:NAMED]
    if len(found) > NAMED:
        yield [f"… {len(found) - NAMED:,} more (--json names all)"]


def describe(point: RecoveryPoint) -> str:
    """Return `message 47 ends the last whole step: 48-50 would leave (3 messages)`."""
    then = f"{short(point.leaves)} would leave ({layout.count(point.count, 'message')})"
    return f"message {point.message} ends {ENDS[point.to]}: {then if point.count else 'nothing needs to leave'}"


def short(names: str) -> str:
    """Return the start of a long list of messages."""
    return names if len(names) <= 60 else f"{names[:60].rpartition(',')[0]},…"


def named(head: SnapshotHead) -> str:
    """Return `[2026-02-12 14:30] - [before the refactor]`, the name of a checkpoint in a question."""
    label = head.description or ", ".join(head.tags) or head.short
    moment = seconds(head.timestamp)
    return f"[{head.timestamp if moment is None else streams.clock().whole(moment)}] - [{label}]"


def as_json(log: Log, found: Recovery, op: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the findings as an object; all keys are always present."""
    head = found.checkpoint
    return {
        "log": log.opening.name,
        "format": log.opening.format.name,
        "state": found.state,
        "damage": [msgspec.to_builtins(one) for one in found.damage],
        "lost": [msgspec.to_builtins(one) for one in found.lost],
        "unanswered": [msgspec.to_builtins(one) for one in found.unanswered],
        "open": msgspec.to_builtins(found.open),
        "points": [msgspec.to_builtins(one) for one in found.points],
        "drafts": [{"path": str(one.path), "apply": one.apply} for one in found.drafts],
        "checkpoint": None if head is None else {
            "id": head.session_id, "time": head.timestamp, "label": head.description, "tags": head.tags,
            "messages": head.message_count,
        },
        "op": op,
    }  # fmt: skip


def _copy(log: str, output: str, reading: Reading) -> None:
    """Write a clean copy, and report what is left out."""
    if not output:
        raise Usage("-o needs the name of a new file, or - for standard output")
    if output == "-" and reading.json:
        raise Usage("--json and -o - both need standard output", "name a file: -o NEW")
    target = opened(log, reading, command="recover", report=False, looks=True)
    if output == "-" and streams.same_as_stdout(target.opening.path):
        text = f"standard output is {target.opening.name} itself: nothing was written"
        raise CannotCreate(text, "another file: the log is never changed")
    made = target.salvage()
    with streams.progress(f"copying {target.opening.name}"):
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
            streams.say(_range_line(target.opening.name, one))
    streams.flush()
    streams.say(_copied(target, output, made))
    if (before := head(target)) is not None:
        streams.say(f"head of {target.opening.name}: {before}")
        if output != "-":
            streams.say(f"head of {output}: {head(Log.open(output))}")
    _tell_sidecar(target, output)
    for file in dict.fromkeys(one.file for one in target.transcript.damage if one.file):
        call = shlex.join(["ctxkit", "export", target.opening.name, "--to", "codex", "-o"])
        streams.say(f"{file} is damaged, and the copy goes on from it, too")
        streams.hint(f"{call} WHOLE writes the history of all files to one, of which a clean copy can be made")


def _range_line(name: str, one: Range) -> str:
    place = f"bytes {one.offset} to {one.offset + one.size}" if one.size else f"before byte {one.offset}"
    return f"{name}:{one.line}: {one.code}: {place}: {KINDS[one.kind]}: {one.text}"


def _copied(log: Log, output: str, made: Salvaged) -> str:
    name = "standard output" if output == "-" else output
    what = f"wrote {name}: {layout.count(made.records, 'record')}, {layout.count(made.size, 'byte')}"
    if not made.ranges:
        odd = len({one.line for one in (*soundness(log), *log.transcript.damage) if not one.file})
        if odd:
            lines = f"{layout.count(odd, 'line')} {'have' if odd > 1 else 'has'} findings"
            return f"{what}: every record is sound JSON; the copy is equal; {lines} that ctxkit check lists"
        return f"{what}: nothing is damaged; the copy is equal"
    return f"{what}; {layout.count(made.left, 'byte')} left out"


def _tell_sidecar(log: Log, output: str) -> None:
    """Say that ops in a sidecar are not in the copy."""
    sidecar = log.opening.sidecar
    if sidecar is None or log.native or sidecar.ops_size() is None:
        return
    to = "NEW" if output == "-" else output
    streams.say(f"its ops stay in {sidecar.ops_path}: copy that folder to {to}.ctxkit to have them too")
