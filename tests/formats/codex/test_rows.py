"""Codex rows: heads of whatever shape."""

from __future__ import annotations

import msgspec
import pytest

from ctxkit.core.text.json_structs import shaped
from ctxkit.core.text.json_text import loads
from ctxkit.formats.codex.rows import CodexRow, PayloadHead, items, pieces


@pytest.mark.parametrize("raw", [b"", b"null", b"3", b'"x"', b"[1]", b"{broken"])
def test_nothing_to_read(raw: bytes) -> None:
    """Empty, never an error."""
    assert [p for p in pieces(msgspec.Raw(raw)) if p.text and p.text != "x"] == []
    assert items(msgspec.Raw(raw), raw) == []


@pytest.mark.parametrize("raw", [b"null", b"3", b'"x"', b"[1]", b"1.5", b"true"])
def test_no_payload(raw: bytes) -> None:
    """Whatever stands there, the line is read."""
    found = msgspec.json.decode(b'{"type":"event_msg","payload":' + raw + b"}", type=CodexRow)
    assert (found.type, found.payload) == ("event_msg", loads(raw))


def test_words_that_strict_decoding_refuses() -> None:
    """A lone surrogate does no harm."""
    content = [{"type": "input_text", "text": "\ud83d"}]
    found = shaped({"payload": {"type": "message", "role": "user", "content": content}}, CodexRow).payload
    assert isinstance(found, PayloadHead)
    assert (found.type, found.role) == ("message", "user")
    assert [p.text for p in pieces(found.content)] == ["\ud83d"]


LISTED = b'[ {"type": "message", "text": "\\ud800"} , {"n": NaN}, 3, {"deep": [{"a": 1}]} ]'


@pytest.mark.parametrize("other", [b"1", b'"\\ud800"', b"NaN", b"1" * 5000])
def test_items_where_they_stand(other: bytes) -> None:
    """Each where its bytes are, also in a line that strict decoding refuses, and so holds in other bytes."""
    line = b'{"payload": {"message": ' + other + b', "replacement_history" : ' + LISTED + b"}}"
    for raw in (LISTED, b'[{"type":"message","text":"\\ud800"}]', b'[{"other":1}]'):
        found = items(msgspec.Raw(raw), line)
        assert all(line[at : at + len(item)] == item for at, item in found)
        assert [item[:6] for _, item in found][:2] in ([b'{"type', b'{"n": '], [b'{"type'])
    assert [item for _, item in items(msgspec.Raw(b'[{"x":1}]'), line)][-1] == b'{"deep": [{"a": 1}]}'
