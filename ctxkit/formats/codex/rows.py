"""Codex rows: the light view of a line and of its payload, decoded only as far as reading needs.

Pipeline: `store/jsonl.py` decodes lines into `CodexRow`; `reader.py` asks `payload_head` for types, ids and names.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ctxkit.core.jsontext import dumps, loads
from ctxkit.formats import inside
from ctxkit.formats.base import Row

NO_RAW = msgspec.Raw(b"")


class CodexRow(Row):
    """One line: `{timestamp, type, payload}`."""

    type: Any = None
    timestamp: Any = None
    payload: msgspec.Raw = NO_RAW


class PayloadHead(msgspec.Struct, gc=False):
    """A payload without what only printing needs. `content` stays bytes: only messages are looked into."""

    type: Any = None
    role: Any = None
    call_id: Any = None
    name: Any = None
    num_turns: Any = None
    model: Any = None
    message: Any = None
    content: msgspec.Raw = NO_RAW
    replacement_history: msgspec.Raw = NO_RAW


class Piece(msgspec.Struct, gc=False):
    """An item of a message's content, as far as equality and prompts need it."""

    type: Any = None
    text: Any = None
    image_url: Any = None


_head = msgspec.json.Decoder(PayloadHead).decode
_pieces = msgspec.json.Decoder(list[Piece]).decode


def payload_head(raw: Any) -> PayloadHead:
    """The head of a payload, whatever stands there: unexpected shapes give empty fields, never an error."""
    try:
        return _head(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        pass
    found = _value(raw)
    if not isinstance(found, dict):
        return PayloadHead()
    head = PayloadHead()
    for key in PayloadHead.__struct_fields__:
        if key not in ("content", "replacement_history"):
            setattr(head, key, found.get(key))
        elif key in found:
            setattr(head, key, msgspec.Raw(dumps(found[key]).encode("ascii")))
    return head


def pieces(raw: Any) -> list[Piece]:
    """The content of a message; a bare text is one piece, anything else none."""
    try:
        return _pieces(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        found = _value(raw)
    if isinstance(found, str):
        return [Piece("input_text", found)]
    listed = found if isinstance(found, list) else []
    return [Piece(one.get("type"), one.get("text"), one.get("image_url")) for one in listed if isinstance(one, dict)]


def items(raw: Any, line: bytes) -> list[tuple[int, bytes]]:
    """The objects in a `replacement_history`, each with its offset in `line` (`formats/inside.py`)."""
    return inside.items(raw, line, "replacement_history")


def _value(raw: Any) -> Any:
    try:
        return loads(bytes(raw)) if raw else None
    except (ValueError, TypeError):
        return None
