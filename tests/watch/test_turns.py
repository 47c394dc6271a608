"""Whose turn it is."""

from __future__ import annotations

import pytest

from ctxkit.core.messages import Message
from ctxkit.watch.turns import Turns

ASKED = Message(1, 0, 0, "user", opens=True)
SAID = Message(2, 0, 0, "assistant")
CALLED = Message(3, 0, 0, "assistant", calls=("a", "b"), tools=("Read", "Bash"))
ONE = Message(4, 0, 0, "tool", results=("a",))
NOTED = Message(6, 0, 0, "user")
BOTH = Message(5, 0, 0, "user", results=("a", "b"))


@pytest.mark.parametrize(
    ("messages", "waits", "tools"),
    [
        ((), "", []),
        ((ASKED,), "model", []),
        ((ASKED, SAID), "user", []),
        ((ASKED, CALLED), "tool", ["Read", "Bash"]),
        ((ASKED, CALLED, ONE), "tool", ["Bash"]),
        ((ASKED, CALLED, BOTH), "model", []),
        ((ASKED, CALLED, BOTH, SAID), "user", []),
        ((ASKED, CALLED, ASKED), "model", []),  # the user went on: nobody answers those calls any more
        ((ASKED, SAID, NOTED), "user", []),  # a notice of a program asks for nothing
        ((ASKED, NOTED), "model", []),
        ((ASKED, CALLED, BOTH, NOTED), "model", []),
    ],
)
def test_whose_turn(messages: tuple[Message, ...], waits: str, tools: list[str]) -> None:
    """The newest messages tell who is waited for; a call without a result comes first."""
    turns = Turns()
    for message in messages:
        turns.take([message])
    assert (turns.waits_for, turns.tools) == (waits, tools)


FIRST, SECOND = Message(1, 10, 0, "user", opens=True), Message(3, 30, 0, "user", opens=True)


@pytest.mark.parametrize(
    ("messages", "ended"),
    [
        ((), None),
        ((FIRST,), None),
        ((FIRST, SAID), 10),
        ((FIRST, CALLED), None),
        ((FIRST, CALLED, BOTH), None),
        ((FIRST, SAID, SECOND), 10),
        ((FIRST, CALLED, SECOND), 10),  # left by its user
        ((FIRST, SECOND), None),  # nobody spoke in it
        ((FIRST, SAID, SECOND, SAID), 30),
        ((SAID,), -1),
    ],
)
def test_the_last_exchange_that_ended(messages: tuple[Message, ...], ended: int | None) -> None:
    """Whether its end and the next beginning are read at once or one by one."""
    at_once, turns = Turns(), Turns()
    at_once.take(messages)
    for message in messages:
        turns.take([message])
    assert at_once.ended == turns.ended == ended
