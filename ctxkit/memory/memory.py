"""The memory of a project: its notes, and what adds, supersedes, undoes, checks, ranks and lays them out.

`ctxkit memory`, `export --memory` and programs (`ctxkit.Memory`) use it. Pipeline: `note_file.py` reads the changes ->
`notes.py` says which notes stand -> `sources.py` checks what they were made from -> here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from ctxkit.core.derive.topic import terms
from ctxkit.core.text.json_text import digest, dumps
from ctxkit.core.text.redactor import Redactor, secret_values
from ctxkit.core.times import iso
from ctxkit.errors import NoSuchNote, NothingChanges, Usage
from ctxkit.logfile.open import OpenLog
from ctxkit.memory.block import by_importance, speaker, text_block
from ctxkit.memory.extract import Gist, notes_of
from ctxkit.memory.note_file import NotesRead, append_row, notes_path, read_notes
from ctxkit.memory.notes import (
    HAND,
    KINDS,
    RULES_VERSION,
    SUMS,
    LogPrefix,
    MemoryChange,
    MemoryNote,
    MemoryRow,
    MemoryUndo,
    NoteSource,
    NumberedNote,
    in_force,
    numbered,
    sessions_of,
    superseded_by_hand,
    to_redo,
    to_undo,
)
from ctxkit.memory.sources import CHANGED, FORGOTTEN, HERE, UNREADABLE, Copies, SourceCheck, ops_beside, prefix_of
from ctxkit.search.project_sessions import project
from ctxkit.store.private import user_cache
from ctxkit.store.relevance import ranked
from ctxkit.store.words import available
from ctxkit.tokens.counter import AUTO, counter
from ctxkit.version import VERSION

R = TypeVar("R", MemoryChange, MemoryUndo)
LONGEST = 2000
"""The most characters of a note by hand."""
REPEATED = 60
"""Characters of a superseded note by which it is known again in a gist, which cuts long sentences."""
TOKENS = 1000
"""Tokens of the text of notes, if none are named."""


class CheckedNote(NumberedNote, frozen=True):
    """A note with the state of its sources: here, gone, changed, unreadable or forgotten.

    `repeats`: the number of the superseded note whose words a gist that stands repeats: its state is `outdated`, and no
    context gets it.
    """

    sources: str = HERE
    repeats: int | None = None

    @property
    def may_be_shown(self) -> bool:
        """Whether its sources have not been purged, changed or forgotten, as far as can be known."""
        return self.sources not in (CHANGED, UNREADABLE, FORGOTTEN)

    @property
    def is_current(self) -> bool:
        """Whether it stands and may be shown."""
        return self.state in ("current", "outdated") and self.may_be_shown


class Memory:
    """The notes of the project of a folder (default: the working folder).

    `env`: the environment, which says where the user's data are; `clock`: seconds since 1970; `args`: the command line,
    for the record; `dry_run`: append nothing. Raises NoSuchLog if the working folder is gone.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, *, env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time, args: Sequence[str] = (), dry_run: bool = False,
    ) -> None:  # fmt: skip
        self.env = os.environ if env is None else env
        self.project = project(folder, self.env)
        self.path: Path = notes_path(self.project, self.env)
        self.dry_run = dry_run
        self._clock, self._args = clock, tuple(args)
        self.redactor = Redactor(secret_values(self.env))
        """Takes secrets out of what is kept; its `count` says how many there were."""
        self._read: NotesRead | None = None
        self._gathered: list[MemoryChange] | None = None
        """Changes that become one; None: each is appended at once."""

    @property
    def read(self) -> NotesRead:
        """The file as it was read; `damage` has a line per damaged place. Raises NoPermission, ReadFailed."""
        if self._read is None:
            self._read = read_notes(self.path)
        return self._read

    def notes(self, *, all: bool = False) -> list[CheckedNote]:
        """The notes in the order of the file: those that stand; `all`: every one, also superseded and undone.

        Sources are checked now: a note whose messages were purged, changed or forgotten is not `may_be_shown`.
        """
        rows = self.read.rows
        check = SourceCheck(one for row in rows if isinstance(row, MemoryChange) for one in row.read)
        found = numbered(rows)
        some = (one for one in found if all or one.is_current)
        checked = [CheckedNote(**msgspec.structs.asdict(one), sources=check.of(one.note)) for one in some]
        kept = {one.note.text for one in checked if one.is_current}
        old = [
            one for one in found
            if one.state == "superseded" and one.note.kind not in SUMS and one.note.text not in kept
        ]  # fmt: skip
        return [_with_repeats(one, old) for one in checked]

    def current(self) -> list[CheckedNote]:
        """The notes that stand and may be shown, in the order of the file."""
        return [one for one in self.notes() if one.is_current]

    def add(self, text: str, kind: str = "note", sources: Iterable[NoteSource] = ()) -> MemoryChange | None:
        """Add a note by hand. Returns None if one of this kind says it already: then nothing is appended.

        Raises Usage for a text that is empty or too long, and for an unknown kind.
        """
        note = self._by_hand(text, kind, sources)
        return None if self.same(text, kind) is not None else self._append(notes=(note,))

    def same(self, text: str, kind: str = "note") -> CheckedNote | None:
        """The note by hand with this text and kind that stands and may be shown, if there is one."""
        wanted = self.redactor.text_of(_one_line(text)), kind, HAND
        said = {
            one.number for one in numbered(self.read.rows)
            if one.is_current and (one.note.text, one.note.kind, one.note.made) == wanted
        }  # fmt: skip
        return next((one for one in self.current() if one.number in said), None) if said else None

    def supersede(
        self, numbers: Iterable[int], text: str | None = None, kind: str | None = None,
        sources: Iterable[NoteSource] = (),
    ) -> MemoryChange:  # fmt: skip
        """Supersede notes by one with this text, or by none. They stay in the file, and `undo` brings them back.

        `kind`: of the new note (default: that of the first old one). Raises NoSuchNote for a number that does not
        stand; Usage.
        """
        standing = {one.number: one for one in numbered(self.read.rows)}
        old: list[NumberedNote] = []
        for number in numbers:  # a range may be endless: the first that is not there ends it
            one = standing.get(number)
            if one in old:
                continue
            if one is None:
                last = f"it has notes 1-{len(standing)}" if standing else "it has no notes"
                raise NoSuchNote(f"{self.project.folder}: no note {number}: nothing was changed", last)
            if not one.is_current:
                by = f" by {one.by}" if one.by else ""
                raise NoSuchNote(f"note {number} is {one.state}{by} already: nothing was changed",
                                 "ctxkit memory list lists those that stand")  # fmt: skip
            old.append(one)
        if not old:
            raise Usage("no note was named: nothing was changed", "ctxkit memory supersede N [TEXT]")
        new = () if text is None else (self._by_hand(text, kind or old[0].note.kind, sources),)
        return self._append(notes=new, supersedes=tuple(one.note.id for one in old))

    def undo(self) -> MemoryChange:
        """Undo the newest change in force, and return it; called again, the one before. Raises NoSuchNote."""
        return self._void(to_undo, "undo")

    def redo(self) -> MemoryUndo:
        """Undo the newest undo, unless a change came after it, and return it. Raises NoSuchNote."""
        return self._void(to_redo, "redo")

    def extract(self, log: OpenLog, ask: Gist | None = None, model: str = "") -> MemoryChange | None:
        """Make notes of a session by rules; `ask` writes its gist instead, as `model`.

        They supersede the notes that were made of this session before, unless they are the same. Notes that a person
        superseded do not come back. Copies of a session count once: the one that has all messages of the other. Returns
        None if nothing changes: then nothing is appended. Raises Usage for a stream.
        """
        found = notes_of(log, ask, model)
        if not found:
            return None
        rows = [*self.read.rows, *(self._gathered or ())]
        every, mine, away = numbered(rows), sessions_of(found[0]), superseded_by_hand(rows)
        standing = [one.note for one in every if one.is_current and one.note.made != HAND]
        before = [note for note in standing if sessions_of(note) & mine]
        others = [note for note in standing if not sessions_of(note) & mine]
        read = (one for row in rows if isinstance(row, MemoryChange) for one in row.read)
        copies = Copies(log, next(note for note in found if note.kind == "gist"), read)
        gists = [note for note in others if note.kind == "gist"]
        if any(map(copies.is_all_in, gists)):
            found = []
        else:
            parts = frozenset[str]().union(*(sessions_of(note) for note in gists if copies.has_all_of(note)))
            before += [note for note in others if sessions_of(note) & parts]
        removed = {_words(one.note)[:2] for one in every if one.note.id in away and sessions_of(one.note) & mine}
        known = away.union(note.id for note in before)
        said = {_words(note) for note in others if note not in before}
        new = tuple(
            note for note in found
            if note.id not in known and _words(note)[:2] not in removed and _words(note) not in said
        )  # fmt: skip
        ids = {note.id for note in found}
        old = tuple(note.id for note in before if note.id not in ids)
        if not new and not old:
            return None
        return self._append(notes=new, supersedes=old, read=[copies.prefix])

    @contextmanager
    def one_change(self) -> Iterator[None]:
        """What is extracted inside becomes one change, which one `undo` takes back. It is appended at the end, also
        after an error.
        """
        self._gathered = []
        try:
            yield
        finally:
            some, self._gathered = self._gathered, None
            gone = {old for row in some for old in row.supersedes}
            added = {note.id for row in some for note in row.notes}
            notes = tuple(note for row in some for note in row.notes if note.id not in gone)
            old = tuple(dict.fromkeys(one for row in some for one in row.supersedes if one not in added))
            if notes or old:
                self._append(notes=notes, supersedes=old, read=[one for row in some for one in row.read])

    def is_known(self, path: str, size: int) -> bool:
        """Whether the newest notes of a log were made by the rules of today when it had this size, and its sidecar the
        same ops: agents and ops only append, so it is most likely unchanged.
        """
        known = os.path.abspath(path)
        rows = (row for row in in_force(self.read.rows) if isinstance(row, MemoryChange) and row.is_extract)
        newest = [one for row in rows for one in row.read if one.log == known][-1:]
        same = [one for one in newest if one.size == size and one.rules == RULES_VERSION]
        return any(one.ops == ops_beside(known) for one in same)

    def text(
        self, max_tokens: int = TOKENS, *, about: str = "", model: str = "", count: Callable[[str], int] | None = None
    ) -> str:
        """The notes, read now, as a text for a context, at most `max_tokens` tokens; "" if none is there or fits.

        The most important first: by hand, open work, decisions, gists, files; with `about` those with its words, the
        best first. A gist that repeats a superseded note is left out. `count`: tokens of a text
        (default: the counter for `model`). The same notes give the same text.
        """
        self._read = None
        notes = [one.note for one in self.current() if one.repeats is None]
        some = by_importance(notes) if not about else [notes[place] for place in best(notes, about)]
        if not some:
            return ""
        return text_block(some, max_tokens, _counting(model, self.env) if count is None else count)

    def status_line(self) -> str:
        """A line for the status of a context: how many notes there are, and the newest decision; "" without notes."""
        notes = [one.note for one in self.current()]
        if not notes:
            return ""
        left = sum(note.kind == "open" for note in notes)
        decided = next((note for note in reversed(notes) if note.kind == "decision"), None)
        words = f"Project notes: {len(notes)}" + (f", {left} of open work" if left else "")
        if decided is None:
            return words
        return f"{words}; newest decision ({speaker(decided)}): {dumps(' '.join(decided.text.split()))}"

    def _by_hand(self, text: str, kind: str, sources: Iterable[NoteSource]) -> MemoryNote:
        words = self.redactor.text(_one_line(text))
        if not words:
            raise Usage("the note is empty: nothing was kept", "ctxkit memory add TEXT")
        if len(words) > LONGEST:
            raise Usage(f"a note has at most {LONGEST:,} characters, this has {len(words):,}: nothing was kept",
                        "put the rest into a file, and name it in the note")  # fmt: skip
        if kind not in KINDS:
            raise Usage(f"{kind!r} is no kind of note: nothing was kept", ", ".join(KINDS))
        return MemoryNote(self._id(words, kind), words, kind, HAND, tuple(sources))

    def _append(
        self, notes: tuple[MemoryNote, ...] = (), supersedes: tuple[str, ...] = (), read: list[LogPrefix] | None = None
    ) -> MemoryChange:
        """Append a change. `read`: the logs that it was extracted from; None: a person made it."""
        by_hand = read is None
        if read is None:
            logs = dict.fromkeys(source.log for note in notes for source in note.sources)
            read = [prefix_of(OpenLog.open(Path(path))) for path in logs]
        row = MemoryChange(
            self._id(notes, supersedes), iso(int(self._clock())), notes, supersedes, tuple(read), self._by()
        )

        def standing(now: NotesRead) -> None:
            gone = {one.note.id for one in numbered(now.rows) if not one.is_current}.intersection(supersedes)
            if gone and by_hand:
                raise NothingChanges("the notes were changed meanwhile: nothing was changed", "try again")

        if self._gathered is not None:
            self._gathered.append(row)
        else:
            self._write(row, standing)
        return row

    def _void(self, choose: Callable[[Sequence[MemoryRow]], R | None], what: str) -> R:
        """Append an undo of what `choose` finds, in the file as it is while it is locked."""
        target = choose(self.read.rows)
        if target is None:
            raise NoSuchNote(f"{self.project.folder}: nothing to {what} in its notes: nothing was changed")

        def unchanged(now: NotesRead) -> None:
            if choose(now.rows) != target:
                raise NothingChanges("the notes were changed meanwhile: nothing was changed", "try again")

        self._write(MemoryUndo(self._id(target.id), iso(int(self._clock())), target.id, self._by()), unchanged)
        return target

    def _write(self, row: MemoryRow, recheck: Callable[[NotesRead], None] | None = None) -> None:
        if not self.dry_run:
            append_row(self.path, row, recheck)
        self._read = None

    def _id(self, *what: object) -> str:
        """The id of something new: of what it is, and of the last line before it. So the same twice at once is one."""
        last = self.read.rows[-1].id if self.read.rows else ""
        return f"m{digest([last, msgspec.to_builtins(what)], 15)}"

    def _by(self) -> dict[str, object]:
        by = {"args": list(self._args), "version": VERSION} if self._args else {"version": VERSION}
        return cast(dict[str, object], self.redactor.value(by))


