"""The strict spelling of a record: what a tolerant reader took is written as JSON that every program takes.

Used by `recovery/salvage.py`. It works on the text of a record, piece by piece: what is in order keeps its bytes, and
the record reads as it did (but for numbers that JSON does not have, which become null, as in requests).
"""

from __future__ import annotations

import re

from ctxkit.core.text.utf8 import exact

_DOUBT = re.compile(rb"[\x00-\x1f]|NaN|Infinity|[eE]\+?[0-9]{3}|[0-9]{200}")
"""What stands in every record that is not spelled as it should be, UTF-8 aside."""
_PIECE = re.compile(
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<word>-?(?:NaN|Infinity))|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|\n',
    re.S,
)
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[][{},]', re.S)
_CONTROL = re.compile("[\x00-\x1f]")
_BYTES = re.compile("(\\\\u[dD][89abAB][0-9a-fA-F]{2})?([\udc80-\udcff])")
"""A byte that is not UTF-8, and half a surrogate pair before it, which its escape would complete."""

DEEPEST = 16
"""Brackets around what is looked at as an end."""

MENDS = {
    "bad-utf8": "bytes that are not UTF-8: written as escapes that read the same",
    "broken-line": "line ends in a record: escaped in its strings, blanks elsewhere",
    "control-char": "control characters inside a string: escaped",
    "huge-number": "a number of thousands of digits: written as text",
    "nonfinite": "a number that JSON does not have (NaN, Infinity, or beyond all bounds): written as null",
}
"""Code -> what is done about it."""


def strict(raw: bytes, *, document: bool = False) -> tuple[bytes, tuple[str, ...]]:
    """A record that was read, as one line of strict JSON, and the codes of `MENDS` for what was changed.

    A `document` keeps the line ends between its values.
    """
    try:
        if not raw.isascii():
            raw.decode()
        if not _DOUBT.search(raw):
            return raw, ()
    except UnicodeDecodeError:
        pass
    codes: set[str] = set()
    text = _PIECE.sub(lambda found: _piece(found, codes, document), raw.decode("utf-8", "surrogateescape"))
    return exact(text), tuple(sorted(codes))


def _piece(found: re.Match[str], codes: set[str], document: bool) -> str:
    """One string, number or line end."""
    text = found[0]
    match found.lastgroup:
        case "text":
            return _string(text, codes)
        case "number":
            return _number(text, codes)
        case "word":
            codes.add("nonfinite")
            return "null"
    if document:
        return text
    codes.add("broken-line")
    return " "


def _string(text: str, codes: set[str]) -> str:
    if "\n" in text:
        codes.add("broken-line")
        text = text.replace("\n", "\\n")
    if _CONTROL.search(text):
        codes.add("control-char")
        text = _CONTROL.sub(lambda one: f"\\u{ord(one[0]):04x}", text)
    if _BYTES.search(text):
        codes.add("bad-utf8")
        text = _BYTES.sub(lambda one: one[1] + "\\ufffd" if one[1] else f"\\u{ord(one[2]):04x}", text)
    return text


def _number(text: str, codes: set[str]) -> str:
    if text.lstrip("-").isdigit():
        try:
            int(text)
        except ValueError:
            codes.add("huge-number")
            return f'"{text}"'
    elif float(text) in (float("inf"), float("-inf")):
        codes.add("nonfinite")
        return "null"
    return text


def closings(raw: bytes) -> list[tuple[int, bytes]]:
    """Where a JSON text that is cut off may be ended, and the brackets that close it there: the longest first.

    Each is the text's end, or a comma of a bracket that is open there. An empty list for one that is not cut off.
    """
    stack: list[bytes] = []
    commas: list[int] = []
    """For each open bracket its newest comma; 0 for none."""
    for token in _TOKEN.finditer(raw):
        mark = token[0]
        if mark in (b"{", b"["):
            stack.append(b"}" if mark == b"{" else b"]")
            commas.append(0)
        elif mark in (b"}", b"]"):
            if not stack or stack.pop() != mark:
                return []
            commas.pop()
        elif mark == b"," and stack:
            commas[-1] = token.start()
    found = [(len(raw), b"".join(reversed(stack)))] if stack else []
    for depth in range(min(len(stack), DEEPEST), 0, -1):
        if commas[depth - 1]:
            found.append((commas[depth - 1], b"".join(reversed(stack[:depth]))))
    return found
