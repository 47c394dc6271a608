"""The messages that a note was made from: recorded by their texts, and checked again before the note is shown.

A note must not outlive what was purged: if a message of its sources has another text now, or is gone from its log, the
note is not shown any more. Nor is it if ops such as a forget took all of these messages out of their context, or one of
those that a gist or a list of files sums up, until an undo brings them back. A log that only grew is known by its first
bytes; else its messages are read again. A log that does not exist any more proves nothing (agents delete old sessions
by themselves), so its notes stay.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from ctxkit.core.messages import Text
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.text.json_text import digest
from ctxkit.core.text.message_words import texts
from ctxkit.core.visibility import Visibilities
from ctxkit.errors import CtxkitError, NoSuchLog, Usage
from ctxkit.formats.session_folders import LAYOUTS, START, head, session_id
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.memory.note_file import prefix_digest
from ctxkit.memory.notes import RULES_VERSION, SUMS, LogPrefix, MemoryNote, NoteSource
from ctxkit.search.project_sessions import session_homes
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import Source, open_log
from ctxkit.store.spool import lines_of

BEGINNING = 2
"""Texts by which sessions are found that may be copies of one another."""
DIGITS = 32
"""Hex digits of the digest of texts."""
HERE, GONE, CHANGED, UNREADABLE, FORGOTTEN = "here", "gone", "changed", "unreadable", "forgotten"
"""States of the sources of a note: its messages are as they were; a log does not exist; they were purged or changed; a
log cannot be read, so that it is unknown; ops in OUT took them out of the context, until an undo.
"""
OUT = frozenset({"forget", "rewind", "clear", "edit", "remember"})
"""Ops by which a person takes messages out. What a compact, a trim or a window leaves out is still true."""
KEY = b'"ctxkit"'
"""In a line of a log there may be an op only with this: in a text the quotes have a backslash."""


def session_of(log: OpenLog, env: Mapping[str, str] | None = None) -> str:
    """The id of a session that an agent keeps, by which `@ID` finds it; "" for any other log. Raises ReadFailed."""
    path, format = log.opening.path, log.opening.format.name
    if path is None or format not in LAYOUTS:
        return ""
    place = Path(os.path.abspath(path))
    homes = session_homes(os.environ if env is None else env)
    if not any(place.is_relative_to(home.place) for home in homes if home.format == format):
        return ""
    return head(format, log.opening.source.read(0, START)).id or session_id(format, str(path))


def source_of(log: OpenLog, numbers: Iterable[int]) -> NoteSource:
    """These messages of a log, as the source of a note. Raises Usage for a stream."""
    path = log.opening.path
    if path is None:
        raise Usage("a stream has no name that a note could cite: nothing was kept", "name the log's file")
    found = Ranges.of(sorted(numbers))
    return NoteSource(os.path.abspath(path), str(found), _texts_digest(log, found), session_of(log))


def prefix_of(log: OpenLog) -> LogPrefix:
    """How a log begins now. Raises ReadFailed, UpdatedElsewhere."""
    source, path = log.opening.source, os.path.abspath(log.opening.path or log.opening.name)
    return LogPrefix(path, source.size, prefix_digest(source, source.size), ops_beside(path))


def ops_beside(path: str) -> int:
    """The bytes of the ops in a log's sidecar; 0 without one."""
    try:
        return Sidecar(Path(path)).ops_size() or 0
    except CtxkitError:
        return 0


