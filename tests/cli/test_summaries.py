"""How a summary is told on one line."""

from __future__ import annotations

import pytest

from ctxkit.cli.summaries import contents, line
from tests import build

EXTRACTED = (
    "[messages 2-4 in short]\n\nFiles edited:\na.py #2\n\nCommands:\n#3 make\n#4 make x\n\nMessages:\n#2 user:\nhi"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (EXTRACTED, "1 file edited, 2 commands, 1 message quoted"),
        ("[Summary of messages 2-4]\n\nWe  fixed\nit.", "We fixed it."),
        ("[Summary of messages 2-4]\n\n" + "word " * 20, "word " * 11 + "word…"),
        ("[messages 2-4 left out]", ""),
        ("", ""),
    ],
)
def test_contents(text: str, words: str) -> None:
    """What it lists, else how it begins."""
    assert contents(text) == words


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("1-5 | compact 2-4 text=s strategy=truncate", "summary of 2-4 (truncate)"),
        ("1-5 | compact 2-4 text=s", "summary of 2-4"),
    ],
)
def test_line(spec: str, words: str) -> None:
    """What it tells, and by which strategy."""
    state = build.state(spec)
    [item] = state.board.telling.values()
    assert line(state, item) == words
