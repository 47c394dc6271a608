"""Notes of a project, and the changes that add, supersede and bring back notes. Pure.

A change is one line of an append-only file (`note_file.py`): the notes that it adds and the ids of those that it
supersedes. An undo names a change or another undo, and voids it. `numbered` says which notes stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ctxkit.core.text.json_text import digest

VERSION = 1
"""The version of the lines that are written; lines of a later one are not read."""
CHANGE, UNDO = "memory", "undo"
"""The kinds of lines, the values of their key `ctxkit`."""
KINDS = {
    "note": "Notes",
    "open": "Open work",
    "decision": "Decisions",
    "gist": "Sessions",
    "files": "Files",
}
"""Kind of a note -> its heading, in the order in which they are listed."""
SUMS = ("gist", "files")
"""Kinds of notes that sum up messages of a session."""
HAND, RULES = "hand", "rules"
"""Who made a note: a person, rules; else the name of a model."""
SHORT = 13
"""Characters of a session's id in the name of a source: in ids that begin with their time, all of the time."""
RULES_VERSION = 2
"""Of the rules that make notes: 1 took sentences of the model for decisions and open work."""
SUM = 16
"""Hex digits of a line's checksum."""


class NoteSource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Messages that a note was made from. `log`: the absolute path of their log; `n`: their numbers (`12`, `1-40`);
    `digest`: of their texts; `session`: the program's id of the session, "" for a log without one.
    """

    log: str
    n: str
    digest: str
    session: str = ""

    @property
    def name(self) -> str:
        """`@3f2a91c0-1111#12`, whose first part other commands take; of another log `chat.jsonl#12`."""
        return f"@{self.session[:SHORT]}#{self.n}" if self.session else f"{self.log.rpartition('/')[2]}#{self.n}"


class MemoryNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A note. `kind`: a key of KINDS; `made`: HAND, RULES or the name of a model. `said`: the side that said it (user,
    assistant, tool), if rules took its words; `name`: its name in the log, if it has one.
    """

    id: str
    text: str
    kind: str = "note"
    made: str = HAND
    sources: tuple[NoteSource, ...] = ()
    said: str = ""
    name: str = ""


