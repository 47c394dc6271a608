"""Session documents: one JSON object that is a session of an agent, laid out as lines for its format's reader.

Pipeline: `formats/containers.py` asks here for each object without chat messages -> the format that is named. The first
line is the object without its messages, marked `"document": true`; each message is a line, as it is written.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.formats import mending

_LOOKED_AT = 50
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def lay_out(raw: bytes) -> tuple[str, list[bytes]] | None:
    """The name of the format and the lines of a document; None where it is none."""
    fields = _object(raw)
    if fields is None or "messages" not in fields or not fields.keys() & {"sessionId", "info"}:
        return None
    messages = _array(fields.pop("messages"))
    name = None if messages is None else _format(fields, messages[:_LOOKED_AT])
    if name is None or messages is None:
        return None
    head = {key: loads(value) for key, value in fields.items() if mending.sound(value)} | {"document": True}
    return name, [json.dumps(head).encode("ascii"), *map(mending.one_line, messages)]


def _format(fields: dict[str, bytes], messages: list[bytes]) -> str | None:
    """Whose document it is: Gemini CLI's has typed messages and a project, opencode's an `info` and parts."""
    heads = [one for raw in messages if isinstance(one := _value(raw), dict)]
    if all(fields.get(key, b"").startswith(b'"') for key in ("sessionId", "projectHash")):
        types = {str(one.get("type")) for one in heads}
        if types & {"user", "gemini"} or not messages:
            return "gemini-cli"
    nested = any(isinstance(one.get("info"), dict) and isinstance(one.get("parts"), list) for one in heads)
    session = _value(fields.get("info", b""))
    if nested or (not messages and isinstance(session, dict) and "projectID" in session):
        return "opencode"
    return None


def _object(raw: bytes) -> dict[str, bytes] | None:
    """The fields of a JSON object, each as it is written."""
    if not raw.lstrip().startswith(b"{"):
        return None
    try:
        return {key: bytes(value) for key, value in _fields(raw).items()}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return mending.fields(raw)


def _array(raw: bytes) -> list[bytes] | None:
    """The items of a JSON array, each as it is written."""
    try:
        return [bytes(one) for one in _items(raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return mending.items(raw)


def _value(raw: bytes) -> Any:
    try:
        return loads(raw)
    except ValueError:
        return None
