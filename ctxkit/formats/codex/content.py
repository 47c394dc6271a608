"""A Codex message in full: the response items of its rows, as parts.

Pipeline: the format's `content` -> `cli show`, `formats` writers. A message's rows are lines of the file or, where a
compaction wrote it, an item inside its `replacement_history`.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.messages import Content, Message
from ctxkit.formats.response_parts import parts_of


def content_of(message: Message, rows: list[dict[str, Any]]) -> Content:
    """The message's content."""
    return Content(message.role, [part for row in rows for part in parts_of(item_of(row))], rows=rows)


def item_of(row: dict[str, Any]) -> dict[str, Any]:
    """The response item of a line; the summary of an old compaction becomes the user message that Codex sends."""
    payload = row.get("payload")
    if not isinstance(payload, dict):
        return row
    if row.get("type") == "compacted":
        text = payload.get("message")
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return payload
