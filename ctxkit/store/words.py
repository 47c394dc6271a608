"""An index of the words of files, by FTS5: a search skips the files that cannot contain its text.

Used by `search/prefilter.py` for searches over folders. Disposable like `index.py`, whose file handling it uses. A word
is a run of ASCII letters and digits in the file's bytes, in lower case; the index has the words of each file without
their order.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache

from ctxkit.store.folder import START, may_be_log
from ctxkit.store.index import Index
from ctxkit.store.source import Source

LARGEST_FILE = 8 << 20
"""The largest file whose words are indexed, in bytes; a larger one is always searched."""
MANY = 1000
"""A stem that more words than this contain is too common to exclude files."""
STALE = 3
"""The index is rebuilt once this many times as many rows were added as there are files."""

PLAIN, ODD, NO_LOG = 0, 1, 2
"""Kinds of files: its words are indexed; it may contain any text; it is not a log."""

_WORD = re.compile(rb"[a-z0-9]{3,}")
_ESCAPED = re.compile(rb"\\u00(?:3[0-9]|4[1-9a-f]|5[0-9ac]|6[1-9a-f]|7[0-9a])")
r"""A letter, a digit or a backslash written as an escape, so that a word's bytes are not the word itself."""


@cache
def available() -> bool:
    """Whether this SQLite has FTS5."""
    with closing(sqlite3.connect(":memory:")) as db:
        return any(option == "ENABLE_FTS5" for (option,) in db.execute("PRAGMA compile_options"))


def words(raw: bytes) -> bytes | None:
    """The words of a file, each once; None if a text in it may be encoded otherwise."""
    low = raw.lower()
    if b"\0" in low or _ESCAPED.search(low):
        return None
    return b" ".join(sorted(set(_WORD.findall(low))))


class WordIndex(Index):
    """The index of the words of one user's files."""

    name = "words"
    tables = (
        "CREATE TABLE IF NOT EXISTS files"
        " (id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE, stamp TEXT, what INTEGER)",
        "CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5(words, content='', detail='none', tokenize='ascii')",
        "CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(said, 'row')",
    )

    def lacking(self, place: bytes, stems: Sequence[Sequence[str]]) -> dict[bytes, tuple[str, int]]:
        """The files below `place` that contain none of some texts: absolute path -> stamp and kind.

        `stems`: those of each text; a file may contain the text if each stem is in one of its words.
        """
        start, end = place.rstrip(b"/") + b"/", place.rstrip(b"/") + b"0"
        found: dict[bytes, tuple[str, int]] = {}
        with self.reading() as db:
            if db is not None:
                holding = _holding(db, stems)
                query = "SELECT id, path, stamp, what FROM files WHERE path >= ? AND path < ?"
                for number, path, stamp, what in db.execute(query, (start, end)):
                    if what == NO_LOG or (what == PLAIN and holding is not None and number not in holding):
                        found[path] = stamp, what
        return found

    def known(self, place: bytes) -> dict[bytes, str]:
        """The stamps of all indexed files below `place`."""
        start, end = place.rstrip(b"/") + b"/", place.rstrip(b"/") + b"0"
        with self.reading() as db:
            if db is not None:
                return dict(db.execute("SELECT path, stamp FROM files WHERE path >= ? AND path < ?", (start, end)))
        return {}

    def learn(self, rows: Mapping[bytes, tuple[str, int, bytes]], gone: Iterable[bytes] = ()) -> None:
        """Add files: path -> stamp, kind and words; remove those that are `gone`."""
        lost = [(path,) for path in gone]
        if not rows and not lost:
            return
        stale = False
        with self.writing() as db:
            if db is not None:
                db.executemany("DELETE FROM files WHERE path = ?", [*lost, *((path,) for path in rows)])
                for path, (stamp, what, text) in rows.items():
                    put = "INSERT INTO files (path, stamp, what) VALUES (?, ?, ?)"
                    number = db.execute(put, (path, stamp, what)).lastrowid
                    if what == PLAIN:
                        db.execute("INSERT INTO said (rowid, words) VALUES (?, ?)", (number, text.decode("ascii")))
                [count, newest] = db.execute("SELECT count(*), max(id) FROM files").fetchone()
                stale = (newest or 0) > STALE * count + MANY
        if stale:  # most rows are of files that changed since or are gone
            with self.writing() as db:
                if db is not None:
                    self.remove()


def _holding(db: sqlite3.Connection, stems: Sequence[Sequence[str]]) -> set[int] | None:
    """The numbers of the files that may contain any of the texts; None: every file may."""
    wanted = sorted({stem for text in stems for stem in text})
    having: dict[str, list[str]] = {stem: [] for stem in wanted}
    tests = " OR ".join("instr(term, ?)" for _ in wanted)
    # S608: only placeholders are put into the statement
    for (term,) in db.execute(f"SELECT term FROM vocabulary WHERE {tests}", wanted):  # noqa: S608
        for stem in wanted:
            if stem in term:
                having[stem].append(term)
    found: set[int] = set()
    for text in stems:
        rare = [having[stem] for stem in text if len(having[stem]) <= MANY]
        if not rare:
            return None
        if all(rare):
            match = " AND ".join("(" + " OR ".join(f'"{term}"' for term in terms) + ")" for terms in rare)
            found.update(number for (number,) in db.execute("SELECT rowid FROM said WHERE said MATCH ?", (match,)))
    return found


def looked_at(source: Source) -> tuple[int, bytes]:
    """The kind of a file, and its words. Raises ReadFailed, UpdatedElsewhere."""
    if not may_be_log(source.read(0, START)):
        return NO_LOG, b""
    found = words(source.read(0, source.size)) if source.size <= LARGEST_FILE else None
    return (ODD, b"") if found is None else (PLAIN, found)
