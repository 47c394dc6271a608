"""Heads: of a JSON value inside a record only the fields that reading needs, whatever else stands there.

Pipeline: readers of nested formats ask here for what a row left undecoded. Strict and fast first, tolerant second; an
unexpected shape gives empty fields, never an error.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, TypeVar

import msgspec

from ctxkit.core.text.json_structs import shaped
from ctxkit.core.text.json_text import loads

Kind = TypeVar("Kind", bound=msgspec.Struct)
_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError)
_any = msgspec.json.Decoder(msgspec.Raw).decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def head(raw: Any, kind: type[Kind]) -> Kind:
    """A `kind` of the fields that are there: its fields must be Any or Raw. Of anything but an object, an empty one."""
    try:
        found: Kind = _decoder(kind)(raw)
        return found
    except _ERRORS:
        known = value(raw)
    return shaped(known, kind) if isinstance(known, dict) else kind()


def listed(raw: Any) -> list[bytes]:
    """The objects of a JSON array, each as it is written; none where it is no array."""
    try:
        found = [bytes(one) for one in _list(raw)]
    except _ERRORS:
        known = value(raw)
        found = [_dump(one) for one in known] if isinstance(known, list) else []
    return [one for one in found if one.startswith(b"{")]


def fields(raw: Any) -> dict[str, bytes] | None:
    """The fields of a JSON object, each as it is written, the last one perhaps cut off; None where it is none."""
    try:
        return {key: bytes(one) for key, one in _fields(raw).items()}
    except msgspec.ValidationError:
        return None
    except _ERRORS:
        from ctxkit.formats import truncated_json

        return truncated_json.fields(bytes(raw)) if raw else None


def items(raw: Any) -> list[bytes] | None:
    """The items of a JSON array, each as it is written, but for one that is cut off; None where it is none."""
    try:
        return [bytes(one) for one in _list(raw)]
    except msgspec.ValidationError:
        return None
    except _ERRORS:
        from ctxkit.formats import truncated_json

        return truncated_json.items(bytes(raw)) if raw else None


def views(raw: Any) -> list[bytes] | None:
    """As `items`, but not copied: `msgspec.Raw`, which `bytes` and decoders take."""
    try:
        return list[bytes](_list(raw))
    except _ERRORS:
        return items(raw)


def field_views(raw: Any) -> dict[str, bytes] | None:
    """As `fields`, but not copied."""
    try:
        return dict[str, bytes](_fields(raw))
    except _ERRORS:
        return fields(raw)


def one_line(raw: bytes) -> bytes:
    """The same JSON on one line: in sound JSON a raw line break can only stand between tokens."""
    raw = bytes(raw)
    if b"\n" not in raw and b"\r" not in raw:
        return raw
    try:
        _any(raw)
    except _ERRORS:
        from ctxkit.formats import truncated_json

        return truncated_json.one_line(raw)
    return raw.replace(b"\r", b" ").replace(b"\n", b" ")


def value(raw: Any) -> Any:
    """The value; None where the bytes are none."""
    try:
        return loads(bytes(raw)) if raw else None
    except (ValueError, TypeError):
        return None


@cache
def _decoder(kind: type[msgspec.Struct]) -> Any:
    return msgspec.json.Decoder(kind).decode


def _dump(value: Any) -> bytes:
    """JSON again, for what only the tolerant decoder could read; NaN stays NaN."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")
