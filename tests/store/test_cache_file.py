"""A file of the user's cache, as the index uses it; whatever happens to it, the work goes on."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from ctxkit.store.index import Index, Row

ROWS: dict[bytes, Row] = {b"/a/%d" % n: (f"s{n}", b"told %d" % n) for n in range(300)}

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


def test_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer at work: nothing is known, nothing is lost."""
    monkeypatch.setattr(Index, "patience", 0.01)
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
    monkeypatch.setattr(Index, "largest", 1000)
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


def _put(folder: str, start: int) -> None:
    for n in range(start, start + 50):
        Index(Path(folder)).put("k", {b"/%d" % n: ("1", b"x")}, sample=0)


def test_several_writers(tmp_path: Path) -> None:
    """Nothing of anybody's is lost."""
    with ProcessPoolExecutor(4) as pool:
        list(pool.map(_put, [str(tmp_path)] * 4, range(0, 200, 50)))
    assert len(Index(tmp_path).below("k", b"/")) == 200
