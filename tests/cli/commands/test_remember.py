"""remember: only these stay."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import ctxkit, good, lines, message, ops, shown, small


def test_words(tmp_path: Path) -> None:
    """What stays and what goes, in numbers; the system's stays."""
    path = small(tmp_path)
    ran = good("remember", path, "6-8")
    assert ran.said.endswith("Kept 4 messages; everything else (7 messages) is forgotten.\n")
    assert shown(path) == [1, 6, 7, 8]
    assert ops(path)[0]["ids"] == "2-5,9-11"


def test_later_messages_stay(tmp_path: Path) -> None:
    """It is about what there was."""
    path = small(tmp_path)
    good("remember", path, "6")
    path.write_bytes(path.read_bytes() + lines(message("user", "new", 30)))
    assert shown(path) == [1, 6, 12]


def test_protected_stay(tmp_path: Path) -> None:
    """Protection holds against it."""
    path = small(tmp_path)
    good("protect", path, "3")
    good("remember", path, "9")
    assert shown(path) == [1, 3, 4, 9]


def test_nothing_to_leave(tmp_path: Path) -> None:
    """All of it: exit 1, nothing appended."""
    path = small(tmp_path)
    before = path.read_bytes()
    assert ctxkit("remember", path, "1-").code == 1 and path.read_bytes() == before
    good("remember", path, "9")
    assert ctxkit("remember", path, "9").code == 1


def test_planning(tmp_path: Path) -> None:
    """The conversation about it may be named here too."""
    path = small(tmp_path)
    good("remember", path, "2-9", "--planning", "9")
    assert shown(path) == [1, 2, 3, 4, 5, 6, 7, 8]
