"""An index of files in the user's cache folder: values that are valid as long as a file does not change. Disposable.

Used by `search/sessions.py` (previews), `search/size_cache.py` (tokens) and `recall` over folders. One SQLite file,
only for its owner, because it contains text of transcripts. If anything is wrong with it, ctxkit works without it: a
damaged file, or one of another program, is replaced; a file that is locked or cannot be written is left alone.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

from ctxkit.core.text.utf8 import exact
from ctxkit.store.private import make_private

VERSION = 4
"""The version of the rows; an index of another version is not read."""
OURS = 0x63747869
"""The `application_id` of our databases."""
JUST_NOW = 50_000_000
"""Nanoseconds in which a file can change twice, and its time once."""
PATIENCE = 2.0
"""Seconds to wait for another writer."""
LARGEST = 512 << 20
"""Bytes from which on the file is replaced by a new one."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS kept (kind TEXT, path BLOB, stamp TEXT, told BLOB, PRIMARY KEY (kind, path))"
    " WITHOUT ROWID"
)
_STAYS = {"SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_IOERR",
          "SQLITE_PERM", "SQLITE_NOMEM", "SQLITE_INTERRUPT"}  # fmt: skip
"""Errors that do not mean that the file is damaged."""

_SEAL = 8
"""Bytes of a row's checksum."""

Row = tuple[str, bytes]
"""The stamp of a file, and the value that is valid as long as the file has this stamp."""


def stamp(found: os.stat_result, *more: object) -> str:
    """A text that changes with every change of a file. `more`: what else counts."""
    parts = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, *more)
    return ":".join(map(str, parts))


def settled(found: os.stat_result) -> bool:
    """Whether the last change of a file was long enough ago that its next change will show in its times."""
    return max(found.st_mtime_ns, found.st_ctime_ns) < time.time_ns() - JUST_NOW


class Index:
    """The index of one user. `folder`: the user's cache; it is created with the first row."""

    name = "sessions"
    tables: tuple[str, ...] = (_TABLE,)

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"{self.name}-{VERSION}.sqlite"

    def below(self, kind: str, place: bytes) -> dict[bytes, Row]:
        """The rows of `place` and of all files below it, by absolute path."""
        start, end = place.rstrip(b"/") + b"/", place.rstrip(b"/") + b"0"  # 0 is the byte after the slash
        query = "SELECT path, stamp, told FROM kept WHERE kind = ? AND (path = ? OR path >= ? AND path < ?)"
        found: dict[bytes, Row] = {}
        with self.reading() as db:
            if db is not None:
                for path, known, value in db.execute(query, (kind, place, start, end)):
                    row = _checked_row(path, known, value)
                    if row is not None:
                        found[path] = row
        return found

    def get(self, kind: str, path: bytes) -> Row | None:
        """The row of one file."""
        found: Row | None = None
        with self.reading() as db:
            if db is not None:
                query = "SELECT stamp, told FROM kept WHERE kind = ? AND path = ?"
                row = db.execute(query, (kind, path)).fetchone()
                found = None if row is None else _checked_row(path, *row)
        return found

    def put(self, kind: str, rows: Mapping[bytes, Row], gone: Iterable[bytes] = (), *, sample: int = 0) -> None:
        """Add or replace rows, and remove those of files that are `gone`.

        `sample`: also check this many random rows, and remove those of missing files.
        """
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
        """A connection for reading, None if there is no index; an error of SQLite inside only ends the block."""
        return _Session(self, write=False)

    def writing(self) -> _Session:
        """A connection for writing, in one transaction; otherwise as `reading`."""
        return _Session(self, write=True)

    def open(self, *, write: bool) -> sqlite3.Connection | None:
        """A connection to our index; None if there is none and `write` is not set."""
        found = self._file()
        if found is None and not write:
            return None
        if found is None:
            make_private(self.path.parent)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            return self._checked(db, write=write)
        except BaseException:
            db.close()
            raise

    def _checked(self, db: sqlite3.Connection, *, write: bool) -> sqlite3.Connection | None:
        # in this order: another process may commit the tables and the id between the two queries
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

    def _file(self) -> os.stat_result | None:
        """The status of the file; None without one. A file that is not ours, or too large, is removed."""
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            return None
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size <= LARGEST:
            return found
        self.remove()
        return None

    def remove(self) -> None:
        """Remove the file, and the one that SQLite keeps beside it."""
        for path in (self.path, self.path.with_name(self.path.name + "-journal")):
            with suppress(FileNotFoundError):
                os.unlink(path)


def _seal(path: bytes, known: str, value: bytes) -> bytes:
    """The checksum of a row, which is put before its value."""
    return hashlib.blake2b(b"\0".join((path, exact(known), value)), digest_size=_SEAL).digest()


def _checked_row(path: object, known: object, value: object) -> Row | None:
    """The row; None if it is damaged."""
    if not (isinstance(path, bytes) and isinstance(known, str) and isinstance(value, bytes)):
        return None
    seal, value = value[:_SEAL], value[_SEAL:]
    return (known, value) if seal == _seal(path, known, value) else None


class ForeignDatabase(sqlite3.DatabaseError):
    """A database of another program."""


class _Session:
    """A connection for some statements. An error only ends these; a damaged file is removed."""

    def __init__(self, index: Index, *, write: bool) -> None:
        self._index = index
        self._write = write
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection | None:
        for _ in range(2):  # a removed file is replaced at once
            try:
                self._db = self._index.open(write=self._write)
                break
            except (sqlite3.Error, OSError) as why:
                if not self._removed(why):
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
                    self._removed(error)
                return False
        if isinstance(why, sqlite3.Error):
            self._removed(why)
            return True
        return False

    def _removed(self, why: Exception) -> bool:
        """Remove the file if the error means that it is damaged; returns whether it was removed."""
        code = getattr(why, "sqlite_errorname", "")
        if isinstance(why, OSError) or any(code.startswith(name) for name in _STAYS):
            return False
        try:
            self._index.remove()
        except OSError:
            return False
        return True
