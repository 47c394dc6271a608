"""Caches token counts by content, in the user's cache folder: bounded, disposable, safe with two writers.

The file holds digests and numbers, and no text. Texts that are always counted together share one digest. If the file is
locked, damaged, full or read-only, counting goes on without it (`store/cache_file.py`).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxkit.store.cache_file import CacheFile

VERSION = 3
"""Version of what is digested, part of the file's name. Raised, all texts are counted again."""
_NAMES = ("counts", "runs")
"""The tables: a count for each digest, and the counts of many texts for each."""
_AT_ONCE = 900
"""Digests per query: every SQLite takes 999 parameters."""


def digest(content: bytes, salt: bytes = b"", more: Iterable[bytes] = ()) -> bytes:
    """The key of a content, and of `more` of it, in the cache: 16 bytes. `salt`: what else the count depends on."""
    found = hashlib.blake2b(content, digest_size=16, key=salt)
    for piece in more:
        found.update(piece)
    return found.digest()


class Cache(CacheFile):
    """The cached counts of one base. `folder`: the user's cache folder; `put` creates it. None: nothing is kept, as
    for a counter of a program's own, whose counts nobody else may take for theirs.
    """

    tables = tuple(
        f"CREATE TABLE IF NOT EXISTS {name} (digest BLOB PRIMARY KEY, tokens) WITHOUT ROWID" for name in _NAMES
    )
    patience = 0.2  # counting again is quick
    largest = 64 << 20  # about a million counts

    def __init__(self, folder: Path | None, base: str) -> None:
        self.base = base
        self._keeps = folder is not None
        super().__init__((folder or Path()) / f"tokens-{base.replace(' ', '-')}-{VERSION}.sqlite")

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

    def _get(self, table: str, digests: Sequence[bytes]) -> list[tuple[bytes, Any]]:
        found: list[tuple[bytes, Any]] = []
        if not digests or not self._keeps:
            return found
        with self.reading() as db:
            if db is not None:
                for start in range(0, len(digests), _AT_ONCE):
                    asked = digests[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(asked))
                    query = f"SELECT digest, tokens FROM {table} WHERE digest IN ({marks})"  # noqa: S608  # our names
                    found += db.execute(query, asked)
        return found

    def _put(self, table: str, rows: Collection[tuple[bytes, Any]]) -> None:
        if not rows or not self._keeps:
            return
        with self.writing() as db:
            if db is not None:
                db.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", rows)  # noqa: S608  # our table's name


def _whole(found: object) -> bool:
    return isinstance(found, bytes) and len(found) % array("q").itemsize == 0
