"""An index of files in the user's cache folder: what was told of each, as long as the file is what it was. Disposable.

Used by `search/sessions.py` (glances), `search/size_cache.py` (tokens) and `recall` over folders. One SQLite file, for
its owner alone, as it holds words of transcripts. Whatever is wrong with it, the work goes on without it: one that is
damaged, or none of ours, is made anew; one that is locked, or cannot be written, stays.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

VERSION = 1
"""Of what a row holds: other ones are told anew."""
OURS = 0x63747869
"""The `application_id` of an index of ours."""
PATIENCE = 2.0
"""Seconds to wait for another writer."""
LARGEST = 512 << 20
"""Bytes of the file, from which on it is made anew."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS kept (kind TEXT, path BLOB, stamp TEXT, told BLOB, PRIMARY KEY (kind, path))"
    " WITHOUT ROWID"
)
_STAYS = {"SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_IOERR",
          "SQLITE_PERM", "SQLITE_NOMEM", "SQLITE_INTERRUPT"}  # fmt: skip
"""Errors that say nothing about what the file holds."""

_SEAL = 8
"""Bytes of a row's seal."""

Row = tuple[str, bytes]
"""What the file was when it was told of (`stamp`), and what was told."""


def stamp(found: os.stat_result, *more: object) -> str:
    """What a file is known by: whatever changes it, changes this. `more`: what else counts."""
    parts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, *more)
    return ":".join(map(str, parts))


class Index:
    """The index of one user. `folder`: of the user's cache; it is made when the first row is put in."""

    name = "sessions"
    tables: tuple[str, ...] = (_TABLE,)

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{self.name}-{VERSION}.sqlite"

    def below(self, kind: str, place: bytes) -> dict[bytes, Row]:
        """What is known of `place` and of all files below it: absolute path -> row."""
        start, end = place.rstrip(b"/") + b"/", place.rstrip(b"/") + b"0"  # the byte behind the slash
        query = "SELECT path, stamp, told FROM kept WHERE kind = ? AND (path = ? OR path >= ? AND path < ?)"
        found: dict[bytes, Row] = {}
        with self.reading() as db:
            if db is not None:
                for path, known, told in db.execute(query, (kind, place, start, end)):
                    row = _opened(path, known, told)
                    if row is not None:
                        found[path] = row
        return found

    def get(self, kind: str, path: bytes) -> Row | None:
        """What is known of one file."""
        found: Row | None = None
        with self.reading() as db:
            if db is not None:
                query = "SELECT stamp, told FROM kept WHERE kind = ? AND path = ?"
                row = db.execute(query, (kind, path)).fetchone()
                found = None if row is None else _opened(path, *row)
        return found

    def put(self, kind: str, rows: Mapping[bytes, Row], gone: Iterable[bytes] = (), *, sample: int = 0) -> None:
        """Add or replace rows, and forget all of the files that are `gone`, and those among so many others."""
        lost = [(path,) for path in gone]
        if not rows and not lost:
            return
        with self.writing() as db:
            if db is not None:
                put = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)"
                db.executemany(put, ((kind, path, row[0], _seal(path, *row) + row[1]) for path, row in rows.items()))
                some = db.execute("SELECT path FROM kept ORDER BY random() LIMIT ?", (sample,)) if sample else ()
                lost += [(path,) for (path,) in some if isinstance(path, bytes) and not os.path.lexists(path)]
                db.executemany("DELETE FROM kept WHERE path = ?", lost)

    def reading(self) -> _Session:
        """A connection to read by, None where there is nothing to read; what goes wrong inside ends the block."""
        return _Session(self, write=False)

    def writing(self) -> _Session:
        """The same to write by, in one transaction."""
        return _Session(self, write=True)

    def open(self, *, write: bool) -> sqlite3.Connection | None:
        """A connection to an index that is ours; None where there is none, and none is to be made."""
        found = self._looked_at()
        if found is None and not write:
            return None
        if found is None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            return self._checked(db, write=write)
        except BaseException:
            db.close()
            raise

    def _checked(self, db: sqlite3.Connection, *, write: bool) -> sqlite3.Connection | None:
        # in this order: another's first commit may come between the two, and brings the mark with the tables
        [tables] = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        [ours] = db.execute("PRAGMA application_id").fetchone()
        if tables and ours != OURS:
            raise ForeignDatabase
        if not tables and not write:
            db.close()
            return None
        if write:
            db.execute("PRAGMA synchronous = OFF")
            db.execute("BEGIN IMMEDIATE")
            db.execute(f"PRAGMA application_id = {OURS}")
            for table in self.tables:
                db.execute(table)
        return db

    def _looked_at(self) -> os.stat_result | None:
        """The file that is there; one that is none of ours, or too large, goes first."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return None
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size <= LARGEST:
            return found
        self.remove()
        return None

    def remove(self) -> None:
        """The file goes, and what SQLite keeps beside it."""
        for path in (self.path, self.path.with_name(self.path.name + "-journal")):
            with suppress(FileNotFoundError):
                os.unlink(path)


def _seal(path: bytes, known: str, told: bytes) -> bytes:
    """What stands before what was told, so that a row that was damaged is none."""
    return hashlib.blake2b(b"\0".join((path, known.encode(), told)), digest_size=_SEAL).digest()


def _opened(path: object, known: object, told: object) -> Row | None:
    """The row, where it is as it was put in."""
    if not (isinstance(path, bytes) and isinstance(known, str) and isinstance(told, bytes)):
        return None
    seal, told = told[:_SEAL], told[_SEAL:]
    return (known, told) if seal == _seal(path, known, told) else None


class ForeignDatabase(sqlite3.DatabaseError):
    """A database of somebody else's."""


class _Session:
    """A connection for some statements. What goes wrong ends them, and no more: the file goes where it is to blame."""

    def __init__(self, index: Index, *, write: bool) -> None:
        self._index = index
        self._write = write
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection | None:
        for _ in range(2):  # a file that goes is made anew at once
            try:
                self._db = self._index.open(write=self._write)
                break
            except (sqlite3.Error, OSError) as why:
                if not self._mended(why):
                    break
        return self._db

    def __exit__(self, kind: object, why: BaseException | None, trace: object) -> bool:
        if self._db is None:
            return False
        with closing(self._db) as db:
            if why is None:
                try:
                    if db.in_transaction:
                        db.execute("COMMIT")
                except sqlite3.Error as error:
                    self._mended(error)
                return False
        if isinstance(why, sqlite3.Error):
            self._mended(why)
            return True
        return False

    def _mended(self, why: Exception) -> bool:
        """Whether the file was to blame, and is gone."""
        code = getattr(why, "sqlite_errorname", "")
        if isinstance(why, OSError) or any(code.startswith(name) for name in _STAYS):
            return False
        try:
            self._index.remove()
        except OSError:
            return False
        return True
