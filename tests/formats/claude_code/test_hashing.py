"""The hash of a message: what JavaScript writes with sorted keys, and what is no part of it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from ctxkit.formats.claude_code.hashing import LOOSE, message_hash, number, value_hash


def sha(text: str) -> str:
    """The hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-2.25, "-2.25"), (100, "100"), (1e20, "100000000000000000000"),
        (1e21, "1e+21"), (-1.5e22, "-1.5e+22"), (1e-6, "0.000001"), (1e-7, "1e-7"), (1.25e-9, "1.25e-9"),
        (12345678901234567890, "12345678901234567000"), (2**53 - 1, "9007199254740991"), (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"), (0.1, "0.1"), (123456.789, "123456.789"),
        (10**400, "null"), (float("inf"), "null"), (float("nan"), "null"),
    ],
)  # fmt: skip
def test_numbers(value: float, written: str) -> None:
    """One kind of number, 64 bits, in JavaScript's words."""
    assert number(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": [1, {}], "a": None, "c": [True, False, []]}, '{"a":null,"b":[1,{}],"c":[true,false,[]]}'),
        ({"cache_control": {"type": "ephemeral"}, "a": [{"cache_control": 1}]}, '{"a":[{}]}'),
        ({LOOSE: True}, "{}"),
        ({"\uffff": 1, "\U0001f600": 2, "é": 3}, '{"é":3,"\U0001f600":2,"\uffff":1}'),
        ('"\\/\n\x07\u2028\x7fé', '"\\"\\\\/\\n\\u0007\u2028\x7fé"'),
        ("\ud83d!", '"\\ud83d!"'),
    ],
)
def test_values(value: Any, written: str) -> None:
    """Keys by UTF-16, no spaces, characters as they are, half a pair escaped, no cache_control at any depth."""
    assert value_hash(value) == sha(written)


def test_messages() -> None:
    """A string is a list of one text block."""
    written = '{"content":[{"text":"go","type":"text"}],"role":"user"}'
    assert message_hash({"role": "user", "content": "go"}) == sha(written)
    assert message_hash({"content": [{"type": "text", "text": "go"}], "role": "user"}) == sha(written)
