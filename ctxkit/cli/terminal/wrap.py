"""Fitting text into columns: lines are broken at blanks, and go on indented.

Used by `streams` for what ctxkit itself says, by help, and by `message_layout.py` for a transcript's own lines. All
text here is safe already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import Styled

NARROWEST = 20
USUAL = 80

TAB = 4
"""Columns from one stop of a tab to the next."""

_PIECE = re.compile(" +|[^ ]+")
_INDENT = re.compile(r" *(?:(?:[-*+•]|\d{1,9}[.)]) +)?")


def columns(stream: TextIO | None) -> int:
    """How wide a stream's terminal is: COLUMNS, else its size, else 80; never below 20."""
    asked = os.environ.get("COLUMNS", "")
    size = int(asked) if asked.isdecimal() else 0
    if not size and stream is not None:
        try:
            size = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            size = 0
    return max(NARROWEST, size or USUAL)


def rows(stream: TextIO) -> int:
    """How many lines a terminal shows: LINES, else its size, else 24."""
    asked = os.environ.get("LINES", "")
    try:
        return int(asked) if asked.isdecimal() and int(asked) else os.get_terminal_size(stream.fileno()).lines or 24
    except (OSError, ValueError):
        return 24


def wrapped(
    spans: Sequence[str | Styled], width: int, hang: int, *, hard: bool = False
) -> Iterator[list[str | Styled]]:
    """The lines of one line: `width` cells at most, all but the first indented by `hang`.

    A word longer than that stays whole (a path, a command: what one copies), but with `hard` it is cut into pieces.
    """
    line: list[str | Styled] = []
    used = 0
    begun = False  # whether the line holds a word
    for blanks, word in _words(spans):
        size = sum(cells(_text(part)) for part in word)
        if begun and used + blanks + size > width:
            yield line
            line, used, blanks, begun = [], 0, hang, False
        if hard and used + blanks + size > width:
            for piece in _cut(word, width - used - blanks, width - hang):
                if begun:
                    yield line
                    line, used, blanks = [], 0, hang
                line += [" " * blanks, *piece]
                used, begun = used + blanks + sum(cells(_text(part)) for part in piece), True
            continue
        if blanks:
            line.append(" " * blanks)
        line += word
        used, begun = used + blanks + size, True
    yield line


def folded(line: str | Sequence[str | Styled], width: int) -> Iterator[list[str | Styled]]:
    """A line of somebody's text in lines of at most `width` cells: it goes on with its own indent, in a list behind the
    bullet. Tabs become blanks. A word that is longer than a line is cut.
    """
    spans = [line] if isinstance(line, str) else line
    text = "".join(map(_text, spans))
    if "\t" in text:
        spans, text = [_like(span, _text(span).expandtabs(TAB)) for span in spans], text.expandtabs(TAB)
    if len(text) <= width and cells(text) <= width:
        yield list(spans)
        return
    deep = len(text) - len(text.lstrip(" ")) - width // 2
    if deep > 0:  # an indent that leaves no room is less deep
        spans, text = list(_part(list(spans), deep, len(text))), text[deep:]
    found = _INDENT.match(text)
    yield from wrapped(spans, width, min(found.end() if found else 0, width // 2), hard=True)


def _text(span: str | Styled) -> str:
    return span if isinstance(span, str) else span.text


def _words(spans: Sequence[str | Styled]) -> Iterator[tuple[int, list[str | Styled]]]:
    """Each word with the number of blanks before it; a word may go over several spans."""
    blanks, word = 0, list[str | Styled]()
    for span in spans:
        for text in _PIECE.findall(_text(span)):
            if text[0] == " ":
                if word:
                    yield blanks, word
                    blanks, word = 0, []
                blanks += len(text)
            else:
                word.append(text if isinstance(span, str) else Styled(text, span.style))
    if word:
        yield blanks, word


def _cut(word: list[str | Styled], first: int, rest: int) -> Iterator[list[str | Styled]]:
    """A word in pieces of at most `first` and then `rest` cells; figures stay whole where a break is near."""
    sizes = [cells(c) for part in word for c in _text(part)]
    text = "".join(map(_text, word))
    start, room = 0, max(1, first)
    while start < len(text):
        end, used = start, 0
        while end < len(text) and used + sizes[end] <= room:
            used += sizes[end]
            end += 1
        if end < len(text):
            back = end
            while back > start and text[back - 1].isalnum():
                back -= 1
            end = back if back - start > room // 2 and all(sizes[back - 1 : back + 1]) else end
        yield list(_part(word, start, end))
        start, room = end, max(2, rest)


def _part(word: list[str | Styled], start: int, end: int) -> Iterator[str | Styled]:
    for part in word:
        text = _text(part)
        if start < len(text) and end > 0:
            yield _like(part, text[max(0, start) : end])
        start, end = start - len(text), end - len(text)


def _like(span: str | Styled, text: str) -> str | Styled:
    return text if isinstance(span, str) else Styled(text, span.style)
