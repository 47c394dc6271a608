"""clear: start afresh."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import ctxkit, good, lines, message, ops, shown, small


def test_words(tmp_path: Path) -> None:
    """The exact words of the design; the preamble stays; what comes later is there."""
    path = small(tmp_path, marks=["a"])
    assert good("clear", path).said == "Context cleared. Starting fresh.\n"
    assert shown(path) == [1]
    path.write_bytes(path.read_bytes() + lines(message("user", "new", 30)))
    assert shown(path) == [1, 12]


def test_again(tmp_path: Path) -> None:
    """Clear already: exit 0, nothing appended."""
    path = small(tmp_path)
    good("clear", path)
    before = path.read_bytes()
    assert "nothing appended" in good("clear", path).err
    assert path.read_bytes() == before


def test_keep_protected(tmp_path: Path) -> None:
    """With their steps."""
    path = small(tmp_path)
    good("protect", path, "4")
    good("clear", path, "--keep-protected")
    assert shown(path) == [1, 3, 4] and ops(path)[-1]["keep"] == "3-4"
    good("clear", path)
    assert shown(path) == [1]


def test_agent(tmp_path: Path) -> None:
    """One agent's messages in all its threads; marks stay; an unknown agent is an error."""
    path = small(tmp_path, marks=["a"])
    more = [message("user", "x", 20, agent="sam", thread=t) for t in ("1", "2")] + [
        message("user", "y", 21, agent="bo")
    ]
    path.write_bytes(path.read_bytes() + lines(*more))
    good("clear", path, "--agent", "sam")
    assert shown(path) == [*range(1, 12), 14]
    good("rewind", path, "a")
    ran = ctxkit("clear", path, "--agent", "Sam")
    assert ran.code == 1 and "it has bo, sam" in ran.err


def test_undo(tmp_path: Path) -> None:
    """Nothing is lost."""
    path = small(tmp_path)
    good("clear", path)
    good("undo", path)
    assert shown(path) == list(range(1, 12))
