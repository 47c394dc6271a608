"""Calls and results side by side."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Repairs
from ctxkit.formats.claude_code.pairing import LOST, NO_CONTENT, NO_RESULT, Sent, pair
from tests.formats.claude_code.logs import call, result

X = {"type": "text", "text": "x"}


def made(key: str, words: str) -> dict[str, Any]:
    """A made result."""
    return {**result(key, words), "is_error": True}


CASES: dict[str, tuple[list[Sent], list[Sent]]] = {
    "a pair stays": (
        [Sent("assistant", [call("A")]), Sent("user", [result("A"), X])],
        [Sent("assistant", [call("A")]), Sent("user", [result("A"), X])],
    ),
    "a lost result is made up before the words that follow": (
        [Sent("assistant", [call("A")]), Sent("user", [X])],
        [Sent("assistant", [call("A")]), Sent("user", [made("A", LOST), X])],
    ),
    "one that the log has elsewhere is said to be taken": (
        [Sent("assistant", [call("TAKEN")])],
        [Sent("assistant", [call("TAKEN")]), Sent("user", [made("TAKEN", NO_RESULT)])],
    ),
    "between two answers a message is put": (
        [Sent("assistant", [call("A")]), Sent("assistant", [X])],
        [Sent("assistant", [call("A")]), Sent("user", [made("A", LOST)]), Sent("assistant", [X])],
    ),
    "a result before its call moves behind it": (
        [Sent("user", [result("A")]), Sent("assistant", [call("A")])],
        [Sent("assistant", [call("A")]), Sent("user", [result("A")])],
    ),
    "a message of orphans says that it has no content": (
        [Sent("user", [result("X")]), Sent("assistant", [X])],
        [Sent("user", [{"type": "text", "text": NO_CONTENT}]), Sent("assistant", [X])],
    ),
    "the first of two results counts": (
        [Sent("assistant", [call("A")]), Sent("user", [result("A", "first"), result("A", "second")])],
        [Sent("assistant", [call("A")]), Sent("user", [result("A", "first")])],
    ),
    "a call with a known id is dropped": (
        [Sent("assistant", [call("A")]), Sent("user", [result("A")]), Sent("assistant", [X, call("A")])],
        [Sent("assistant", [call("A")]), Sent("user", [result("A")]), Sent("assistant", [X])],
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
        Sent("user", [result("X")]),
        Sent("assistant", [call("A"), call("A")]),
        Sent("assistant", [call("B")]),
        Sent("user", [result("B"), result("B")]),
    ]
    pair(messages, frozenset(), repairs)
    left_out = {"repeated call": 1, "repeated result": 1, "content of an empty message": 1}
    assert repairs == Repairs(1, 1, left_out)
