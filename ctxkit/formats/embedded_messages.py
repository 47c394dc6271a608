"""Messages inside a line: the objects of a list, as bytes, each with its offset.

Pipeline: readers of programs that write a whole history into one record (Codex's compactions, Gemini CLI's updates) ->
spans of the log, from which the messages are read again.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import Any

import msgspec

from ctxkit.core.text.utf8 import utf8

_COMMAS = re.compile(rb"[\s,]*")
_BETWEEN = re.compile(r"[\s,]*")
_one = JSONDecoder(parse_int=str, strict=False).raw_decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def items(raw: Any, line: bytes, key: str) -> list[tuple[int, bytes]]:
    """The objects of the list `raw`, under `key` in `line`, each with its offset in `line`.

    None are found if it is no list. If the line is no strict JSON, it is scanned by a tolerant decoder.
    """
    try:
        listed = _list(raw) if raw else []
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return _scanned(line, key)
    found: list[tuple[int, bytes]] = []
    at = 0
    for item in map(bytes, listed):
        begin = _begin(line, at)
        at = begin if found and line.startswith(item, begin) else line.find(item, at)
        if at < 0:
            return _scanned(line, key)
        if item.startswith(b"{"):
            found.append((at, item))
        at += len(item)
    return found


def _begin(line: bytes, at: int) -> int:
    """The offset of the next item of a list."""
    between = _COMMAS.match(line, at)
    return between.end() if between is not None else at


def _scanned(line: bytes, key: str) -> list[tuple[int, bytes]]:
    start = re.search(rb'"' + re.escape(utf8(key)) + rb'"\s*:\s*\[', line)
    text = line.decode("latin-1")  # a character is a byte
    found: list[tuple[int, bytes]] = []
    end = start.end() if start is not None else len(text)
    while True:
        between = _BETWEEN.match(text, end)
        at = between.end() if between is not None else end
        try:
            value, end = _one(text, at)
        except (ValueError, RecursionError):
            return found
        if isinstance(value, dict):
            found.append((at, line[at:end]))
