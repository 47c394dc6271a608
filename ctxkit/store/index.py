"""An index of files in the user's cache folder: values that are valid as long as a file does not change. Disposable.

Used by `search/file_cache.py` (previews, tokens) and `recall` over folders. It contains text of transcripts.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ctxkit.core.text.utf8 import exact
from ctxkit.store.cache_file import CacheFile

VERSION = 4
"""The version of the rows; an index of another version is not read."""
JUST_NOW = 50_000_000
"""Nanoseconds in which a file can change twice, and its time once."""
_TABLE = (
    "CREATE TABLE IF NOT EXISTS kept (kind TEXT, path BLOB, stamp TEXT, told BLOB, PRIMARY KEY (kind, path))"
    " WITHOUT ROWID"
)
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


class Index(CacheFile):
    """The index of one user. `folder`: the user's cache; it is created with the first row."""

    name = "sessions"
    tables: tuple[str, ...] = (_TABLE,)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / f"{self.name}-{VERSION}.sqlite")

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


def _seal(path: bytes, known: str, value: bytes) -> bytes:
    """The checksum of a row, which is put before its value."""
    return hashlib.blake2b(b"\0".join((path, exact(known), value)), digest_size=_SEAL).digest()


def _checked_row(path: object, known: object, value: object) -> Row | None:
    """The row; None if it is damaged."""
    if not (isinstance(path, bytes) and isinstance(known, str) and isinstance(value, bytes)):
        return None
    seal, value = value[:_SEAL], value[_SEAL:]
    return (known, value) if seal == _seal(path, known, value) else None
