"""Makes a snapshot of a log's context, stores it beside the log, and finds it again.

`snapshot` and `snapshots` call it; `snapshots/restore.py` brings one back. Listing reads no log and no message.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from ctxkit.content.thinking import holds_secret
from ctxkit.core.context import Entry, entry, filtered, listed, require_seen, shown_names, window_seconds
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content
from ctxkit.core.snapshot import (
    SHORT,
    Snapshot,
    SnapshotHead,
    SnapshotMessage,
    SnapshotTokens,
    digests,
    identity,
    sealed,
)
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.cut.summarize.gist import FAILED, gist, shortened
from ctxkit.cut.units.text_segments import SegmentKind, SegmentReader, TextSegment, all_pieces
from ctxkit.errors import NoSuchLog, NoSuchSnapshot, NothingChanges, Usage
from ctxkit.logfile.open import OpenLog
from ctxkit.snapshots.make_checkpoint import shelf
from ctxkit.snapshots.retention import expired
from ctxkit.store.opening import require_file
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.snapshot_files import SnapshotFile, Snapshots, pieces
from ctxkit.store.spool import Spooled

LATEST = "latest"
"""The word for the newest snapshot."""
SHORTEST = 4
"""The fewest digits that may be given for an id, as in git."""
GistMaker = Callable[[Sequence[Name], Sequence[TextSegment]], str]
"""Writes a summary of messages with these texts; returns "" if that fails."""
READ = 4_000_000
"""Characters of the newest messages from which a summary is made."""


class TakenSnapshot(msgspec.Struct, frozen=True):
    """A snapshot that was taken. `path`: its file, None for a stream; `new`: False if the same one existed already."""

    kept: Snapshot
    path: Path | None = None
    new: bool = True

    @property
    def id(self) -> str:
        """Its id."""
        return self.kept.head.session_id

    @property
    def pieces(self) -> Iterator[bytes]:
        """The bytes of its file."""
        return pieces(self.kept.body, self.kept)


def keep(
    log: OpenLog, description: str = "", *, tags: Iterable[str] = (), all: bool = False, agent: str | None = None,
    summary: str | GistMaker | None = None,
) -> Snapshot:  # fmt: skip
    """The visible context of all threads as a snapshot; `all`: without the window; `agent`: only as this agent sees it,
    measured by its model.

    `summary`: its text, or a function that writes it unless the snapshot exists already; an empty text means that this
    failed; None: rules write it. Raises NothingChanges for an empty context; UnknownAgent; Usage for a description of
    more than one line.
    """
    if any(mark in description for mark in "\n\r"):
        raise Usage("a description is one line: nothing was kept", "put more into --summary-file")
    if agent != log.lens_agent:
        log = copy.copy(log)
        log.lens_agent = agent
    state, projection = log.state(), msgspec.structs.replace(log.projection(), thread=None)
    names = list(shown_names(state)) if all else listed(state, projection)
    if all and agent is not None:
        require_seen(state, projection)
        names = list(filtered(state, projection))
    if not names:
        raise NothingChanges(f"{log.opening.name}: its context is empty: nothing was kept")
    recent = RecentText(state)
    messages, held = laid_out(log, names, recent.add if summary is None else None)
    words, digest = digests(messages, held)
    window = (window_seconds(state, projection, agent) or None) if not all else None
    times = _ends(one.ts for one in held if one.ts is not None)
    name = identity(words, window, description)
    if callable(summary):
        known = log.opening.path is not None and any(
            one.head and one.head.session_id == name for one in shelf(log).found()
        )
        summary = (
            FAILED if known else summary(names, all_pieces((name, log.full(entry(state, name))) for name in names))
        )
    head = SnapshotHead(
        session_id=name, timestamp=iso(int(log.clock())), description=description,
        summary=recent.summary(len(names)) if summary is None else shortened(summary) or FAILED,
        message_count=len(messages), window_start=times[0], window_end=times[1],
        window=window, tags=sorted(set(tags)), agents=_agents(messages, agent), tokens=_tokens(log, names),
        model=model(log),
        log=None if log.opening.path is None else log.opening.path.name, at=at(log, state),
        prefix=prefix(log, state.count), digest=digest,
    )  # fmt: skip
    if log.redactor is not None:
        head = msgspec.convert(log.redactor.value(msgspec.to_builtins(head)), SnapshotHead)
    return Snapshot(head, sealed(head), messages, held)


def laid_out(
    log: OpenLog, names: Iterable[Name], look: Callable[[Name, Content], None] | None = None
) -> tuple[Sequence[dict[str, Any]], Sequence[SnapshotMessage]]:
    """Messages of a context as chat records, and a description of each. `look` is called with each message.

    Raises WriteFailed if a temporary file has no room for them.
    """
    state = log.state()

    def contents() -> Iterator[tuple[Content, Entry]]:
        for name in names:
            shown = entry(state, name)
            content = log.full(shown)
            if look is not None:
                look(name, content)
            yield content, shown

    held = (msgspec.to_builtins(_held(log, entry(state, name))) for name in names)
    found = records(contents())
    if log.redactor is not None:
        found = map(log.redactor.value, found)
    return Spooled(found, dict), Spooled(held, lambda one: msgspec.convert(one, SnapshotMessage))


def take(log: OpenLog, kept: Snapshot) -> TakenSnapshot:
    """Store a snapshot beside its log, unless it exists already. Raises Usage for a stream; CannotCreate, Locked,
    NoPermission.
    """
    path, new = shelf(log).add(pieces(kept.body, kept), kept.head)
    return TakenSnapshot(kept, path, new)


def beside(log: str, sidecar: str | None = None, conversation: int | None = None) -> tuple[Snapshots, list[str]]:
    """The snapshots of a log that is not read (a path, or `-` with `sidecar`), and notices about it.

    Raises NoSuchLog if neither the log nor its sidecar exists; Usage for a stream without `sidecar`.
    """
    if log == "-":
        if sidecar is None:
            raise Usage("a stream has no snapshots beside it", "name the log's file, or --sidecar DIR")
        found, notices = Sidecar(None, Path(sidecar)), []
    else:
        found = Sidecar(Path(log), Path(sidecar) if sidecar else None)
        notices = list(found.notices)
        try:
            require_file(Path(log))
        except NoSuchLog:
            if not os.path.isdir(found.folder):
                raise
            notices.append(f"{log} is gone; its snapshots still exist")
    found.conversation = conversation
    return Snapshots(found), notices


def find(some: Snapshots, word: str) -> SnapshotFile:
    """The file that `word` names: an id, `latest`, a description, or the beginning of an id (SHORTEST digits or more).

    Raises NoSuchSnapshot, which names similar ones.
    """
    all_there = some.found()
    there = [(one, one.head) for one in all_there if one.head is not None]
    if word == LATEST and there:
        return there[0][0]
    named = [one for one, head in there if head.session_id == word]
    named += [one for one, head in there if word and head.description == word]
    named += [one for one in all_there if word in (one.path.name, one.path.stem)]
    if named:  # of several the newest
        return named[0]
    begin = {head.session_id: one for one, head in reversed(there) if word and head.session_id.startswith(word)}
    if len(begin) == 1 and len(word) < SHORTEST:  # probably a typing mistake, and --rm would delete a file
        raise NoSuchSnapshot(
            f"{word!r} is too short for the beginning of an id", f"such as {next(iter(begin))[:SHORT]}"
        )
    if len(begin) == 1:
        return next(iter(begin.values()))
    if begin:
        raise NoSuchSnapshot(f"snapshot {word} is not unique: {', '.join(islice(begin, 5))}", "give more of the id")
    unread = len(all_there) - len(there)
    beside = f", and {unread} of {len(all_there)} files cannot be read" if unread else ""
    near = _nearest(word, [head for _, head in there])
    raise NoSuchSnapshot(
        f"no snapshot {word!r}{beside}", "ctxkit snapshots LOG says why" if unread and not there else near
    )


def prune(there: Iterable[SnapshotFile], now: float, keep: int, days: int) -> list[tuple[SnapshotFile, str]]:
    """The checkpoints among these files that are too old to keep, with the reason. None is removed."""
    read = [(one, one.head) for one in there if one.head is not None]
    return [(read[place][0], why) for place, why in expired([head for _, head in read], now, keep, days)]


def records(contents: Iterable[tuple[Content, Entry]]) -> Iterator[dict[str, Any]]:
    """The messages as chat records, as in a native log."""
    from ctxkit.formats.chat_lines import lines

    for content, shown in contents:
        [record] = lines([content])
        if shown.message is not None and shown.message.agent is not None:
            record.setdefault("agent", shown.message.agent)
        yield record


def model(log: OpenLog) -> str:
    """The model of a log's context: the one that the log names, else the config's."""
    return log.model or str(log.config["model"])


def at(log: OpenLog, state: State) -> Any:
    """How far the log reached in `state`."""
    from ctxkit.core.ops import LogPosition

    rows = log.transcript.rows if state.count == len(log.messages) else None
    return LogPosition(messages=state.count, last=log.identity(state.count) if state.count else "", rows=rows)


def prefix(log: OpenLog, count: int) -> str:
    """Digest of the rows that open the first `count` messages, which is the same if the log only grew."""
    return prefixes(log, [count])[count]


def prefixes(log: OpenLog, counts: Iterable[int]) -> dict[int, str]:
    """The `prefix` for each of several ascending `counts`, in one pass over the log."""
    running, source = hashlib.sha256(), log.opening.laid_out
    rows = iter(log.messages)
    found: dict[int, str] = {}
    start = end = -1  # a run of rows with only line ends between them, which is not digested yet
    number = 0
    for count in counts:
        for message in islice(rows, max(count - number, 0)):
            if start < 0 or message.offset != end + 1:
                _take(running, source, start, end, closed=True)
                start = message.offset
            end = message.offset + message.size
        number = max(count, number)
        _take(running, source, start, end)
        start = end
        digest = running.copy()
        if end >= 0:
            digest.update(b"\n")
        found[count] = digest.hexdigest()
    return found


def _take(running: Any, source: Any, start: int, end: int, *, closed: bool = False) -> None:
    """Digest the rows from `start` to `end`; `closed`: the run of rows ends there."""
    if start >= 0:
        for piece in source.chunks(start, end):
            running.update(piece)
        if closed:
            running.update(b"\n")


def _held(log: OpenLog, one: Entry) -> SnapshotMessage:
    """The description of a message; one without its secrets is no longer that of the log."""
    moment = log.state().original(one.name)
    stamp = None if moment is None else iso(moment)
    changed = log.redactor is not None and holds_secret(log.raw().full(one).parts, log.redactor)
    if isinstance(one.name, int) and one.stub is None and not changed:
        return SnapshotMessage(n=one.name, ts=stamp, protected=one.protected)
    return SnapshotMessage(
        origin=one.name if isinstance(one.name, int) else str(one.name), ts=stamp, protected=one.protected
    )


def _ends(times: Iterable[str]) -> tuple[str | None, str | None]:
    """The first and the last of these times."""
    first = last = None
    for last in times:
        first = last if first is None else first
    return first, last


def _agents(messages: Iterable[dict[str, Any]], own: str | None) -> list[str]:
    named = {agent for record in messages if isinstance(agent := record.get("agent"), str)}
    return sorted(named if own is None else named | {own})


def _tokens(log: OpenLog, names: Sequence[Name]) -> SnapshotTokens:
    from ctxkit.measure.count import Counting  # imports sqlite3, which only counting needs
    from ctxkit.measure.size import Measuring

    measured = Measuring(Counting(log)).of(names)
    return SnapshotTokens(measured.tokens, measured.counter)


class RecentText:
    """Collects the newest text of a context's messages, which are added in order, for a short summary."""

    def __init__(self, state: State) -> None:
        self._reader, self._pieces, self._size = SegmentReader(), deque[TextSegment](), 0
        self._summaries = state.board.telling.keys()

    def add(self, name: Name, content: Content) -> None:
        """Add the next message."""
        for piece in self._reader.pieces(name, content):
            self._pieces.append(piece._replace(kind=SegmentKind.SUMMARY) if name in self._summaries else piece)
            self._size += len(piece.text)
        while self._size > READ and len(self._pieces) > 1:
            self._size -= len(self._pieces.popleft().text)

    def summary(self, count: int) -> str:
        """A summary of the context of `count` messages in a few sentences, made by rules."""
        return gist(self._pieces, count)


def _nearest(word: str, heads: Sequence[SnapshotHead]) -> str:
    """A hint with the snapshots most similar to `word`."""
    from difflib import get_close_matches

    if not heads:
        return "the log has none: ctxkit snapshot LOG takes one"
    known = {key: head for head in reversed(heads) for key in (head.session_id, head.description) if key}
    near = [known[key] for key in get_close_matches(word, known, 3, 0.4)] or list(heads[:3])
    names = {head.session_id: f"{head.short} ({head.description})" if head.description else head.short for head in near}
    return f"{', '.join(names.values())}?"
