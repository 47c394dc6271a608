"""A cache of counts by content, in the user's cache folder: bounded, disposable, safe under two writers.

Only digests and numbers are in it, never a word of a text; many texts that are counted together again and again have
one digest. Whatever is wrong with it (locked, damaged, full, read-only), counting goes on without it; a damaged one is
made anew.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

VERSION = 3
"""Of what a digest stands for: other ones are counted anew."""
LARGEST = 64 << 20
"""Bytes of the file, from which on it is made anew: about a million counts."""
PATIENCE = 0.2
"""Seconds to wait for another writer."""
_AT_ONCE = 900
"""Digests asked for at once: SQLite takes 999 parameters everywhere."""


def digest(content: bytes, salt: bytes = b"") -> bytes:
    """What a content is known by: 16 bytes. `salt`: what else its count depends on."""
    return hashlib.blake2b(content, digest_size=16, key=salt).digest()


class Cache:
    """Counts of one base. `folder`: of the user's; it is made when the first count is put in."""

    def __init__(self, folder: Path, base: str) -> None:
        self.base = base
        self.path = folder / f"tokens-{base.replace(' ', '-')}-{VERSION}.sqlite"

    def get(self, digests: Sequence[bytes]) -> dict[bytes, int]:
        """The counts that are known."""
        return {key: found for key, found in self._get("counts", digests) if isinstance(found, int)}

    def put(self, counts: Mapping[bytes, int]) -> None:
        """Add counts."""
        self._put("counts", counts.items())

    def get_runs(self, digests: Sequence[bytes]) -> dict[bytes, array[int]]:
        """The counts that are known of many texts together, in their order."""
        return {key: array("q", found) for key, found in self._get("runs", digests) if _whole(found)}

    def put_runs(self, runs: Mapping[bytes, array[int]]) -> None:
        """Add such counts."""
        self._put("runs", [(key, counts.tobytes()) for key, counts in runs.items()])

    def _get(self, table: str, digests: Sequence[bytes]) -> Iterable[tuple[bytes, Any]]:
        found: list[tuple[bytes, Any]] = []
        if not digests or not os.path.exists(self.path):
            return found
        try:
            with closing(self._open()) as db:
                for start in range(0, len(digests), _AT_ONCE):
                    asked = digests[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(asked))
                    query = f"SELECT digest, tokens FROM {table} WHERE digest IN ({marks})"  # noqa: S608  # ours alone
                    found += db.execute(query, asked)
        except sqlite3.DatabaseError as why:
            self._mend(why)
        return found

    def _put(self, table: str, rows: Collection[tuple[bytes, Any]]) -> None:
        if not rows:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.path.exists(self.path) and self.path.stat().st_size > LARGEST:
                self.path.unlink()
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))  # SQLite's own are for all
            with closing(self._open()) as db, db:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table} (digest BLOB PRIMARY KEY, tokens) WITHOUT ROWID")
                db.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", rows)  # noqa: S608  # ours alone
        except sqlite3.DatabaseError as why:
            self._mend(why)
        except OSError:
            return  # no folder of one's own, or a full disk: the next run counts again

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=PATIENCE)
        db.execute("PRAGMA synchronous = OFF")
        return db

    def _mend(self, why: sqlite3.DatabaseError) -> None:
        """A file that is no database goes; one that is locked, or cannot be written, stays."""
        if not isinstance(why, sqlite3.OperationalError):
            with suppress(OSError):
                os.unlink(self.path)


def _whole(found: object) -> bool:
    return isinstance(found, bytes) and len(found) % array("q").itemsize == 0
