"""The index remembers; whatever happens to it, the work goes on."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ctxkit.store import index
from ctxkit.store.index import Index, Row, stamp

ROWS: dict[bytes, Row] = {b"/a/%d" % n: (f"s{n}", b"told %d" % n) for n in range(300)}


def test_puts_and_gets(tmp_path: Path) -> None:
    """By kind and path; nothing is made before something is put in, and then for its owner alone."""
    one = Index(tmp_path / "new")
    assert one.below("glance", b"/a") == {} and one.get("glance", b"/a/1") is None
    one.put("glance", {})
    assert not one.path.parent.exists()
    old = os.umask(0)
    try:
        one.put("glance", ROWS)
    finally:
        os.umask(old)
    assert Index(tmp_path / "new").below("glance", b"/a") == ROWS
    assert one.get("glance", b"/a/7") == ("s7", b"told 7")
    assert one.below("tokens", b"/a") == {}
    assert (os.stat(one.path.parent).st_mode & 0o777, os.stat(one.path).st_mode & 0o777) == (0o700, 0o600)


def test_below(tmp_path: Path) -> None:
    """A folder's own, none of a folder whose name begins alike; a file by its name; all of /."""
    one = Index(tmp_path)
    paths = [b"/a", b"/a/1", b"/a/\xff\n", b"/a.b", b"/a0", b"/ab/1", b"/b"]
    one.put("k", {path: ("s", b"") for path in paths})
    assert sorted(one.below("k", b"/a")) == [b"/a", b"/a/1", b"/a/\xff\n"]
    assert sorted(one.below("k", b"/a/1")) == [b"/a/1"]
    assert sorted(one.below("k", b"/")) == sorted(paths)


def test_replaces_and_forgets(tmp_path: Path) -> None:
    """A newer row counts; what is gone goes in all its kinds; of others some are looked at."""
    one = Index(tmp_path)
    one.put("k", {b"/a": ("1", b"x"), b"/b": ("1", b"x")})
    one.put("other", {b"/a": ("1", b"x")})
    one.put("k", {b"/b": ("2", b"y")}, [b"/a"])
    assert one.below("k", b"/") == {b"/b": ("2", b"y")} and one.below("other", b"/") == {}
    here = os.fsencode(tmp_path)
    one.put("k", {here: ("1", b"")}, sample=10)
    assert one.below("k", b"/") == {here: ("1", b"")}


DAMAGE = [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 5000]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged(tmp_path: Path, damage: bytes) -> None:
    """It is made anew."""
    one = Index(tmp_path)
    one.put("k", ROWS)
    one.path.write_bytes(damage)
    assert one.below("k", b"/") == {}
    one.put("k", ROWS)
    assert one.below("k", b"/") == ROWS


def test_damaged_in_the_middle(tmp_path: Path) -> None:
    """Wherever it is cut or overwritten."""
    for at in range(0, 40000, 1717):
        one = Index(tmp_path)
        one.put("k", {path: (known, told * 20) for path, (known, told) in ROWS.items()})
        with one.path.open("r+b") as file:
            file.seek(at)
            file.write(b"\xa5" * 900)
        one.below("k", b"/")
        one.put("k", ROWS)
        assert one.below("k", b"/").items() >= ROWS.items()
        one.remove()


def test_foreign(tmp_path: Path) -> None:
    """A database of another program, a table of another shape, a link: none of them is used."""
    one = Index(tmp_path)
    with sqlite3.connect(one.path) as db:
        db.execute("CREATE TABLE kept (mine TEXT)")
    db.close()
    assert one.below("k", b"/") == {}
    one.put("k", ROWS)
    assert one.below("k", b"/") == ROWS
    with sqlite3.connect(one.path) as db:
        db.execute("DROP TABLE kept")
        db.execute("CREATE TABLE kept (mine TEXT)")
    db.close()
    assert one.below("k", b"/") == {}
    one.put("k", ROWS)
    assert one.below("k", b"/") == ROWS
    one.remove()
    other = tmp_path / "other"
    other.write_bytes(b"precious")
    one.path.symlink_to(other)
    one.put("k", ROWS)
    assert other.read_bytes() == b"precious" and one.below("k", b"/") == ROWS and not one.path.is_symlink()


def test_rows_of_other_types(tmp_path: Path) -> None:
    """Are passed over."""
    one = Index(tmp_path)
    one.put("k", {b"/a": ("1", b"x")})
    with sqlite3.connect(one.path) as db:
        db.execute("INSERT INTO kept VALUES ('k', '/text', 's', x'00'), ('k', x'2f62', 7, 8)")
    db.close()
    assert one.below("k", b"/") == {b"/a": ("1", b"x")} and one.get("k", b"/b") is None


def test_a_row_that_was_changed(tmp_path: Path) -> None:
    """Is none, however well it reads."""
    one = Index(tmp_path)
    one.put("k", {b"/a": ("1", b"clean"), b"/b": ("1", b"clean")})
    one.path.write_bytes(one.path.read_bytes().replace(b"clean", b"wrong", 1))
    assert len(one.below("k", b"/")) == 1


def test_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer at work: nothing is known, nothing is lost."""
    monkeypatch.setattr(index, "PATIENCE", 0.01)
    one = Index(tmp_path)
    one.put("k", {b"/a": ("1", b"x")})
    other = sqlite3.connect(one.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert one.below("k", b"/") == {}
    one.put("k", {b"/b": ("1", b"x")})
    other.execute("COMMIT")
    other.close()
    assert one.below("k", b"/") == {b"/a": ("1", b"x")}


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its largest size on it begins again."""
    one = Index(tmp_path)
    one.put("k", ROWS)
    monkeypatch.setattr(index, "LARGEST", 1000)
    one.put("k", {b"/new": ("1", b"")})
    monkeypatch.undo()
    assert one.below("k", b"/") == {b"/new": ("1", b"")}


def test_no_folder(tmp_path: Path) -> None:
    """A file in the folder's place, a folder in the file's: nothing is kept, nothing fails."""
    (tmp_path / "file").write_text("x")
    one = Index(tmp_path / "file")
    one.put("k", ROWS)
    assert one.below("k", b"/") == {}
    other = Index(tmp_path)
    other.path.mkdir()
    other.put("k", ROWS)
    assert other.below("k", b"/") == {}


def test_a_stamp_holds_all_that_counts(tmp_path: Path) -> None:
    """Size, times, which file it is, and what else was given."""
    path = tmp_path / "a"
    path.write_bytes(b"1")
    first = stamp(path.stat(), "chat")
    assert stamp(path.stat(), "chat") == first != stamp(path.stat(), "codex")
    other = tmp_path / "b"
    other.write_bytes(b"2")
    os.utime(other, ns=(1, path.stat().st_mtime_ns))
    assert stamp(other.stat(), "chat") != first


def _put(folder: str, start: int) -> None:
    for n in range(start, start + 50):
        Index(Path(folder)).put("k", {b"/%d" % n: ("1", b"x")}, sample=0)


def test_several_writers(tmp_path: Path) -> None:
    """Nothing of anybody's is lost."""
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(_put, [str(tmp_path)] * 4, range(0, 200, 50)))
    assert len(Index(tmp_path).below("k", b"/")) == 200
