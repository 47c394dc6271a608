"""Heads of records, whatever shape they have."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ctxkit.formats.heads import head, listed, value


class Sample(msgspec.Struct):
    """Two fields, one of them undecoded, one under another name."""

    id: Any = None
    body: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="$body")


@pytest.mark.parametrize(
    ("raw", "identity", "body"),
    [
        (b'{"id":"a","$body":[1]}', "a", b"[1]"),
        (b'{"id":"a","$body":[NaN]}', "a", b"[NaN]"),
        (b'{"id":"\x01"}', "\x01", b""),
        (b"{}", None, b""),
        (b"3", None, b""),
        (b"", None, b""),
        (b'{"id":', None, b""),
    ],
)
def test_head(raw: bytes, identity: object, body: bytes) -> None:
    """The fields that are there; what only the tolerant decoder reads too; else empty ones."""
    found = head(msgspec.Raw(raw), Sample)
    assert (found.id, bytes(found.body)) == (identity, body)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b'[{"a":1}, 2, {"b":[NaN]}]', [b'{"a":1}', b'{"b":[NaN]}']), (b"{}", []), (b"", []), (b'[{"a":1}', [])],
)
def test_listed(raw: bytes, expected: list[bytes]) -> None:
    """The objects of an array; none of anything else."""
    assert listed(raw) == expected


def test_value() -> None:
    """None for what is no JSON."""
    assert (value(b'{"a":1}'), value(b"{"), value(b"")) == ({"a": 1}, None, None)
