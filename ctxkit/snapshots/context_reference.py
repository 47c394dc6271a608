"""Makes the reference to a context that a checkpoint stores: how far the log reached, and digests of its content.

`snapshots/make_checkpoint.py` writes it, `snapshots/rebuild.py` compares the log with it. The log is read once, and no
tokens are counted, so this module imports little.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.core.chain import link
from ctxkit.core.context import Projection, listed, window_seconds, windowed
from ctxkit.core.item_names import Name
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.messages import Message, Span
from ctxkit.core.snapshot import (
    CHECKPOINT,
    ID_DIGITS,
    CheckpointPoint,
    Snapshot,
    SnapshotHead,
    SnapshotTokens,
    runs,
    small,
)
from ctxkit.core.state import State
from ctxkit.core.text.json_text import digest
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.times import iso, seconds, written
from ctxkit.errors import NothingChanges, Usage
from ctxkit.formats.columns import Columns

if TYPE_CHECKING:
    from ctxkit.logfile.append import AppendableLog
    from ctxkit.logfile.open import OpenLog
    from ctxkit.settings.config import Config

CHUNK = 1 << 20


def moment(config: Config, clock: Callable[[], float] = time.time) -> float:
    """The time from which the age of checkpoints counts, in seconds since 1970: CTXKIT_NOW if it is a time, else the
    clock.
    """
    given = config["now"] if config.origin("now") == "CTXKIT_NOW" else None
    named = seconds(given) if isinstance(given, str) else None
    return clock() if named is None else named


def reference(
    log: AppendableLog,
    tag: str,
    description: str = "",
    *,
    tokens: SnapshotTokens | None = None,
    exchange: str | None = None,
) -> Snapshot:
    """A checkpoint of the current context. `tag`: its trigger; `exchange`: the one that triggered it.

    Raises NothingChanges for an empty context; Usage for a description that is too long or has more than one line.
    """
    if any(mark in description for mark in "\n\r"):
        raise Usage("a label is one line: nothing was kept", "what is longer goes into ctxkit snapshot --summary-file")
    state, projection = log.state(), projection_of(log, log.now_seconds())
    names = listed(state, projection)
    if not names:
        raise NothingChanges(f"{log.opening.name}: its context is empty: nothing was kept")
    at, done, numbers, more = log.here(), ops_digest(log.ledger.entries), runs(names), further_rows(log.messages)
    opening, further = rows_digests(log, first_rows(log.messages), more)
    head = SnapshotHead(
        kind=CHECKPOINT, session_id="", timestamp=iso(int(moment(log.config, log.clock))), description=description,
        message_count=len(names), window_start=_time(state, names[0]), window_end=_time(state, names[-1]),
        window=window_seconds(state, projection, None) or None, tags=[tag],
        agents=_agents(state, names), tokens=tokens, model=log.model or str(log.config["model"]),
        log=None if log.opening.path is None else log.opening.path.name, at=at,
        prefix=opening, digest=digest_of_names(numbers),
    )  # fmt: skip
    more_digest = further if more else None
    key = {
        "at": msgspec.to_builtins(at), "prefix": head.prefix, "more": more_digest, "ops": done, "digest": head.digest,
        "description": description, "tag": tag,
    }  # fmt: skip
    head = msgspec.structs.replace(head, session_id=digest(key, ID_DIGITS))
    point = CheckpointPoint(
        ops=len(log.ledger.entries), ops_digest=done, more=len(more), more_digest=more_digest, numbers=numbers,
        exchange=exchange,
    )  # fmt: skip
    if windowed(state, projection) or projection.newest is not None:
        seen = [(agent, length) for agent, length in projection.windows.items() if length]
        point = msgspec.structs.replace(point, now=projection.now, windows=seen, newest=projection.newest)
    try:
        body = small(head, point)
    except ValueError as error:
        raise Usage(
            "the label is too long for a checkpoint: nothing was kept", "ctxkit snapshot takes longer texts"
        ) from error
    return Snapshot(head, body)


def rows_digests(log: OpenLog, *parts: Iterable[Span]) -> list[str]:
    """A digest of each part of a log's rows, in one pass: of the rows, with a line end after each run of them.

    For the rows that open messages it is the digest of `snapshot.prefixes`.
    """
    found, source = [hashlib.sha256() for _ in parts], log.opening.laid_out
    buffer = bytearray(CHUNK)
    view, base, held = memoryview(buffer), 0, 0
    for start, end, part in merge(*([(*run, n) for run in _joined(spans)] for n, spans in enumerate(parts))):
        digest = found[part]
        while start < end:
            if not base <= start < base + held:
                base, held = start, source.read_into(buffer, start)
                if not held:  # the log became shorter
                    return [""] * len(parts)
            upto = min(end, base + held)
            digest.update(view[start - base : upto - base])
            start = upto
        digest.update(b"\n")
    return [digest.hexdigest() for digest in found]


SHORT = 12
"""Digits of the digest for an op without a sum."""


def ops_digest(entries: Sequence[LedgerEntry]) -> str:
    """The digest of ops: of their ids and sums, each of which covers a whole op."""
    sums = [entry.body.get("sum") for entry in entries]  # in a void op it may be any value
    known = [
        found if isinstance(found, str) and found else link(entry.body)[:SHORT]
        for entry, found in zip(entries, sums, strict=True)
    ]
    return digest([[entry.id, found] for entry, found in zip(entries, known, strict=True)], ID_DIGITS)


def first_rows(messages: Sequence[Message]) -> Iterable[Span]:
    """The rows that open messages."""
    if isinstance(messages, Columns):
        return messages.first_rows()
    return ((one.offset, one.size) for one in messages)


def further_rows(messages: Sequence[Message]) -> list[Span]:
    """The further rows of messages, in the order of the file, so that rows that were added later come last."""
    rows = messages.more.values() if isinstance(messages, Columns) else (one.more for one in messages)
    return sorted(span for more in rows for span in more)


def _joined(spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Start and end of runs of rows, in which nothing but a line end is between two rows."""
    start = end = -1
    for offset, size in spans:
        if start >= 0 and offset != end + 1:
            yield start, end
            start = -1
        start, end = (offset if start < 0 else start), offset + size
    if start >= 0:
        yield start, end


def digest_of_names(numbers: str) -> str:
    """The digest of the names of a context, as `runs` writes them."""
    return hashlib.sha256(utf8(numbers)).hexdigest()


def projection_of(log: OpenLog, now: float | None) -> Projection:
    """The projection of the config as it is now, with all agents and threads."""
    return msgspec.structs.replace(log.projection(), agent=None, thread=None, now=now)


def _agents(state: State, names: Iterable[Name]) -> list[str]:
    """The agents with messages in a context."""
    messages, items = state.messages, state.board.items
    if isinstance(messages, Columns):
        if not (messages.agents or items):
            return []
        named: Iterable[Any] = (
            messages.agents.get(name) if isinstance(name, int) else items[name].message.get("agent") for name in names
        )
    else:
        named = (
            messages[name - 1].agent if isinstance(name, int) else items[name].message.get("agent") for name in names
        )
    return sorted({agent for agent in named if isinstance(agent, str)})


def _time(state: State, name: Name) -> str | None:
    """The time of a message, if it has one itself; times of others are not used."""
    moment = written(state.messages[name - 1].ts) if isinstance(name, int) else state.original(name)
    return None if moment is None else iso(moment)
