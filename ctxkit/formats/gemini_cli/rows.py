"""Gemini CLI rows: a light view of a record and of its tool calls, decoded only as far as reading needs.

Pipeline: `store/jsonl.py` decodes lines into `GeminiRow` -> `reader.py`, which decodes the records in an update.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ctxkit.core.messages import Result
from ctxkit.core.text.json_structs import NoList, NoObject
from ctxkit.formats.base import Row
from ctxkit.formats.embedded_messages import items
from ctxkit.formats.gemini_parts import parts_of
from ctxkit.formats.partial_decode import head, value

NO_RAW = msgspec.Raw(b"")
RESPONSE = b'"functionResponse"'
"""Bytes that are in every content with a result."""


class CallHead(msgspec.Struct, gc=False):
    """A tool call without its arguments; `result` stays undecoded."""

    id: Any = None
    name: Any = None
    result: msgspec.Raw = NO_RAW


class Update(msgspec.Struct, gc=False):
    """The fields of a `$set` that count."""

    messages: msgspec.Raw = NO_RAW


class GeminiRow(Row):
    """One line: the header, a message, an update (`$set`) or a rewind (`$rewindTo`).

    `document`: it is the header of a `.json` file, whose messages are a list, not events.
    """

    id: Any = None
    type: Any = None
    timestamp: Any = None
    model: Any = None
    content: msgspec.Raw = NO_RAW
    toolCalls: list[CallHead | NoObject] | NoList = None
    messages: msgspec.Raw = NO_RAW
    document: Any = None
    set_: Update | NoObject = msgspec.field(default=None, name="$set")
    rewind_to: Any = msgspec.field(default=None, name="$rewindTo")


def record(raw: bytes) -> GeminiRow:
    """A record inside another; one of an unexpected shape has no fields."""
    return head(raw, GeminiRow)


def listed_messages(messages: Any, line: bytes) -> list[tuple[int, bytes]] | None:
    """The messages of a list inside `line`, each with its offset; None if it is no list."""
    return items(messages, line, "messages") if bytes(messages).startswith(b"[") else None


def calls(row: GeminiRow) -> list[CallHead]:
    """The tool calls of a response."""
    return [one for one in row.toolCalls if type(one) is CallHead] if type(row.toolCalls) is list else []


def answers(row: GeminiRow) -> tuple[tuple[str, ...], bool]:
    """The ids of the calls that a record of the user's answers, and whether it says anything else."""
    if RESPONSE not in bytes(row.content):
        return (), True
    parts = parts_of(value(row.content))
    found = tuple(part.id for part in parts if isinstance(part, Result))
    return found, len(found) < len(parts)


def words(raw: Any) -> str:
    """The text of a content, parts joined."""
    content = value(raw)
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))
