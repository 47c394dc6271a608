"""An index of the words of files, by FTS5: which files below a folder cannot hold a text, so that none is opened.

Used by `search/prefilter.py` for searches over folders. Disposable as `index.py`, whose file handling it has. A word is
a run of ASCII letters and digits as it stands in the bytes, in lower case; only which file has which words is kept, no
order.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache

from ctxkit.store.index import Index

LARGEST_FILE = 8 << 20
"""Bytes of a file; the words of a larger one are not kept: it may hold anything."""
MANY = 1000
"""Words with a stem in them, from which on it tells nothing."""
STALE = 3
"""How many times as many rows as there are files may have been put in, before all is made anew."""

PLAIN, ODD, NO_LOG = 0, 1, 2
"""What a file is: one whose words are kept, one that may hold anything, one that is no log."""

_WORD = re.compile(rb"[a-z0-9]{3,}")
_ESCAPED = re.compile(rb"\\u00(?:3[0-9]|4[1-9a-f]|5[0-9ac]|6[1-9a-f]|7[0-9a])")
r"""A letter, a digit or a backslash spelled as an escape, so that a word does not stand as it is read."""


@cache
def available() -> bool:
    """Whether this SQLite has FTS5."""
    with closing(sqlite3.connect(":memory:")) as db:
        return any(option == "ENABLE_FTS5" for (option,) in db.execute("PRAGMA compile_options"))


def words(raw: bytes) -> bytes | None:
    """The words of a file, each once; None where a text may stand in it otherwise."""
    low = raw.lower()
    if b"\0" in low or _ESCAPED.search(low):
        return None
    return b" ".join(sorted(set(_WORD.findall(low))))


class WordIndex(Index):
    """The words of one user's files."""

    name = "words"
    tables = (
        "CREATE TABLE IF NOT EXISTS files"
        " (id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE, stamp TEXT, what INTEGER)",
        "CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5(words, content='', detail='none', tokenize='ascii')",
        "CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(said, 'row')",
    )

    def lacking(self, place: bytes, stems: Sequence[Sequence[str]]) -> dict[bytes, tuple[str, int]]:
        """The files below `place` that hold none of some texts: absolute path -> stamp and what the file is.

        Of each text the stems are given; a file holds it if it holds a word with each of them.
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
        """The stamps of all files below `place` that are known."""
        start, end = place.rstrip(b"/") + b"/", place.rstrip(b"/") + b"0"
        with self.reading() as db:
            if db is not None:
                return dict(db.execute("SELECT path, stamp FROM files WHERE path >= ? AND path < ?", (start, end)))
        return {}

    def learn(self, rows: Mapping[bytes, tuple[str, int, bytes]], gone: Iterable[bytes] = ()) -> None:
        """Put files in: their stamp, what they are, their words; forget those that are `gone`."""
        lost = [(path,) for path in gone]
        if not rows and not lost:
            return
        stale = False
        with self.writing() as db:
            if db is not None:
                db.executemany("DELETE FROM files WHERE path = ?", [*lost, *((path,) for path in rows)])
                for path, (stamp, what, said) in rows.items():
                    put = "INSERT INTO files (path, stamp, what) VALUES (?, ?, ?)"
                    number = db.execute(put, (path, stamp, what)).lastrowid
                    if what == PLAIN:
                        db.execute("INSERT INTO said (rowid, words) VALUES (?, ?)", (number, said.decode("ascii")))
                [count, newest] = db.execute("SELECT count(*), max(id) FROM files").fetchone()
                stale = (newest or 0) > STALE * count + MANY
        if stale:  # what was put in for files that changed or are gone is most of it
            with self.writing() as db:
                if db is not None:
                    self.remove()


def _holding(db: sqlite3.Connection, stems: Sequence[Sequence[str]]) -> set[int] | None:
    """The numbers of the files that may hold any of the texts; None: any may."""
    wanted = sorted({stem for text in stems for stem in text})
    having: dict[str, list[str]] = {stem: [] for stem in wanted}
    tests = " OR ".join("instr(term, ?)" for _ in wanted)
    for (term,) in db.execute(f"SELECT term FROM vocabulary WHERE {tests}", wanted):  # noqa: S608  # marks alone
        for stem in wanted:
            if stem in term:
                having[stem].append(term)
    found: set[int] = set()
    for text in stems:
        telling = [having[stem] for stem in text if len(having[stem]) <= MANY]
        if not telling:
            return None
        if all(telling):
            match = " AND ".join("(" + " OR ".join(f'"{term}"' for term in terms) + ")" for terms in telling)
            found.update(number for (number,) in db.execute("SELECT rowid FROM said WHERE said MATCH ?", (match,)))
    return found


def looked_at(fd: int, size: int, log: bool) -> tuple[int, bytes]:
    """What a file of so many bytes is, and its words. Raises OSError."""
    if not log:
        return NO_LOG, b""
    raw = os.pread(fd, size, 0) if size <= LARGEST_FILE else b""
    said = words(raw) if size <= LARGEST_FILE and len(raw) == size else None
    return (ODD, b"") if said is None else (PLAIN, said)
