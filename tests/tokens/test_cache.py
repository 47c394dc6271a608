"""The cache remembers; whatever happens to it, counting goes on."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ctxkit.tokens import cache
from ctxkit.tokens.cache import Cache, digest

MANY = {digest(b"%d" % n): n for n in range(3000)}


def test_puts_and_gets(tmp_path: Path) -> None:
    """By content; nothing is made before something is put in; other bases do not mix."""
    one = Cache(tmp_path / "new", "o200k_base")
    assert one.get(list(MANY)) == {} and not one.path.parent.exists()
    one.put(MANY)
    assert Cache(tmp_path / "new", "o200k_base").get(list(MANY)) == MANY
    assert Cache(tmp_path / "new", "cl100k_base").get(list(MANY)) == {}
    assert os.stat(one.path.parent).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", [b"", b"not a database at all, but text", b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged(tmp_path: Path, damage: bytes) -> None:
    """It is made anew."""
    one = Cache(tmp_path, "x")
    one.put({b"a": 1})
    one.path.write_bytes(damage)
    assert one.get([b"a"]) == {}
    one.put({b"a": 1})
    one.put({b"a": 1})
    assert one.get([b"a"]) == {b"a": 1}


def test_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer at work: nothing is known, nothing is lost."""
    monkeypatch.setattr(cache, "PATIENCE", 0.01)
    one = Cache(tmp_path, "x")
    one.put({b"a": 1})
    other = sqlite3.connect(one.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert one.get([b"a"]) == {}
    one.put({b"b": 2})
    other.execute("COMMIT")
    other.close()
    assert one.get([b"a", b"b"]) == {b"a": 1}


def test_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its largest size on it begins again."""
    one = Cache(tmp_path, "x")
    one.put(MANY)
    monkeypatch.setattr(cache, "LARGEST", 1000)
    one.put({b"new": 1})
    assert one.get([b"new", next(iter(MANY))]) == {b"new": 1}


def test_no_folder(tmp_path: Path) -> None:
    """A file in the folder's place: nothing is kept, nothing fails."""
    (tmp_path / "file").write_text("x")
    one = Cache(tmp_path / "file", "x")
    one.put({b"a": 1})
    assert one.get([b"a"]) == {}


def _put(folder: str, start: int) -> None:
    for n in range(start, start + 200):
        Cache(Path(folder), "x").put({digest(b"%d" % n): n})


def test_two_writers(tmp_path: Path) -> None:
    """At the same time: the file stays whole, and what it says is right."""
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(_put, [str(tmp_path)] * 2, [0, 100]))
    found = Cache(tmp_path, "x").get(list(MANY))
    assert len(found) > 150 and all(MANY[key] == tokens for key, tokens in found.items())
