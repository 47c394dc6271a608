"""A SQLite file in the user's cache folder: only for its owner, bounded, disposable, safe with several writers.

Used by `index.py`, `words.py` and `tokens/cache.py`. If anything is wrong with it, ctxkit works without it: a damaged
file, or one of another program, is replaced; a file that is locked or cannot be written is left alone.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path

from ctxkit.store.private import make_private

OURS = 0x63747869
"""The `application_id` of our databases."""
_STAYS = {"SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_IOERR",
          "SQLITE_PERM", "SQLITE_NOMEM", "SQLITE_INTERRUPT"}  # fmt: skip
"""Errors that do not mean that the file is damaged."""


class CacheFile:
    """One file of tables, created with the first row."""

    tables: tuple[str, ...] = ()
    """The statements that create them."""
    patience = 2.0
    """Seconds to wait for another writer."""
    largest = 512 << 20
    """Bytes from which on the file is replaced by a new one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def reading(self) -> _Session:
        """A connection for reading, None if there is no file; an error of SQLite inside only ends the block."""
        return _Session(self, write=False)

    def writing(self) -> _Session:
        """A connection for writing, in one transaction; otherwise as `reading`."""
        return _Session(self, write=True)

    def open(self, *, write: bool) -> sqlite3.Connection | None:
        """A connection to our file; None if there is none and `write` is not set."""
        found = self._file()
        if found is None and not write:
            return None
        if found is None:
            make_private(self.path.parent)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        db = sqlite3.connect(self.path, timeout=self.patience, isolation_level=None)
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
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size <= self.largest:
            return found
        self.remove()
        return None

    def remove(self) -> None:
        """Remove the file, and the one that SQLite keeps beside it."""
        for path in (self.path, self.path.with_name(self.path.name + "-journal")):
            with suppress(FileNotFoundError):
                os.unlink(path)


class ForeignDatabase(sqlite3.DatabaseError):
    """A database of another program."""


class _Session:
    """A connection for some statements. An error only ends these; a damaged file is removed."""

    def __init__(self, file: CacheFile, *, write: bool) -> None:
        self._file = file
        self._write = write
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection | None:
        for _ in range(2):  # a removed file is replaced at once
            try:
                self._db = self._file.open(write=self._write)
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
            self._file.remove()
        except OSError:
            return False
        return True
