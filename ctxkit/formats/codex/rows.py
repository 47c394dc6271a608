"""Codex rows: a light view of a line and of its payload, decoded only as far as reading needs.

Pipeline: `store/jsonl.py` decodes lines into `CodexRow` -> `reader.py`, which calls `pieces` for a message's content,
and `items` for the list of a compaction.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ctxkit.core.text.json_structs import NoObject
from ctxkit.formats import embedded_messages
from ctxkit.formats.base import Row
from ctxkit.formats.partial_decode import value

NO_RAW = msgspec.Raw(b"")


class PayloadHead(msgspec.Struct, gc=False):
    """A payload without what only printing needs. Raw fields are decoded only if they count."""

    type: Any = None
    role: Any = None
    call_id: Any = None
    name: Any = None
    num_turns: Any = None
    turn_id: Any = None
    model: Any = None
    history_mode: Any = None
    message: msgspec.Raw = NO_RAW
    content: msgspec.Raw = NO_RAW
    replacement_history: msgspec.Raw = NO_RAW


class CodexRow(Row):
    """One line: `{timestamp, type, payload}`."""

    type: Any = None
    timestamp: Any = None
    payload: PayloadHead | NoObject = None


class CodexItem(msgspec.Struct, gc=False):
    """An item of a message's content: the fields that decide equality and prompts."""

    type: Any = None
    text: Any = None
    image_url: Any = None


_pieces = msgspec.json.Decoder(list[CodexItem]).decode


def pieces(raw: Any) -> list[CodexItem]:
    """The content of a message; a bare text is one piece, anything else none."""
    try:
        return _pieces(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError):
        found = value(raw)
    if isinstance(found, str):
        return [CodexItem("input_text", found)]
    listed = found if isinstance(found, list) else []
    return [
        CodexItem(one.get("type"), one.get("text"), one.get("image_url")) for one in listed if isinstance(one, dict)
    ]


def items(raw: Any, line: bytes) -> list[tuple[int, bytes]]:
    """The objects in a `replacement_history`, each with its offset in `line` (`formats/embedded_messages.py`)."""
    return embedded_messages.items(raw, line, "replacement_history")
