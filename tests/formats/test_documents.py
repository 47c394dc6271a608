"""Session documents: which objects are one, and how they are laid out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.formats import containers, documents

GEMINI = {"sessionId": "s", "projectHash": "p", "messages": [{"type": "user", "content": "a"}]}


@pytest.mark.parametrize("indent", [None, 4])
def test_lines(indent: int | None) -> None:
    """The header without its messages, then each message on one line, as it is written."""
    found = containers.find(json.dumps(GEMINI, indent=indent).encode())
    assert found is not None
    name, lines = found.conversations[0].format, containers.lay_out(found.conversations[0].records, b"").splitlines()
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
    found = containers.find(json.dumps(value).encode())
    assert found is None or found.conversations[0].format not in ("gemini-cli", "opencode")


def test_what_only_the_tolerant_decoder_reads() -> None:
    """NaN, and a number that is too long, end nothing."""
    raw = json.dumps(GEMINI | {"x": [float("nan"), 10**400]}).encode()
    found = containers.find(raw)
    assert found is not None
    assert found.conversations[0].format == "gemini-cli"


def test_messages_go_on_as_they_are() -> None:
    """The object is looked at but for them."""
    message = b'{"type":  "user"}'
    head = b'{"sessionId": "s", "projectHash": "p", "document": true}'
    assert documents.lay_out(b'{"sessionId":"s","messages":[],"projectHash":"p"}', [message]) == (
        "gemini-cli",
        [head, message],
    )
    assert documents.lay_out(b'{"sessionId":"s"}', [message]) is None
    assert documents.lay_out(b'{"sessionId":"s","projectHash":"p"}', None) is None
