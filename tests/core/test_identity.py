"""The identity of a message: what makes it itself, and what does not."""

from __future__ import annotations

import hashlib

import pytest

from ctxkit.core.identity import identity
from ctxkit.core.messages import Call, Content, Image, Message, Other, Part, Result, Text, Thinking

MESSAGE = Message(1, 0, 0, "user")


@pytest.mark.parametrize(
    ("part", "canonical"),
    [
        (Text("hé"), '["user","hé"]'),
        (Thinking("hm", {"signature": "s"}), '["user","hm"]'),
        (Call("c1", "read", {"path": "x"}), '["user",["read","c1"]]'),
        (Result("c1", "out"), '["user",["result","c1"]]'),
        (Image("image/png", "AAAA"), '["user",["image","image/png"]]'),
        (Other("refusal", {"type": "refusal"}), '["user",["refusal"]]'),
    ],
)
def test_first_part(part: Part, canonical: str) -> None:
    """Role and first part, as canonical JSON; what follows in the message later does not change it."""
    expected = hashlib.sha256(canonical.encode()).hexdigest()[:12]
    assert identity(MESSAGE, Content("user", [part])) == expected
    assert identity(MESSAGE, Content("user", [part, Text("later")])) == expected


def test_own_id_and_nothing() -> None:
    """The format's own id where there is one; an empty message has an identity too."""
    assert identity(Message(1, 0, 0, "user", key="u-1"), Content("user", [])) == "u-1"
    assert identity(MESSAGE, Content("user", [])) == hashlib.sha256(b'["user",null]').hexdigest()[:12]
