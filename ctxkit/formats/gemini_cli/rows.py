"""Gemini CLI rows: the light view of a record and of its tool calls, decoded only as far as reading needs.

Pipeline: `store/jsonl.py` decodes lines into `GeminiRow`; `reader.py` asks for what stands in them.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.formats.base import Row
from ctxkit.formats.inside import items

_Kind = TypeVar("_Kind", bound=msgspec.Struct)
NO_RAW = msgspec.Raw(b"")


class GeminiRow(Row):
    """One line: the header, a message, an update (`$set`) or a rewind (`$rewindTo`).

    `document`: the header of a `.json` file, whose messages are a list and not events.
    """

    id: Any = None
    type: Any = None
    timestamp: Any = None
    model: Any = None
    content: msgspec.Raw = NO_RAW
    toolCalls: msgspec.Raw = NO_RAW
    messages: msgspec.Raw = NO_RAW
    document: Any = None
    set_: msgspec.Raw = msgspec.field(default=NO_RAW, name="$set")
    rewind_to: Any = msgspec.field(default=None, name="$rewindTo")


class CallHead(msgspec.Struct, gc=False):
    """A tool call without its arguments; `result` stays bytes."""

    id: Any = None
    name: Any = None
    result: msgspec.Raw = NO_RAW


class _Update(msgspec.Struct, gc=False):
    messages: msgspec.Raw = NO_RAW


_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_call = msgspec.json.Decoder(CallHead).decode
_update = msgspec.json.Decoder(_Update).decode
_row = msgspec.json.Decoder(GeminiRow).decode


def record(raw: bytes) -> GeminiRow:
    """A record that stands inside another; one of an unexpected shape has no fields."""
    return _head(raw, _row, GeminiRow)


def listed(raw: Any) -> list[bytes]:
    """The objects of a JSON array, each as it is written; none where it is no array."""
    try:
        found = [bytes(one) for one in _list(raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError):
        value = _value(raw)
        found = [_dump(one) for one in value] if isinstance(value, list) else []
    return [one for one in found if one.startswith(b"{")]


def update(raw: Any, line: bytes) -> list[tuple[int, bytes]] | None:
    """The messages of a `$set`, each with its offset in `line`; None where it changes none."""
    return carried(_head(raw, _update, _Update).messages, line)


def carried(messages: Any, line: bytes) -> list[tuple[int, bytes]] | None:
    """The messages of a list inside `line`, each with its offset; None where there is no list."""
    return items(messages, line, "messages") if bytes(messages).startswith(b"[") else None


def call_heads(raw: Any) -> list[CallHead]:
    """The tool calls of a response."""
    return [_head(one, _call, CallHead) for one in listed(raw)]


def words(raw: Any) -> str:
    """The text of a content, parts joined."""
    value = _value(raw)
    parts = value if isinstance(value, list) else [value]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _head(raw: Any, decode: Any, kind: type[_Kind]) -> _Kind:
    """A struct of the fields that are there, whatever else is: of anything but an object, an empty one."""
    try:
        found: _Kind = decode(raw)
        return found
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError):
        value = _value(raw)
    found = kind()
    if isinstance(value, dict):
        for field in msgspec.structs.fields(kind):
            if field.encode_name in value:
                one = value[field.encode_name]
                plain = field.type is not msgspec.Raw
                setattr(found, field.name, one if plain else msgspec.Raw(_dump(one)))
    return found


def _value(raw: Any) -> Any:
    try:
        return loads(bytes(raw)) if raw else None
    except (ValueError, TypeError):
        return None


def _dump(value: Any) -> bytes:
    """JSON again, for what only the tolerant decoder could read; NaN stays NaN."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")