class LogPrefix(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a log was when notes were made from it: its first `size` bytes, their SHA-256, and the bytes of the `ops` in
    its sidecar. `rules`: the version of the rules that made the notes. For finding copies: `texts`, how many were
    noted, and digests of the `first` ones and of `all`.
    """

    log: str
    size: int
    sha256: str
    ops: int = 0
    rules: int = 1
    texts: int = 0
    first: str = ""
    all: str = ""


class MemoryChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change: notes added, and ids of notes that they supersede. `read`: the logs that were read for it."""

    id: str
    ts: str
    notes: tuple[MemoryNote, ...] = ()
    supersedes: tuple[str, ...] = ()
    read: tuple[LogPrefix, ...] = ()
    by: dict[str, Any] = {}

    @property
    def is_extract(self) -> bool:
        """Whether rules or a model made it of a session, and not a person."""
        return any(note.made != HAND for note in self.notes) or (bool(self.read) and not self.notes)


class MemoryUndo(msgspec.Struct, frozen=True, omit_defaults=True):
    """An undo of the change or undo with the id `op`."""

    id: str
    ts: str
    op: str
    by: dict[str, Any] = {}


MemoryRow = MemoryChange | MemoryUndo


class NumberedNote(msgspec.Struct, frozen=True):
    """A note with its number: its place among all notes of the file, from 1, which never changes.

    `state`: current, superseded, undone (with the change that added it), or repeated (an earlier one has its id);
    `by`: the number of the note that superseded it, None if it was superseded by none.
    """

    number: int
    note: MemoryNote
    ts: str
    state: str = "current"
    by: int | None = None

    @property
    def is_current(self) -> bool:
        """Whether nothing superseded or undid it."""
        return self.state == "current"


def body(row: MemoryRow) -> dict[str, Any]:
    """The JSON object of a line, with its checksum."""
    kind = CHANGE if isinstance(row, MemoryChange) else UNDO
    found: dict[str, Any] = {"ctxkit": kind, "v": VERSION, **msgspec.to_builtins(row)}
    return {**found, "sum": _checksum(found)}


def parse(value: Any) -> MemoryRow:
    """The row of a line's JSON value. Raises ValueError, which says what is wrong."""
    if not isinstance(value, dict) or value.get("ctxkit") not in (CHANGE, UNDO):
        raise ValueError("no line of a project's notes")
    if not isinstance(value.get("v"), int) or value["v"] > VERSION:
        raise ValueError(f"of version {value.get('v')}, and this ctxkit reads {VERSION}")
    if _checksum(value) != value.get("sum"):
        raise ValueError("changed since it was written (its sum does not fit)")
    try:
        if value["ctxkit"] == UNDO:
            return msgspec.convert(value, MemoryUndo)
        return _known(msgspec.convert(value, MemoryChange))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def _known(row: MemoryChange) -> MemoryChange:
    """A note of a kind that only a later ctxkit has is one without a kind of its own."""
    if all(note.kind in KINDS for note in row.notes):
        return row
    notes = (note if note.kind in KINDS else msgspec.structs.replace(note, kind="note") for note in row.notes)
    return msgspec.structs.replace(row, notes=tuple(notes))


def _checksum(value: dict[str, Any]) -> str:
    return digest({key: one for key, one in value.items() if key != "sum"}, SUM)


def once(rows: Iterable[MemoryRow]) -> list[MemoryRow]:
    """The rows without repeated ids: a line that was appended again counts once."""
    found: dict[str, MemoryRow] = {}
    for row in rows:
        found.setdefault(row.id, row)
    return list(found.values())


def in_force(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """The rows that no undo in force voids, from the newest back: an undo that is undone voids nothing."""
    void: set[str] = set()
    kept = []
    for row in reversed(rows):
        if row.id not in void:
            kept.append(row)
            if isinstance(row, MemoryUndo):
                void.add(row.op)
    return kept[::-1]


def to_undo(rows: Sequence[MemoryRow]) -> MemoryChange | None:
    """What `undo` voids: the newest change in force. Several undos walk back."""
    return next((row for row in reversed(in_force(rows)) if isinstance(row, MemoryChange)), None)


def to_redo(rows: Sequence[MemoryRow]) -> MemoryUndo | None:
    """What `redo` voids: the newest undo of a change that is in force, unless a change came after it."""
    undos = {row.id for row in rows if isinstance(row, MemoryUndo)}
    force = reversed(in_force(rows))
    newest = next((row for row in force if not (isinstance(row, MemoryUndo) and row.op in undos)), None)
    return newest if isinstance(newest, MemoryUndo) else None


def numbered(rows: Sequence[MemoryRow]) -> list[NumberedNote]:
    """All notes, in the order of the file, each with its state."""
    force = {row.id for row in in_force(rows)}
    found: list[NumberedNote] = []
    places: dict[str, int] = {}
    away = superseded_by_hand(rows)
    for row in rows:
        if not isinstance(row, MemoryChange):
            continue
        first = len(found) + 1
        for note in row.notes:
            there = note.id in places and (found[places[note.id]].is_current or note.id in away)
            state = "undone" if row.id not in force else "repeated" if there else "current"
            found.append(NumberedNote(len(found) + 1, note, row.ts, state))
            if state == "current":
                places[note.id] = len(found) - 1
        if row.id in force:
            added = {note.id for note in row.notes}
            for old in row.supersedes:
                place = places.get(old)
                if place is not None and old not in added and found[place].is_current:
                    by = _successor(found[first - 1 :], found[place].note, any_kind=not row.is_extract)
                    found[place] = msgspec.structs.replace(found[place], state="superseded", by=by)
    return found


def superseded_by_hand(rows: Sequence[MemoryRow]) -> set[str]:
    """The ids of notes that a person superseded: they do not come back when their session is read again."""
    changes = (row for row in in_force(rows) if isinstance(row, MemoryChange) and not row.is_extract)
    return {old for row in changes for old in row.supersedes}


def _successor(added: Sequence[NumberedNote], old: MemoryNote, *, any_kind: bool) -> int | None:
    """The number of the note that stands for an old one: the only one of its kind that was added, by rules of the same
    session; with `any_kind`, as by hand, the only one. A session's new gist does not stand for a decision that it has
    no more.
    """
    fitting = [
        one for one in added
        if one.is_current and ((any_kind and len(added) == 1) or one.note.kind == old.kind)
        and (any_kind or sessions_of(one.note) & sessions_of(old))
    ]  # fmt: skip
    return fitting[0].number if len(fitting) == 1 else None


def sessions_of(note: MemoryNote) -> frozenset[str]:
    """The sessions of a note, by id, else by path."""
    return frozenset(source.session or source.log for source in note.sources)
