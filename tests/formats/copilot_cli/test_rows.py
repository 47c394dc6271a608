"""Copilot CLI rows: what is decoded of the data of an event."""

from __future__ import annotations

from ctxkit.formats.copilot_cli.rows import EventHead, RequestHead
from ctxkit.formats.heads import head, listed


def test_heads() -> None:
    """Calls by id and name, also where a line is no strict JSON."""
    data = head(b'{"content":NaN,"toolRequests":[{"toolCallId":"c","name":"ls","arguments":{}}]}', EventHead)
    assert [(one.toolCallId, one.name) for one in (head(raw, RequestHead) for raw in listed(data.toolRequests))] == [
        ("c", "ls")
    ]
