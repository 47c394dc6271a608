"""mark: a point to come back to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import good, ops, shown, small


def test_words(tmp_path: Path) -> None:
    """The exact words of the design; the label is in the op, as typed; without one there is none."""
    path = small(tmp_path)
    assert good("mark", path).err == "Checkpoint created.\n"
    assert "label" not in ops(path)[-1]
    assert shown(path) == list(range(1, 12))


@pytest.mark.parametrize("label", ["a", "A", "two words", "-", "7", "é", "\x1b[31m", "new\nline", "", "a" * 5000])
def test_labels_are_verbatim(tmp_path: Path, label: str) -> None:
    """Any text is a label, and a rewind finds it again."""
    path = small(tmp_path)
    good("mark", path, label)
    assert ops(path)[-1]["label"] == label
    good("rewind", path, label)


def test_marks_repeat(tmp_path: Path) -> None:
    """The same label twice: two marks."""
    path = small(tmp_path, marks=["a", "a"])
    assert [op["label"] for op in ops(path)] == ["a", "a"]


def test_by(tmp_path: Path) -> None:
    """The op holds the command line as given."""
    path = small(tmp_path, marks=["a"])
    assert ops(path)[0]["by"]["args"] == ["mark", str(path), "a"]