def best(notes: Sequence[MemoryNote], text: str) -> list[int]:
    """The places of the notes with words of `text`, the best first. Raises Usage for a text without words."""
    if not available():
        raise Usage("notes cannot be ranked: this SQLite was built without FTS5", "leave --about out")
    scores = ranked((note.text for note in notes), terms(text))
    return sorted(scores, key=lambda place: (-scores[place], place))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _with_repeats(one: CheckedNote, old: Sequence[NumberedNote]) -> CheckedNote:
    """A note; a gist that stands is outdated if it has the words of one of these notes."""
    if one.note.kind != "gist" or one.state != "current":
        return one
    repeats = next((it.number for it in old if it.note.text[:REPEATED].rstrip(" .…") in one.note.text), None)
    return one if repeats is None else msgspec.structs.replace(one, state="outdated", repeats=repeats)


def _counting(model: str, env: Mapping[str, str]) -> Callable[[str], int]:
    own = counter(AUTO, model)
    own.cache_folder = user_cache(env)
    return lambda text: next(own.all(own.counts([text])))


def _words(note: MemoryNote) -> tuple[str, str, str]:
    """The kind and text of a note, and a digest of the messages that say it, whatever log they are in."""
    return note.kind, note.text, "".join(source.digest for source in note.sources)
