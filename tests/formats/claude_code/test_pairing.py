"""Calls and results side by side."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Repairs
from ctxkit.formats.claude_code.pairing import LOST, NO_CONTENT, NO_RESULT, MessageToSend, pair
from tests.formats.claude_code.logs import call, result

X = {"type": "text", "text": "x"}


def made(key: str, words: str) -> dict[str, Any]:
    """A made result."""
    return {**result(key, words), "is_error": True}


CASES: dict[str, tuple[list[MessageToSend], list[MessageToSend]]] = {
    "a pair stays": (
        [MessageToSend("assistant", [call("A")]), MessageToSend("user", [result("A"), X])],
        [MessageToSend("assistant", [call("A")]), MessageToSend("user", [result("A"), X])],
    ),
    "a lost result is made up before the words that follow": (
        [MessageToSend("assistant", [call("A")]), MessageToSend("user", [X])],
        [MessageToSend("assistant", [call("A")]), MessageToSend("user", [made("A", LOST), X])],
    ),
    "one that the log has elsewhere is said to be taken": (
        [MessageToSend("assistant", [call("TAKEN")])],
        [MessageToSend("assistant", [call("TAKEN")]), MessageToSend("user", [made("TAKEN", NO_RESULT)])],
    ),
    "between two answers a message is put": (
        [MessageToSend("assistant", [call("A")]), MessageToSend("assistant", [X])],
        [
            MessageToSend("assistant", [call("A")]),
            MessageToSend("user", [made("A", LOST)]),
            MessageToSend("assistant", [X]),
        ],
    ),
    "a result before its call moves behind it": (
        [MessageToSend("user", [result("A")]), MessageToSend("assistant", [call("A")])],
        [MessageToSend("assistant", [call("A")]), MessageToSend("user", [result("A")])],
    ),
    "a message of orphans says that it has no content": (
        [MessageToSend("user", [result("X")]), MessageToSend("assistant", [X])],
        [MessageToSend("user", [{"type": "text", "text": NO_CONTENT}]), MessageToSend("assistant", [X])],
    ),
    "the first of two results counts": (
        [MessageToSend("assistant", [call("A")]), MessageToSend("user", [result("A", "first"), result("A", "second")])],
        [MessageToSend("assistant", [call("A")]), MessageToSend("user", [result("A", "first")])],
    ),
    "a call with a known id is dropped": (
        [
            MessageToSend("assistant", [call("A")]),
            MessageToSend("user", [result("A")]),
            MessageToSend("assistant", [X, call("A")]),
        ],
        [
            MessageToSend("assistant", [call("A")]),
            MessageToSend("user", [result("A")]),
            MessageToSend("assistant", [X]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_pairs(name: str) -> None:
    """Messages before and after."""
    assert pair(CASES[name][0], frozenset({"TAKEN"}), Repairs(left_out={})) == CASES[name][1]


def test_counts() -> None:
    """Made, dropped, repeated and emptied: each in its place in the report."""
    repairs = Repairs(left_out={})
    messages = [
        MessageToSend("user", [result("X")]),
        MessageToSend("assistant", [call("A"), call("A")]),
        MessageToSend("assistant", [call("B")]),
        MessageToSend("user", [result("B"), result("B")]),
    ]
    pair(messages, frozenset(), repairs)
    left_out = {"repeated call": 1, "repeated result": 1, "content of an empty message": 1}
    assert repairs == Repairs(1, 1, left_out)
