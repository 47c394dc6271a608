"""JSON as agents write it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.text.json_text import canonical, digest, dumps, finite, loads, spelled

TEXT = st.text(st.characters(exclude_categories=[]))  # lone surrogates too
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b'"\\ud800"', "\ud800"),
        (b'"a\tb"', "a\tb"),
        (b'"\xff"', "\udcff"),
        (b"[Infinity]", [math.inf]),
        (b"1" * 5000, "1" * 5000),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b"1.0", 1.0),
    ],
)
def test_loads(raw: bytes, value: Any) -> None:
    """Strict JSON, and what the strict parser rejects but logs hold."""
    assert loads(raw) == value


def test_nan() -> None:
    """NaN is read."""
    assert math.isnan(loads(b"NaN"))


@pytest.mark.parametrize("raw", [b"", b"{", b"{} {}", b"nope", b"[" * 100_000 + b"]" * 100_000])
def test_loads_refuses(raw: bytes) -> None:
    """What is no JSON text is a ValueError, however deep it is nested."""
    with pytest.raises(ValueError):
        loads(raw)


@given(VALUES)
def test_round_trip(value: Any) -> None:
    """What is written is read again, as one line of ASCII."""
    line = dumps(value)
    assert line.isascii()
    assert "\n" not in line
    assert loads(line.encode()) == value


def test_no_nan_is_written() -> None:
    """JSON has none: a line has null for it, and an op with one would have no canonical form."""
    assert dumps({"a": [math.nan, -math.inf, 1.5]}) == '{"a":[null,null,1.5]}'
    with pytest.raises(ValueError):
        canonical(math.nan)


@given(st.dictionaries(TEXT, st.integers()))
def test_canonical_has_one_form(value: dict[str, int]) -> None:
    """The order of keys does not matter."""
    assert canonical(value) == canonical(dict(reversed(value.items())))


def test_canonical_is_as_specified() -> None:
    """Sorted keys, no spaces, UTF-8; the digest is SHA-256 of that."""
    assert canonical({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()
    assert digest(["user", "hi"]) == "fa52f6cb3526"
    assert len(digest({}, 16)) == 16
    assert json.loads(canonical("\u2028")) == "\u2028"


def test_numbers_that_json_does_not_have() -> None:
    """For people they are spelled as the log has them; for machines they are null."""
    value = {"a": [float("inf"), 1.5], "b": float("nan"), "c": True}
    assert spelled(value) == '{"a":[Infinity,1.5],"b":NaN,"c":true}'
    assert finite(value) == {"a": [None, 1.5], "b": None, "c": True}


@pytest.mark.parametrize("where", ["list", "dict", "below"])
def test_a_value_that_contains_itself(where: str) -> None:
    """It is a ValueError, and not copied until the memory is full; the same value twice is none."""
    held: dict[str, Any] = {"a": [1.0]}
    if where == "list":
        held["a"].append(held["a"])
    elif where == "dict":
        held["b"] = held
    else:
        held["b"] = [{"c": [held["a"], held]}]
    with pytest.raises(ValueError, match="contains itself"):
        finite(held)
    with pytest.raises(ValueError, match="contains itself"):
        dumps(held)
    twice = [math.nan]
    assert finite([twice, twice, [twice]]) == [[None], [None], [[None]]]
