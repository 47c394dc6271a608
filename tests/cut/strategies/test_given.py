"""given: somebody's words."""

from __future__ import annotations

from ctxkit.cut.strategies.given import STRATEGY
from tests.cut.test_compact_plan import condensing, opened
from tests.cut.test_trim import run


def test_the_words_as_they_are() -> None:
    """Under a line that says of which messages they are; nothing else is shortened."""
    made = condensing(opened(run()), strategy="given", text=" all is well \n").carry_out()
    assert made.op.text == f"[Summary of messages {made.op.ids}]\n\nall is well"
    assert not made.op.stubs and not STRATEGY.shortens and STRATEGY.by_others
