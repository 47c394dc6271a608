"""How a summary is told on one line."""

from __future__ import annotations

import io
import re

import pytest

from ctxkit import Log
from ctxkit.cli.terminal.summary_view import contents, line
from tests import build
from tests.cut.test_trim import run


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[Summary of messages 2-4]\n\nWe  fixed\nit.", "We fixed it."),
        ("[Summary of messages 2-4]\n\n" + "word " * 20, "word " * 11 + "word…"),
        ("[messages 2-4 left out]", ""),
        ("", ""),
    ],
)
def test_contents(text: str, words: str) -> None:
    """Where it lists nothing: how it begins."""
    assert contents(text) == words


def test_what_is_listed() -> None:
    """Of a summary by rules: how many of each, one in one word."""
    log = Log.open(io.BytesIO(run(9)), env={})
    log.compact(target=60, keep_steps=1)
    [item] = log.state().board.items.values()
    told = line(log.state(), item)
    head, _, listed = told.partition(": ")
    assert head == "summary of 3-18 (extract)" and "8 commands" in listed.split(", ")
    assert re.search(r"\b\d+ messages? quoted\b", listed)


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
