"""Session documents: which objects are one, and how they are laid out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.formats import documents

GEMINI = {"sessionId": "s", "projectHash": "p", "messages": [{"type": "user", "content": "a"}]}


@pytest.mark.parametrize("indent", [None, 4])
def test_lines(indent: int | None) -> None:
    """The header without its messages, then each message on one line, as it is written."""
    found = documents.lay_out(json.dumps(GEMINI, indent=indent).encode())
    assert found is not None
    name, lines = found
    assert name == "gemini-cli"
    assert [json.loads(line) for line in lines] == [
        {"sessionId": "s", "projectHash": "p", "document": True},
        {"type": "user", "content": "a"},
    ]
    assert not any(b"\n" in line for line in lines)


@pytest.mark.parametrize(
    "value",
    [
        3, [], {}, {"sessionId": "s"}, {"sessionId": "s", "messages": 3},
        {"sessionId": 3, "messages": [{"type": "user"}]}, {"sessionId": "s", "messages": [{"type": "other"}]},
        {"sessionId": "s", "messages": []},
        {"sessionId": "s", "messages": [{"type": "user"}]},
    ],
)  # fmt: skip
def test_what_is_none(value: Any) -> None:
    """Other objects are left to others."""
    assert documents.lay_out(json.dumps(value).encode()) is None


def test_what_only_the_tolerant_decoder_reads() -> None:
    """NaN, and a number that is too long, end nothing."""
    raw = json.dumps(GEMINI | {"x": [float("nan"), 10**400]}).encode()
    assert documents.lay_out(raw) is not None
