"""pi rows: the light view of an entry and of its message, decoded only as far as reading needs.

Pipeline: `store/jsonl.py` decodes lines into `PiRow`; `reader.py` asks `message_head` for role, calls and results.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.formats.base import Row

NO_RAW = msgspec.Raw(b"")


class PiRow(Row):
    """One entry of a session. Version 1 files have no `id` and no `parentId`: they are linear."""

    type: Any = None
    id: Any = None
    parentId: Any = None
    timestamp: Any = None
    message: msgspec.Raw = NO_RAW
    summary: Any = None
    firstKeptEntryId: Any = None
    firstKeptEntryIndex: Any = None
    targetId: Any = None
    label: Any = None
    replacement: msgspec.Raw = NO_RAW
    modelId: Any = None


class BlockHead(msgspec.Struct, gc=False):
    """A content block without its content."""

    type: Any = None
    id: Any = None
    name: Any = None


class MessageHead(msgspec.Struct, gc=False):
    """A `message` without its content."""

    role: Any = None
    model: Any = None
    toolCallId: Any = None
    excludeFromContext: Any = None
    content: list[BlockHead] | Any = None


_head = msgspec.json.Decoder(MessageHead).decode


def message_head(raw: Any) -> MessageHead:
    """The head of a `message`, whatever stands there: unexpected shapes give empty fields, never an error."""
    try:
        found = _head(raw)
        if not isinstance(found.content, list):
            return found
        found.content = [_block(one) for one in found.content]
        return found
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        pass
    try:
        value = loads(bytes(raw)) if raw else None
    except (ValueError, TypeError):
        value = None
    if not isinstance(value, dict):
        return MessageHead()
    content = value.get("content")
    heads = [_block(one) for one in content] if isinstance(content, list) else None
    return MessageHead(
        value.get("role"), value.get("model"), value.get("toolCallId"), value.get("excludeFromContext"), heads
    )


def _block(one: Any) -> BlockHead:
    if isinstance(one, BlockHead):
        return one
    return BlockHead(*(one.get(key) for key in BlockHead.__struct_fields__)) if isinstance(one, dict) else BlockHead()
