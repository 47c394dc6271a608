"""The cache remembers; whatever happens to it, counting goes on."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from array import array
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from ctxkit.tokens.cache import Cache, digest

ROOT = Path(__file__).resolve().parents[2]
MANY = {digest(b"%d" % n): n for n in range(3000)}


def test_puts_and_gets(tmp_path: Path) -> None:
    """By content; nothing is made before something is put in; other bases do not mix."""
    one = Cache(tmp_path / "new", "o200k_base")
    assert one.get(list(MANY)) == {} and not one.path.parent.exists()
    one.put(MANY)
    assert Cache(tmp_path / "new", "o200k_base").get(list(MANY)) == MANY
    assert Cache(tmp_path / "new", "cl100k_base").get(list(MANY)) == {}
    assert os.stat(one.path.parent).st_mode & 0o777 == 0o700
    assert os.stat(one.path).st_mode & 0o777 == 0o600


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
    monkeypatch.setattr(Cache, "patience", 0.01)
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
    monkeypatch.setattr(Cache, "largest", 1000)
    one.put({b"new": 1})
    monkeypatch.undo()
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


SQLITE_FULL = sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize("error", [SQLITE_FULL, sqlite3.OperationalError("disk I/O error"), sqlite3.DataError("x")])
def test_a_disk_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: sqlite3.Error) -> None:
    """While it is opened, read or written: nothing is known, nothing is kept, nothing fails."""
    one = Cache(tmp_path, "x")
    one.put({b"a": 1})

    def fail(self: Cache, *, write: bool) -> sqlite3.Connection:
        raise error

    monkeypatch.setattr(Cache, "open", fail)
    assert one.get([b"a"]) == {} and one.get_runs([b"a"]) == {}
    one.put({b"b": 1})
    one.put_runs({b"b": array("q", [1, 2])})


def test_what_is_no_count_is_not_taken(tmp_path: Path) -> None:
    """Somebody else's tables and values: as if nothing were there."""
    one = Cache(tmp_path, "x")
    one.put({b"a": 1})
    one.put_runs({b"r": array("q", [3, 4])})
    with closing(sqlite3.connect(one.path)) as db, db:
        db.executemany("INSERT INTO counts VALUES (?, ?)", [(b"t", "text"), (b"n", None), (b"f", 1.5)])
        db.executemany("INSERT INTO runs VALUES (?, ?)", [(b"t", "text"), (b"odd", b"123"), (b"n", 7)])
    assert one.get([b"a", b"t", b"n", b"f"]) == {b"a": 1}
    assert one.get_runs([b"r", b"t", b"odd", b"n"]) == {b"r": array("q", [3, 4])}
    with closing(sqlite3.connect(one.path)) as db, db:
        db.execute("DROP TABLE counts")
        db.execute("CREATE TABLE counts (other)")
    assert one.get([b"a"]) == {} and one.get_runs([b"r"]) == {}, "it is made anew"
    one.put({b"a": 1})
    assert one.get([b"a"]) == {b"a": 1}


def test_a_folder_behind_a_link(tmp_path: Path) -> None:
    """It is used; another version's file beside it stays as it is."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/tokens-x-0.sqlite").write_bytes(b"older")
    Cache(tmp_path / "link", "x").put({b"a": 1})
    assert Cache(tmp_path / "real", "x").get([b"a"]) == {b"a": 1}
    assert (tmp_path / "real/tokens-x-0.sqlite").read_bytes() == b"older"


def test_a_link_in_its_place(tmp_path: Path) -> None:
    """It is not followed: nothing is read from its target, nothing is written there, and a file takes its place."""
    Cache(tmp_path / "other", "x").put({b"a": 1})
    target = next((tmp_path / "other").iterdir())
    before = target.read_bytes()
    one = Cache(tmp_path, "x")
    one.path.symlink_to(target)
    one.put({b"b": 2})
    assert one.get([b"a", b"b"]) == {b"b": 2} and target.read_bytes() == before and not one.path.is_symlink()


def test_commands_at_once(tmp_path: Path) -> None:
    """Four processes that count one log for the first time: the same figures, no word on stderr, nothing beside it."""
    log = tmp_path / "log" / "log.jsonl"
    log.parent.mkdir()
    log.write_text("".join(f'{{"role":"user","content":"message {n} {n * n}"}}\n' for n in range(3000)))
    command = [sys.executable, "-m", "ctxkit", "status", "--json", str(log)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    said = [process.communicate(timeout=120) for process in running]
    said.append(subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, check=True))
    alone = (said.pop().stdout, b"")
    assert said == [alone] * 4 and b'"used"' in alone[0]
    assert os.listdir(log.parent) == ["log.jsonl"]
    kept = [path.name for path in (tmp_path / "cache/ctxkit").iterdir()]
    assert sorted(name.partition("-")[0] for name in kept) == ["sessions", "tokens"]  # status notes its figure there
    assert all(name.endswith(".sqlite") for name in kept)


def test_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of a program's own counter are not kept."""
    monkeypatch.chdir(tmp_path)
    found = Cache(None, "own")
    found.put(MANY)
    found.put_runs({digest(b"1"): array("q", [1])})
    assert found.get(list(MANY)) == {} and found.get_runs([digest(b"1")]) == {} and not list(tmp_path.iterdir())
