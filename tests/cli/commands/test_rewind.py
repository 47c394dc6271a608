"""rewind: back to a mark."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import SMALL, ctxkit, good, lines, message, ops, shown, small

LATER = lines(message("user", "later", 20), message("assistant", "yes", 21))


def test_words(tmp_path: Path) -> None:
    """The exact words of the design; what came after the mark is gone, and stays in the log."""
    path = small(tmp_path, marks=["a"])
    path.write_bytes(path.read_bytes() + LATER)
    assert good("rewind", path).said == "Rewound to last checkpoint.\n"
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


def test_a_mark_that_cannot_be_reached_says_why(tmp_path: Path) -> None:
    """The true reason is named: there is none, it was undone, or an op ended it."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    good("mark", path, "one")
    good("undo", path)
    assert ctxkit("rewind", path, "one").err.startswith(
        "ctxkit: the mark 'one' (op 1) cannot be reached: undone by op 2:"
    )
    good("mark", path, "two")
    good("clear", path)
    assert (
        "the mark 'two' (op 3) cannot be reached: ended by clear 4: nothing was changed"
        in ctxkit("rewind", path, "two").err
    )
    assert ctxkit("rewind", path, "three").err.startswith("ctxkit: no mark 'three': nothing was changed")


def test_nothing_to_accept(tmp_path: Path) -> None:
    """`check --accept` of a log without a break says that."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    good("mark", path, "one")
    assert "there is no break of the chain to accept: nothing was changed\n" in good("check", path, "--accept").err
