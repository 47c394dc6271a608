"""Checkpointing: a reference to a point of a log, made before what replaces its context, and the way back to it.

A checkpoint is a file without messages (`core/kept.Point`): how far the log reached, and digests of what it held there.
`committing.py` and `checkpoint` make them, `restoring.py` rebuilds from them. Making one reads what it covers once, and
counts nothing: this module imports little.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ctxkit.core.context import Lens, entry, listed, shown_names, window_seconds, windowed
from ctxkit.core.jsontext import digest
from ctxkit.core.kept import CHECKPOINT, HAND, ID_DIGITS, Head, Kept, Point, Tokens, runs, small
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.messages import Content, Message, Span
from ctxkit.core.names import Name
from ctxkit.core.ops import Op
from ctxkit.core.replay import fold
from ctxkit.core.state import State
from ctxkit.core.times import iso, seconds
from ctxkit.errors import (
    BadSnapshot,
    CannotCreate,
    CtxkitError,
    Locked,
    NoPermission,
    NothingChanges,
    Usage,
    WriteFailed,
)
from ctxkit.policies.retention import expired
from ctxkit.store.lock import DEADLINE
from ctxkit.store.snapshots import Snapshots, pieces

if TYPE_CHECKING:
    from ctxkit.appending import AppendingLog
    from ctxkit.opened import OpenedLog
    from ctxkit.store.config import Config

PAUSES = (0.1, 0.3)
"""Seconds between the tries to write one."""
PATIENCE = 0.5
"""Seconds of a try in which another program may be at work in the folder."""
CHUNK = 1 << 20
Done = TypeVar("Done")


class Pinned(msgspec.Struct, frozen=True):
    """A checkpoint that was made. `path`: its file; `new`: it was not there before."""

    kept: Kept
    path: Path
    new: bool

    @property
    def said(self) -> str:
        """What was done, in words."""
        return "Checkpoint created." if self.new else "The same checkpoint is there already: nothing was written."

    @property
    def id(self) -> str:
        """Its id."""
        return self.kept.head.session_id


def moment(config: Config, clock: Callable[[], float] = time.time) -> float:
    """What the age of checkpoints counts from, in seconds since 1970: CTXKIT_NOW where it is a time, else the clock."""
    given = config["now"] if config.origin("now") == "CTXKIT_NOW" else None
    named = seconds(given) if isinstance(given, str) else None
    return clock() if named is None else named


def reference(
    log: AppendingLog, tag: str, description: str = "", *, tokens: Tokens | None = None, exchange: str | None = None
) -> Kept:
    """The context as it is, as a checkpoint that `tag` triggered, in an `exchange`.

    Raises NothingChanges for an empty context, Usage for a description that is no line, or too long.
    """
    if any(mark in description for mark in "\n\r"):
        raise Usage("a label is one line: nothing was kept", "what is longer goes into ctxkit snapshot --summary")
    state, lens = log.state(), _lens(log, log.now_seconds())
    names = listed(state, lens)
    if not names:
        raise NothingChanges(f"{log.opening.name}: nothing is in its context: nothing was kept")
    at, done, told, more = log.here(), ops_digest(log.ledger.entries), runs(names), _more(log.messages)
    window = window_seconds(state, lens, None) or None
    times = [None if at is None else iso(at) for at in map(state.original, (names[0], names[-1]))]
    head = Head(
        kind=CHECKPOINT, session_id="", timestamp=iso(int(moment(log.config, log.clock))), description=description,
        message_count=len(names), window_start=times[0], window_end=times[-1], window=window, tags=[tag],
        agents=_agents(state, names), tokens=tokens, model=log.model or str(log.config["model"]),
        log=None if log.opening.path is None else log.opening.path.name, at=at,
        prefix=prefix(log, _first(log.messages)), digest=_of_names(told),
    )  # fmt: skip
    more_digest = prefix(log, more) if more else None
    key = {
        "at": msgspec.to_builtins(at), "prefix": head.prefix, "more": more_digest, "ops": done, "digest": head.digest,
        "description": description, "tag": tag,
    }  # fmt: skip
    head = msgspec.structs.replace(head, session_id=digest(key, ID_DIGITS))
    point = Point(
        ops=len(log.ledger.entries), ops_digest=done, more=len(more), more_digest=more_digest, numbers=told,
        exchange=exchange,
    )  # fmt: skip
    if windowed(state, lens) or lens.newest is not None:
        seen = [(agent, length) for agent, length in lens.windows.items() if length]
        point = msgspec.structs.replace(point, now=lens.now, windows=seen, newest=lens.newest)
    try:
        body = small(head, point)
    except ValueError as error:
        raise Usage("the label is too long for a checkpoint: nothing was kept", "ctxkit snapshot takes more") from error
    return Kept(head, body)


def shelf(log: OpenedLog, patience: float = DEADLINE) -> Snapshots:
    """The snapshots beside a log. Raises Usage for a stream without --sidecar."""
    if log.opening.sidecar is None:
        raise Usage("a stream has no snapshots beside it", "name the log's file, or --sidecar DIR")
    return Snapshots(log.opening.sidecar, patience)


def store(log: OpenedLog, kept: Kept, patience: float = DEADLINE) -> Pinned:
    """Write a checkpoint beside its log, unless it is there. Raises CannotCreate, NoPermission, Locked, Usage."""
    path, new = shelf(log, patience).add(pieces(kept.body, kept), kept.head)
    return Pinned(kept, path, new)


def before_op(log: AppendingLog, op: Op) -> list[str]:
    """A checkpoint of the context that `op` is about to replace; what went wrong, in words. It never stops the op."""
    counted = log.figures if log.lens_agent is None and log.lens_thread is None else None
    tokens = None if counted is None else Tokens(counted.before, counted.counter)
    try:
        kept = reference(log, op.name, f"before {op.name}", tokens=tokens)
        tried(partial(store, log, kept, PATIENCE))
    except NothingChanges:
        return []
    except CtxkitError as error:
        return [f"no checkpoint was made: {error.message}"]
    return []


def by_hand(log: AppendingLog, label: str) -> Pinned:
    """A checkpoint that a person asks for; retention leaves it alone."""
    shelf(log)
    return store(log, reference(log, HAND, label))


def by_itself(log: AppendingLog, label: str, also: Collection[str] = ()) -> Pinned | None:
    """A checkpoint of the newest exchange, or of the one that it follows, where that is worth one (`policies`): None
    where it is not, or has one already. `also`: tags that count besides the usual ones.
    """
    from ctxkit.policies.checkpoint import USUAL, newest_event  # brings tables of commands

    known = {one.body.get("exchange") for one in shelf(log).checkpoints()}
    for opener, names in _newest_exchanges(log.state()):
        if opener in known:
            return None
        tags = (*USUAL, *also)
        event = newest_event(_that_matters(log, names, tags), tags)
        if event is not None:
            kept = reference(log, event.tag, label or event.said, exchange=opener)
            return tried(partial(store, log, kept, PATIENCE))
    return None


def _newest_exchanges(state: State) -> Iterator[tuple[str, list[Name]]]:
    """The newest exchange of the context and the one before it: what opens them, and their messages."""
    from ctxkit.core.select import opens

    found: list[Name] = []
    given = 0
    for name in reversed(list(shown_names(state))):
        found.append(name)
        if opens(state, name):
            yield str(name), found[::-1]
            found, given = [], given + 1
            if given == 2:
                return
    if found:
        yield "0", found[::-1]


def _that_matters(log: OpenedLog, names: Iterable[Name], tags: Collection[str]) -> Iterator[Content]:
    """The contents that may trigger one: what reads is most of a log, and is not read again."""
    from ctxkit.policies.checkpoint import SPOKEN, matters

    state, speaks = log.state(), not SPOKEN.isdisjoint(tags)
    asked: set[str] = set()
    for name in names:
        message = state.messages[name - 1] if isinstance(name, int) else None
        if message is not None:
            pairs = zip(message.calls, message.tools, strict=False)
            mine = {call for call, tool in pairs if matters(tool)}
            asked |= mine
            if not (mine or not asked.isdisjoint(message.results) or (speaks and message.role == "assistant")):
                continue
        yield log.full(entry(state, name))


def tried(action: Callable[[], Done]) -> Done:
    """What `action` gives, which may fail twice where another program or the disk is in the way."""
    for pause in PAUSES:
        try:
            return action()
        except (CannotCreate, Locked, NoPermission, WriteFailed):
            time.sleep(pause)
    return action()


def prune(log: OpenedLog) -> list[str]:
    """Remove the checkpoints that have outlived their time, as the config says; tells of it in a line. Raises as
    `Snapshots.remove`.
    """
    some = shelf(log, PATIENCE)
    keep, days = int(log.config["checkpoint.keep"]), int(log.config["checkpoint.days"])
    there = some.checkpoints()
    heads = [one.head for one in there if one.head is not None]
    going = expired(heads, moment(log.config, log.clock), keep, days)
    if not going:
        return []
    some.remove([there[place].path for place, _ in going])
    why = Counter(why for _, why in going)
    return [f"checkpoints removed: {', '.join(f'{count} {reason}' for reason, count in why.items())}"]


def rebuilt(log: OpenedLog, kept: Kept, *, summary: bool = False) -> Kept:
    """The context that a checkpoint refers to, proved by its digests; `summary`: with words that sum it up.

    Raises BadSnapshot where the log is not what it was.
    """
    from ctxkit.keeping import laid_out, summed_up  # brings what a summary is made by

    head, point = kept.head, _point(kept)
    count, entries = head.at.messages, log.ledger.entries[: point.ops]
    messages = log.messages[:count]
    more = _more(messages)[: point.more]
    if (
        (len(messages), len(more), len(entries)) != (count, point.more, point.ops)
        or prefix(log, _first(messages)) != head.prefix or (more and prefix(log, more) != point.more_digest)
        or ops_digest(entries) != point.ops_digest
    ):  # fmt: skip
        raise _changed(log, head)
    rows = log.transcript.rows if head.at.rows is None else head.at.rows
    transcript, ledger = log.upto(rows, point.ops)
    state = fold(transcript, ledger, log.identity, force=log.force)
    for lens in (Lens(None, None, point.now, dict(point.windows), point.newest), _lens(log, point.now)):
        names = listed(state, lens)
        if _of_names(runs(names)) == head.digest:
            break
    else:
        raise _changed(log, head)
    past = log.seen_at(state)
    records, held, contents = laid_out(past, names)
    words = summed_up(state, names, contents) if summary else ""
    return Kept(msgspec.structs.replace(head, summary=words), kept.body, records, held)


def ops_digest(entries: Sequence[LedgerEntry]) -> str:
    """The digest of ops: of their ids and sums, each of which is of one whole op."""
    return digest([[entry.id, entry.body.get("sum") or digest(entry.body)] for entry in entries], ID_DIGITS)


def prefix(log: OpenedLog, spans: Iterable[Span]) -> str:
    """The digest of rows of the log, a line end behind each run of them: as `keeping.prefixes`, of any rows."""
    found, source = hashlib.sha256(), log.opening.laid_out
    base, block = 0, memoryview(b"")
    for start, end in _joined(spans):
        while start < end:
            if not base <= start < base + len(block):
                base, block = start, memoryview(source.read(start, CHUNK))
                if not block:  # the log is shorter than it was
                    return ""
            piece = block[start - base : end - base]
            found.update(piece)
            start += len(piece)
        found.update(b"\n")
    return found.hexdigest()


def _first(messages: Iterable[Message]) -> Iterator[Span]:
    """The rows that open messages."""
    return ((one.offset, one.size) for one in messages)


def _more(messages: Iterable[Message]) -> list[Span]:
    """The further rows of messages, in the order of the file: those that they were given later come last."""
    return sorted(span for one in messages for span in one.more)


def _joined(spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Start and end of rows; those with nothing but a line end between them as one."""
    start = end = -1
    for offset, size in spans:
        if start >= 0 and offset != end + 1:
            yield start, end
            start = -1
        start, end = (offset if start < 0 else start), offset + size
    if start >= 0:
        yield start, end


def _of_names(told: str) -> str:
    return hashlib.sha256(told.encode()).hexdigest()


def _lens(log: OpenedLog, now: float | None) -> Lens:
    """As the config has it now, all agents and threads."""
    return msgspec.structs.replace(log.lens(), agent=None, thread=None, now=now)


def _agents(state: State, names: Iterable[Name]) -> list[str]:
    found = set()
    for name in names:
        agent = (
            state.messages[name - 1].agent if isinstance(name, int) else state.board.items[name].message.get("agent")
        )
        if isinstance(agent, str):
            found.add(agent)
    return sorted(found)


def _point(kept: Kept) -> Point:
    """What a checkpoint's file says beside its head. Raises BadSnapshot."""
    try:
        return msgspec.convert(kept.body, Point)
    except msgspec.ValidationError as error:
        raise BadSnapshot(f"checkpoint {kept.head.short} cannot be read: {error}: nothing was changed") from error


def _changed(log: OpenedLog, head: Head) -> BadSnapshot:
    text = f"checkpoint {head.short} does not fit {log.opening.name}, which was changed since, or is another log"
    return BadSnapshot(f"{text}: nothing was changed", "ctxkit snapshots LOG lists what there is")