class SourceCheck:
    """Checks sources, each log once. `read`: how logs began when notes were made from them."""

    def __init__(self, read: Iterable[LogPrefix]) -> None:
        self._read: dict[str, list[LogPrefix]] = {}
        for one in read:
            self._read.setdefault(one.log, []).append(one)
        self._whole: dict[str, str | None] = {}
        self._logs: dict[str, OpenLog | None] = {}
        self._known: dict[NoteSource, str] = {}
        self._seen: dict[str, Visibilities] = {}
        self._changed: set[str] = set()
        """The logs that may have ops."""

    def of(self, note: MemoryNote) -> str:
        """The state of a note's sources: the worst of them; forgotten if all of its messages are, and of a note that
        sums up messages if one is.
        """
        states = {self.state(source) for source in note.sources}
        found = next((state for state in (CHANGED, UNREADABLE, GONE) if state in states), HERE)
        if found in (CHANGED, UNREADABLE) or not note.sources:
            return found
        enough = any if note.kind in SUMS else all
        return FORGOTTEN if enough(self._outs(note.sources)) else found

    def state(self, source: NoteSource) -> str:
        """The state of a source, whatever ops took out."""
        if source not in self._known:
            whole = self._state_of_log(source.log)
            self._known[source] = self._by_texts(source) if whole is None else whole
        return self._known[source]

    def _outs(self, sources: Iterable[NoteSource]) -> Iterator[bool]:
        """For each message of these sources, whether an op took it out; False for a log without ops."""
        for source in sources:
            log = self._opened(source.log) if source.log in self._changed else None
            if log is None or self.state(source) != HERE:
                yield False
                continue
            if source.log not in self._seen:
                self._seen[source.log] = Visibilities(log.state(), log.projection())
            for n in Ranges.parse(source.n):
                yield self._seen[source.log].of(n).kind in OUT

    def _state_of_log(self, path: str) -> str | None:
        """HERE if a log begins as it did whenever notes were made from it, GONE, UNREADABLE; else None."""
        if path not in self._whole:
            try:
                with open_log(path) as source:
                    if ops_beside(path) or has_ops(source):
                        self._changed.add(path)
                    same = all(
                        one.size <= source.size and prefix_digest(source, one.size) == one.sha256
                        for one in self._read.get(path, ())
                    )
                self._whole[path] = HERE if same and path in self._read else None
            except NoSuchLog:
                self._whole[path] = GONE
            except CtxkitError:
                self._whole[path] = UNREADABLE
        return self._whole[path]

    def _opened(self, path: str) -> OpenLog | None:
        """A log with its ops, opened once; None if it cannot be read."""
        if path not in self._logs:
            try:
                with one_of_many(path):
                    log = OpenLog.open(Path(path))
                    log.state()
                self._logs[path] = log
            except CtxkitError:
                self._logs[path] = None
        return self._logs[path]

    def _by_texts(self, source: NoteSource) -> str:
        """The state of a source by the texts of its messages."""
        log = self._opened(source.log)
        if log is None:
            return UNREADABLE
        try:
            with one_of_many(source.log):
                return HERE if _texts_digest(log, Ranges.parse(source.n)) == source.digest else CHANGED
        except (CtxkitError, ValueError):
            return CHANGED


def has_ops(source: Source) -> bool:
    """Whether there may be an op in the lines of a log. Raises ReadFailed, UpdatedElsewhere."""
    return any(KEY in line for line in lines_of(source.chunks(0, source.size)))


class Copies:
    """Which sessions have all that was said in another: forks, sessions that were resumed into a new file, also one of
    another program, copied files. Roles and results do not count: programs write them differently.

    `log`: a session; `whole`: the note that sums it up; `read`: how other logs were.
    """

    def __init__(self, log: OpenLog, whole: MemoryNote, read: Iterable[LogPrefix]) -> None:
        self._said = _said(log, whole.sources[0])
        self.prefix = structs.replace(
            prefix_of(log), rules=RULES_VERSION, texts=len(self._said), first=digest(self._said[:BEGINNING], DIGITS),
            all=digest(self._said, DIGITS),
        )  # fmt: skip
        self._near = {one.log: one for one in read if one.texts and one.first == self.prefix.first}

    def has_all_of(self, other: MemoryNote) -> bool:
        """Whether the session begins with all of another one, which `other` sums up."""
        near = self._near.get(other.sources[0].log) if other.sources else None
        return near is not None and digest(self._said[: near.texts], DIGITS) == near.all

    def is_all_in(self, other: MemoryNote) -> bool:
        """Whether another session, which `other` sums up, begins with all of this one. False if it cannot be read."""
        near = self._near.get(other.sources[0].log) if other.sources else None
        if near is None or not self._said or near.texts < len(self._said):
            return False
        if near.texts == len(self._said):
            return near.all == self.prefix.all
        try:
            with one_of_many(near.log):
                said = _said(OpenLog.open(Path(near.log)), other.sources[0])
        except CtxkitError:
            return False
        return said[: len(self._said)] == self._said


def _said(log: OpenLog, source: NoteSource) -> list[str]:
    """The texts of these messages, in order, as digests."""
    contents = (log.recorded(n) for n in Ranges.parse(source.n) if n <= log.state().count)
    parts = (part for content in contents for part in content.parts if isinstance(part, Text))
    return [digest(part.text, DIGITS) for part in parts if part.text.strip()]


def _texts_digest(log: OpenLog, numbers: Ranges) -> str:
    """The digest of the texts of messages, whatever ops did to them; "" if the log does not have all of them."""
    count = log.state().count
    found: list[Sequence[str]] = []
    for n in numbers:
        if not 1 <= n <= count:
            return ""
        content = log.recorded(n)
        found.append([content.role, *(one.text for one in texts(content))])
    return digest(found, DIGITS)


def parse_source(text: str) -> tuple[str, str]:
    """The log and the numbers that `@3f2a91c0#12` or `chat.jsonl#3-5` names. Raises Usage."""
    log, _, numbers = text.rpartition("#")
    try:
        found = Ranges.parse(numbers) if log else Ranges()
    except ValueError:
        found = Ranges()
    if not found:
        raise Usage(f"--source {text!r} names no messages: nothing was kept", "SESSION#N, such as @#12 or chat.jsonl#3")
    return log, str(found)
