"""Messages inside of a line stand where they are found, in strict JSON and in what only tolerant reading takes."""

from __future__ import annotations

import msgspec
import pytest

from ctxkit.formats.embedded_messages import items


@pytest.mark.parametrize("other", [b"1", b"NaN", b'"\x01"', b"1" + b"0" * 5000])
def test_items_where_they_stand(other: bytes) -> None:
    """Each with its offset, whatever else the line holds."""
    listed = b'[{"a": 1}, 7, {"b": [{}]} ]'
    line = b'{"x": ' + other + b', "kept": ' + listed + b"}"
    for raw in (msgspec.Raw(listed), msgspec.Raw(b'[{"otherwise":1}]')):
        found = items(raw, line, "kept")
        assert [item for _, item in found] == [b'{"a": 1}', b'{"b": [{}]}']
        assert all(line[at : at + len(item)] == item for at, item in found)


@pytest.mark.parametrize("raw", [b"", b"3", b"{}", b"null", b"[]"])
def test_no_list(raw: bytes) -> None:
    """Of anything else, none."""
    assert items(msgspec.Raw(raw), raw, "kept") == []
