"""Caches token counts by content, in the user's cache folder: bounded, disposable, safe with two writers.

The file holds digests and numbers, and no text. Texts that are always counted together share one digest. If the file is
locked, damaged, full or read-only, counting goes on without it. A damaged file is replaced.
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

from ctxkit.store.private import make_private

VERSION = 3
"""Version of what is digested, part of the file's name. Raised, all texts are counted again."""
LARGEST = 64 << 20
"""Bytes from which on the file is replaced: about a million counts."""
PATIENCE = 0.2
"""Seconds to wait for another writer."""
_AT_ONCE = 900
"""Digests per query: every SQLite takes 999 parameters."""


def digest(content: bytes, salt: bytes = b"", more: Iterable[bytes] = ()) -> bytes:
    """The key of a content, and of `more` of it, in the cache: 16 bytes. `salt`: what else the count depends on."""
    found = hashlib.blake2b(content, digest_size=16, key=salt)
    for piece in more:
        found.update(piece)
    return found.digest()


class Cache:
    """The cached counts of one base. `folder`: the user's cache folder; `put` creates it."""

    def __init__(self, folder: Path, base: str) -> None:
        self.base = base
        self.path = folder / f"tokens-{base.replace(' ', '-')}-{VERSION}.sqlite"

    def get(self, digests: Sequence[bytes]) -> dict[bytes, int]:
        """The cached counts, by digest."""
        return {key: found for key, found in self._get("counts", digests) if isinstance(found, int)}

    def put(self, counts: Mapping[bytes, int]) -> None:
        """Adds counts."""
        self._put("counts", counts.items())

    def get_runs(self, digests: Sequence[bytes]) -> dict[bytes, array[int]]:
        """The cached counts of texts that share a digest, in the order of the texts."""
        return {key: array("q", found) for key, found in self._get("runs", digests) if _whole(found)}

    def put_runs(self, runs: Mapping[bytes, array[int]]) -> None:
        """Adds counts of texts that share a digest."""
        self._put("runs", [(key, counts.tobytes()) for key, counts in runs.items()])

    def _get(self, table: str, digests: Sequence[bytes]) -> Iterable[tuple[bytes, Any]]:
        found: list[tuple[bytes, Any]] = []
        if not digests or not os.path.exists(self.path) or os.path.islink(self.path):
            return found
        try:
            with closing(self._open()) as db:
                for start in range(0, len(digests), _AT_ONCE):
                    asked = digests[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(asked))
                    query = f"SELECT digest, tokens FROM {table} WHERE digest IN ({marks})"  # noqa: S608  # our names
                    found += db.execute(query, asked)
        except sqlite3.DatabaseError as why:
            self._mend(why)
        return found

    def _put(self, table: str, rows: Collection[tuple[bytes, Any]]) -> None:
        if not rows:
            return
        try:
            make_private(self.path.parent)
            if os.path.exists(self.path) and self.path.stat().st_size > LARGEST:
                self.path.unlink()
            # created here, because SQLite would let all users read it
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
            with closing(self._open()) as db, db:
                db.execute(f"CREATE TABLE IF NOT EXISTS {table} (digest BLOB PRIMARY KEY, tokens) WITHOUT ROWID")
                db.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", rows)  # noqa: S608  # our table's name
        except sqlite3.DatabaseError as why:
            self._mend(why)
        except OSError:
            return  # no cache folder, or a full disk: the next run counts again

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=PATIENCE)
        db.execute("PRAGMA synchronous = OFF")
        return db

    def _mend(self, why: sqlite3.DatabaseError) -> None:
        """Deletes a file that is no database. One that is locked, or cannot be written, is kept."""
        if not isinstance(why, sqlite3.OperationalError):
            with suppress(OSError):
                os.unlink(self.path)


class NoCache(Cache):
    """Keeps nothing: for a counter of a program's own, whose counts nobody else may take for theirs."""

    def _get(self, table: str, digests: Sequence[bytes]) -> Iterable[tuple[bytes, Any]]:
        return ()

    def _put(self, table: str, rows: Collection[tuple[bytes, Any]]) -> None:
        return


def _whole(found: object) -> bool:
    return isinstance(found, bytes) and len(found) % array("q").itemsize == 0
