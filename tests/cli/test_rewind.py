"""rewind: back to a mark."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import ctxkit, good, lines, message, ops, shown, small

LATER = lines(message("user", "later", 20), message("assistant", "yes", 21))


def test_words(tmp_path: Path) -> None:
    """The exact words of the design; what came after the mark is gone, and stays in the log."""
    path = small(tmp_path, marks=["a"])
    path.write_bytes(path.read_bytes() + LATER)
    assert good("rewind", path).err == "Rewound to last checkpoint.\n"
    assert shown(path) == list(range(1, 12))
    assert LATER in path.read_bytes()
    assert (ops(path)[-1]["before"], ops(path)[-1]["after"]) == ({"messages": 13}, {"messages": 11})


def test_again(tmp_path: Path) -> None:
    """A second rewind lands on the same place: exit 0, nothing appended."""
    path = small(tmp_path, marks=["a"])
    path.write_bytes(path.read_bytes() + LATER)
    good("rewind", path)
    before = path.read_bytes()
    assert "Already" in good("rewind", path).err
    assert path.read_bytes() == before


def test_newest_of_the_label(tmp_path: Path) -> None:
    """Labels are case-sensitive; later marks go with the messages."""
    path = small(tmp_path, marks=["a"])
    path.write_bytes(path.read_bytes() + LATER)
    good("mark", path, "A")
    path.write_bytes(path.read_bytes() + lines(message("user", "last", 22)))
    good("rewind", path, "A")
    assert shown(path)[-1] == 13
    good("rewind", path, "a")
    assert shown(path)[-1] == 11
    ran = ctxkit("rewind", path, "A")
    assert ran.code == 1 and "marks that can be reached: 'a'" in ran.err


def test_after_a_clear(tmp_path: Path) -> None:
    """A mark before a boundary cannot be reached."""
    path = small(tmp_path, marks=["a"])
    good("clear", path)
    before = path.read_bytes()
    for words in ([], ["a"]):
        assert ctxkit("rewind", path, *words).code == 1
    assert path.read_bytes() == before


def test_undo(tmp_path: Path) -> None:
    """A rewind can be taken back."""
    path = small(tmp_path, marks=["a"])
    path.write_bytes(path.read_bytes() + LATER)
    good("rewind", path)
    good("undo", path)
    assert shown(path) == list(range(1, 14))
