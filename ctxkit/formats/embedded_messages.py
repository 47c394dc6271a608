"""Messages inside of a line: the objects of a list, as the bytes that they are, each with the place where it stands.

Pipeline: readers of sessions whose program writes a whole history into one record (Codex's compactions, Gemini CLI's
updates) -> spans of the log, from which the messages are read again.
"""

from __future__ import annotations

import re
from json import JSONDecoder
from typing import Any

import msgspec

_COMMAS = re.compile(rb"[\s,]*")
_BETWEEN = re.compile(r"[\s,]*")
_one = JSONDecoder(parse_int=str, strict=False).raw_decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def items(raw: Any, line: bytes, key: str) -> list[tuple[int, bytes]]:
    """The objects of the list `raw`, which stands under `key` in `line`, each with its offset in `line`.

    None where it is no list. A line that is no strict JSON was decoded otherwise, and is looked through by hand.
    """
    try:
        listed = _list(raw) if raw else []
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return _by_hand(line, key)
    found: list[tuple[int, bytes]] = []
    at = 0
    for item in map(bytes, listed):
        begin = _begin(line, at)
        at = begin if found and line.startswith(item, begin) else line.find(item, at)
        if at < 0:
            return _by_hand(line, key)
        if item.startswith(b"{"):
            found.append((at, item))
        at += len(item)
    return found


def _begin(line: bytes, at: int) -> int:
    """Where the next item of a list begins."""
    between = _COMMAS.match(line, at)
    return between.end() if between is not None else at


def _by_hand(line: bytes, key: str) -> list[tuple[int, bytes]]:
    start = re.search(rb'"' + re.escape(key.encode()) + rb'"\s*:\s*\[', line)
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
