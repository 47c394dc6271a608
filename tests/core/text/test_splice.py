"""Splicing: one value changes, no other byte."""

from __future__ import annotations

import json

import pytest

from ctxkit.core.text.splice import find, spliced


@pytest.mark.parametrize(
    ("raw", "path", "new", "made"),
    [
        (b'{"a":1,"b":"x"}', ("b",), b'"y"', b'{"a":1,"b":"y"}'),
        (b'{ "a" : null , "b":2.50 }', ("a",), b'"y"', b'{ "a" : "y" , "b":2.50 }'),
        (b'{"d":{"a":"in"},"a":"out"}', ("a",), b'"y"', b'{"d":{"a":"in"},"a":"y"}'),
        (b'{"d":{"a":"in"},"a":"out"}', ("d", "a"), b'"y"', b'{"d":{"a":"y"},"a":"out"}'),
        (b'{"d":[{"a":1},[2]],"a":[1,{"a":2}]}', ("a",), b"0", b'{"d":[{"a":1},[2]],"a":0}'),
        (b'{"d":[{"a":1},[2]],"a":{}}', ("d",), b"[]", b'{"d":[],"a":{}}'),
        (b'{"t":"say \\"a\\":\\"no\\"","a":"x"}', ("a",), b'"y"', b'{"t":"say \\"a\\":\\"no\\"","a":"y"}'),
        (b'{"t":"\\\\","a":"x"}', ("a",), b'"y"', b'{"t":"\\\\","a":"y"}'),
        (b'{"a":1,"a":2}', ("a",), b"3", b'{"a":1,"a":3}'),
        (b'{"a":"\xc3\xa9 \\u00e9","b":true}', ("b",), b"false", b'{"a":"\xc3\xa9 \\u00e9","b":false}'),
    ],
)
def test_one_value(raw: bytes, path: tuple[str, ...], new: bytes, made: bytes) -> None:
    """At any depth, of any kind, whatever texts and spaces are around it."""
    assert spliced(raw, {path: new}) == made
    json.loads(made)


def test_several() -> None:
    """Places do not move each other."""
    assert spliced(b'{"a":1,"b":{"c":2},"d":"x"}', {("d",): b"4", ("a",): b"22", ("b", "c"): b"{}"}) == (
        b'{"a":22,"b":{"c":{}},"d":4}'
    )


def test_not_there() -> None:
    """A place that is not there is an error; `find` leaves it out."""
    with pytest.raises(KeyError):
        spliced(b'{"a":1}', {("b",): b"1"})
    assert find(b'{"a":{"b":7}}', [("a",), ("b",), ("a", "b")]) == {("a",): (5, 12), ("a", "b"): (10, 11)}
