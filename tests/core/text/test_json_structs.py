"""Structs of decoded JSON are those that msgspec makes of the JSON itself."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ctxkit.core.text.json_structs import NoList, NoObject, shaped
from ctxkit.core.text.json_text import loads


class Part(msgspec.Struct):
    """What stands in a list."""

    type: Any = None


class Inner(msgspec.Struct):
    """What stands in a record."""

    parts: list[Part | NoObject] | NoList = None
    body: msgspec.Raw = msgspec.Raw(b"")


class Outer(msgspec.Struct, rename={"inner": "$inner"}):
    """A record."""

    id: Any = None
    inner: Inner | NoObject = None


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"id": "a", "$inner": {"parts": [{"type": "x", "more": 1}, 3, "y", [{}], None], "body": {"z": [1.5]}}},
        {"id": {"a": 1}, "$inner": {"parts": {"type": "x"}}},
        {"$inner": {"parts": "words"}},
        *({"$inner": value} for value in ([{"parts": []}], "x", 1, 1.5, True, None)),
    ],
)
def test_shapes_are_those_of_msgspec(record: dict[str, Any]) -> None:
    """Whatever stands there, it is read, and to the same."""
    assert _told(shaped(record, Outer)) == _told(msgspec.json.decode(json.dumps(record), type=Outer))


def test_what_msgspec_refuses() -> None:
    """Lone surrogates and NaN are kept; absent fields are the very defaults."""
    found = shaped({"$inner": {"body": {"x": "\ud800", "y": float("nan")}}}, Outer)
    assert isinstance(found.inner, Inner)
    assert repr(loads(bytes(found.inner.body))) == repr({"x": "\ud800", "y": float("nan")})
    empty = shaped({"$inner": {}}, Outer).inner
    assert isinstance(empty, Inner)
    assert empty.body is Inner().body


def _told(found: Outer) -> object:
    """All that it holds; what is undecoded by its value."""
    if isinstance(found.inner, Inner):
        return found.id, found.inner.parts, json.loads(bytes(found.inner.body) or "null")
    return found.id, found.inner
