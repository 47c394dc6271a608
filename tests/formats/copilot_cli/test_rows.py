"""Copilot CLI rows: what is decoded of the data of an event, whatever shape it has."""

from __future__ import annotations

import msgspec
import pytest

from ctxkit.core.text.json_structs import shaped
from ctxkit.core.text.json_text import loads
from ctxkit.formats.copilot_cli.rows import CopilotRow, EventHead, RequestHead


def test_heads() -> None:
    """Calls by id and name; recovery makes the same of a line that is no strict JSON."""
    for content in (b'"x"', b"NaN"):
        call = b'{"toolCallId":"c","name":"ls","arguments":{}}'
        data = b'{"content":' + content + b',"toolRequests":[' + call + b",3]}"
        found = shaped(loads(b'{"type":"assistant.message","data":' + data + b"}"), CopilotRow).data
        assert isinstance(found, EventHead)
        assert found.toolRequests == [RequestHead("c", "ls"), 3]
    strict = msgspec.json.decode(b'{"data":{"toolRequests":[' + call + b",3]}}", type=CopilotRow).data
    assert isinstance(strict, EventHead)
    assert strict.toolRequests == found.toolRequests


@pytest.mark.parametrize("raw", [b"null", b"3", b'"x"', b"[1]", b"1.5", b"true"])
def test_no_data(raw: bytes) -> None:
    """Whatever stands there, the event is read."""
    assert msgspec.json.decode(b'{"type":"abort","data":' + raw + b"}", type=CopilotRow).data == loads(raw)
    other = b'{"data":{"toolRequests":' + raw + b"}}"
    assert isinstance(msgspec.json.decode(other, type=CopilotRow).data, EventHead)
