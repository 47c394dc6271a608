"""Reads what was appended to a log since its last full reading, and adds it to the figures.

Pipeline: `watch/watcher.py` -> here, on every append. Only the new bytes are read, with a new reader of the log's
format, so the cost does not depend on the size of the log. If that is not enough (an op, a compaction by the program, a
new branch), `recount` is set, and a full reading is due.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from ctxkit.core.messages import Damage, Message
from ctxkit.core.text.json_text import loads
from ctxkit.errors import CtxkitError
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import Opening
from ctxkit.logfile.tolerant import TolerantReader
from ctxkit.measure.count import Counting
from ctxkit.store.jsonl import BlockReader
from ctxkit.store.source import Source, open_log
from ctxkit.watch.full_reading import FullReading, fingerprint
from ctxkit.watch.turns import Turns

LARGEST = 4 << 20
"""Appended bytes that are read here at most; more are left to a full reading, in the other thread."""


class AppendedOp(msgspec.Struct, frozen=True):
    """The id and the name of an op that was appended."""

    id: str
    name: str


class RunningFigures(msgspec.Struct):
    """The figures of a log now: those of the last full reading, and what was appended since.

    `used`: tokens; `messages`: in the context; `offset`, `line`, `fingerprint`, `sidecar_size`: as in `FullReading`.
    `recount`: a full reading is due.
    """

    used: int | None
    messages: int
    offset: int
    line: int
    fingerprint: bytes
    sidecar_size: int
    turns: Turns
    model: str
    recount: bool = False

    @classmethod
    def of(cls, found: FullReading) -> RunningFigures:
        """The figures right after a full reading."""
        return cls(
            found.status.tokens.used, found.status.inside, found.offset, found.line, found.fingerprint,
            found.sidecar_size, found.turns, found.status.model,
        )  # fmt: skip


class Rewritten(Exception):
    """The log was rewritten: the bytes before the place where reading goes on have changed."""


def read_appended(running: RunningFigures, found: FullReading) -> list[AppendedOp]:
    """Read what was appended to the log of `found`, and add it to `running`; returns the ops in it.

    Raises Rewritten, and what `open_log` and reading raise.
    """
    with open_log(found.path) as source:
        if source.size < running.offset or fingerprint(source, running.offset) != running.fingerprint:
            raise Rewritten
        if not found.grows or source.size - running.offset > LARGEST:
            running.recount = running.recount or source.size > running.offset
            return []
        return _read(running, found, source)


def _read(running: RunningFigures, found: FullReading, source: Source) -> list[AppendedOp]:
    damage: list[Damage] = []
    row, start, line = found.format.row, running.offset, running.line
    reader = TolerantReader(
        found.format, lambda: iter(BlockReader(source, row, [], start=start, line=line, live=True))
    )  # fmt: skip
    blocks = BlockReader(source, row, damage, start=start, line=line, live=True)
    for block in blocks:
        reader.feed(block)
    if blocks.offset == start:
        return []
    transcript = reader.finish()
    running.offset, running.line = blocks.offset, blocks.line
    running.fingerprint = fingerprint(source, blocks.offset)
    opening = Opening(
        str(found.path), found.path, source, source, found.format, reader, transcript, None, None, [], [], blocks.line
    )  # fmt: skip
    log = OpenLog(opening, found.config)
    running.model = transcript.model or running.model
    view = transcript.view
    messages = transcript.messages
    own = list(messages) if view is None else [messages[n - 1] for n in view.order]
    cut = view is not None and bool(view.cuts)
    running.turns.take(own)
    running.messages += len(own)
    _count(running, found, log, own)
    ops = [AppendedOp(str(one.body.get("id", "")), str(one.body.get("ctxkit", ""))) for one in transcript.ops]
    running.recount = running.recount or cut or bool(ops) or len(own) < len(messages)
    return ops


def _count(running: RunningFigures, found: FullReading, log: OpenLog, messages: list[Message]) -> None:
    """Add the tokens of new messages: the provider's count if no op changes the context, else an estimate."""
    if running.used is None:
        return
    beside = found.status.tokens.beside
    counting = Counting(log, found.config["model"] or running.model)
    waiting: list[Message] = []
    for message in messages:
        counted = None if found.changed or message.role in ("user", "tool") else log.usage(message.n)
        if counted is None or counted.estimated:
            waiting.append(message)
            continue
        [own] = counting.of_contents([log.content(message.n)])
        running.used = counted.request + max(counted.reply, own) + (beside.added if beside is not None else 0)
        waiting.clear()
    running.used += sum(counting.of_contents(log.content(message.n) for message in waiting))


def ops_beside(running: RunningFigures, found: FullReading) -> list[AppendedOp]:
    """The ops that were appended to the sidecar of a log. `recount` is set if the file of ops grew or shrank.

    Raises what `open_log` raises.
    """
    beside = found.sidecar
    if beside is None or found.format.native:
        return []
    try:
        size = beside.ops_size() or 0
    except CtxkitError:
        return []
    if size == running.sidecar_size:
        return []
    running.recount = True
    ops: list[AppendedOp] = []
    if size > running.sidecar_size:
        with open_log(Path(beside.ops_path)) as source:
            piece = source.read(running.sidecar_size, size - running.sidecar_size)
        for one in piece[: piece.rfind(b"\n") + 1].split(b"\n"):
            try:
                body = loads(one)
            except ValueError:
                continue
            if isinstance(body, dict):
                ops.append(AppendedOp(str(body.get("id", "")), str(body.get("ctxkit", ""))))
    running.sidecar_size = size
    return ops
