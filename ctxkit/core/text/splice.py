"""Splicing: other values in a JSON text at known places, every other byte as it was.

Session files are given back with the bytes that their program wrote; only ids and links in them change.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ctxkit.core.text.utf8 import utf8

Path = tuple[str, ...]
"""Keys from the outermost object inwards."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s,:{}\[\]"]+', re.DOTALL)
_OPEN, _CLOSE = (b"{", b"["), (b"}", b"]")


def spliced(raw: bytes, changes: Mapping[Path, bytes]) -> bytes:
    """`raw`, one JSON object, with the JSON text `changes[path]` for the value at each path; of repeated keys the last.

    Raises KeyError for a path that is not there.
    """
    spans = _once(raw, changes) or find(raw, changes)
    for path in sorted(changes, key=lambda path: spans[path], reverse=True):
        start, end = spans[path]
        raw = raw[:start] + changes[path] + raw[end:]
    return raw


def find(raw: bytes, paths: Collection[Path]) -> dict[Path, tuple[int, int]]:
    """Start and end of the value at each path, of those that are there."""
    found: dict[Path, tuple[int, int]] = {}
    deepest = max(map(len, paths), default=0)
    keys: list[str] = []  # of the objects that are open, the current one of each; "" in a list, which has no keys
    starts: list[int] = []
    in_object: list[bool] = []
    is_key = False
    for token in _TOKEN.finditer(raw):
        piece = token.group()
        if piece in (b",", b":"):
            is_key = piece == b"," and bool(in_object) and in_object[-1]
        elif piece in _CLOSE:
            if not starts:
                break
            start = starts.pop()
            keys.pop()
            in_object.pop()
            is_key = False
            if len(keys) <= deepest and tuple(keys) in paths:
                found[tuple(keys)] = (start, token.end())
        elif is_key:
            keys[-1] = piece[1:-1].decode("utf-8", "replace")
        elif piece in _OPEN:
            starts.append(token.start())
            keys.append("")
            in_object.append(piece == b"{")
            is_key = piece == b"{"
        elif len(keys) <= deepest and tuple(keys) in paths:
            found[tuple(keys)] = token.span()
    return found


def _once(raw: bytes, changes: Mapping[Path, bytes]) -> dict[Path, tuple[int, int]] | None:
    """The spans where each path is one key that stands once in `raw`, with a text or null; None for any doubt."""
    found: dict[Path, tuple[int, int]] = {}
    for path in changes:
        name = b'"%s"' % utf8(path[-1])
        at = raw.find(name) if len(path) == 1 else -1
        if at < 0 or raw[at - 1 : at] == b"\\" or raw.find(name, at + 1) >= 0:
            return None
        value = _VALUE.match(raw, at + len(name))
        if value is None:
            return None
        found[path] = value.span(1)
    return found


_VALUE = re.compile(rb'\s*:\s*("[^"\\]*"|null|true|false)')
