"""Naming a state of a log: an op, a mark, now."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import Usage
from ctxkit.explain.revisions import newest_change, side
from tests import build

SPEC = "1-4 | mark one | 5-6 | forget 2 | mark one | 7-8 | mark 2 | mark now | rewind one | 9 | mark start/x | undo @2"


def log(spec: str = SPEC) -> Log:
    """A log in memory."""
    return Log.open(io.BytesIO(build.lines(spec)))


@pytest.mark.parametrize(
    ("word", "title", "size"),
    [
        ("now", "now", 7),
        ("1", "op 1 (mark one)", 4),
        ("a2", "op 2 (forget)", 5),
        ("2", "op 2 (forget)", 5),
        ("2^", "before op 2 (forget)", 6),
        ("mark:2", "op 4 (mark 2)", 7),
        ("mark:now", "op 5 (mark now)", 7),
        ("one", "op 3 (mark one)", 5),
        ("one^", "before op 3 (mark one)", 5),
        ("start/x", "op 7 (mark start/x)", 6),
        ("8", "op 8 (undo)", 7),
    ],
)
def test_names(word: str, title: str, size: int) -> None:
    """The state right after an op, right before it, or now; a number, then an id, goes before a label."""
    found = side(log(), word)
    assert (found.title, len(found.order)) == (title, size)


@pytest.mark.parametrize("word", ["99", "two", "a", "^", "", "mark:", "mark:two", "0"])
def test_no_such_state(word: str) -> None:
    """Neither op nor mark: usage, not 1, which would say that something differs."""
    with pytest.raises(Usage) as error:
        side(log(), word)
    assert "ops" in error.value.hint or "more of the id" in error.value.hint


def test_live_marks_first() -> None:
    """Of two marks with one label the one that a rewind would go to; else the newest."""
    assert side(log("1 | mark x | 2 | mark x | undo @2"), "x").title == "op 1 (mark x)"
    assert side(log("1 | mark x | 2 | mark x | clear"), "x").title == "op 2 (mark x)"


def test_snapshots(tmp_path: Path) -> None:
    """As restore takes them, behind all that reads as an op or a mark; or with snapshot: before it."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(build.lines(SPEC))
    taken = Log.open(path).snapshot("one")
    short, title = taken.id[:8], f"snapshot {taken.id[:8]} (one)"
    assert taken.path is not None
    for word in ("snapshot:one", "latest", "snapshot:latest", taken.id, short, f"snapshot:{short}", str(taken.path)):
        found = side(Log.open(path), word)
        assert (found.title, len(found.order)) == (title, 7)
    assert side(Log.open(path), "one").title == "op 3 (mark one)"
    with pytest.raises(Usage, match="no snapshot"):
        side(Log.open(path), "snapshot:two")


def test_a_snapshot_of_another_log(tmp_path: Path) -> None:
    """It is a log of its own, which no config of this one's folder narrows."""
    path, other = tmp_path / "log.jsonl", tmp_path / "other.jsonl"
    path.write_bytes(build.lines("1-3"))
    other.write_bytes(build.lines("1-3 | 4-5"))
    kept = Log.open(other).snapshot("far")
    (tmp_path / "ctxkit.toml").write_text('window.default = "1h"\n')
    found = side(Log.open(path), str(kept.path))
    assert (found.title, len(found.order), found.kept) == (f"snapshot {kept.id[:8]} (far) of other.jsonl", 5, None)


def test_newest_change() -> None:
    """A mark changes nothing; what was undone is not in force; without ops there is none."""
    assert getattr(newest_change(log("1-4 | forget 2 | mark x")), "number", 0) == 1
    assert getattr(newest_change(log("1-4 | forget 2 | forget 3 | undo @2")), "number", 0) == 3
    assert newest_change(log("1-4")) is None


def test_contents() -> None:
    """Labels, words and tokens of what stands at a place."""
    found = side(log("1-3 | compact 1-2 text=short"))
    assert [found.label(0), found.text(0), found.content(1).role] == ["1.1", "short", "user"]
    assert found.tokens(0, 2) == found.tokens(0, 1) + found.tokens(1, 1) > 0
