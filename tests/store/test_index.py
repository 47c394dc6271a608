"""The index remembers; whatever happens to it, the work goes on."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

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
