"""Formats a message for pipes and lists: a header, then its parts; the caller makes every line `safe()`.

Used by `show`, `diff` and the previews of `forget` and `remember`. `message_layout.py` formats messages for a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import ROOMY, spaced
from ctxkit.cli.terminal.safe_text import cells, clip, safe, uncoloured
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import spelled

LOCK = "🔒"
ROLES = {"user": "cyan", "assistant": "green", "system": "bold", "developer": "bold", "tool": "dim"}
"""The style of each role's name."""
_WORD = re.compile(r"\S+")
RESULT_LINES = 3
"""Lines of a tool result that are shown without --full."""


def header(label: str, role: str, moment: float | None, *, name: str | None, protected: bool, notes: str = "") -> Line:
    """Return `45  user  2026-02-01 10:45:00` as spans for `streams.out`."""
    when = streams.clock().time(moment) if moment is not None else ""
    speaker = Styled(f"{role} ({name})" if name else role, ROLES.get(role, ""))
    return spaced(Styled(label, "bold"), speaker, Styled(when, "dim"), LOCK if protected else "", Styled(notes, "dim"))


def named(name: Name, label: str) -> dict[str, Any]:
    """Return the name of a message for programs: its number `n`, or the `item` of an op ("7.1").

    `n` is None if what stands before the log is missing, so that nobody knows the number.
    """
    return {"n": name if label == str(name) else None} if isinstance(name, int) else {"item": label}


def row(label: str, content: Content, *, protected: bool, columns: int) -> Line:
    """Return a message on one line of `columns` cells: `   45 user         the beginning of its text`."""
    if columns >= ROOMY:
        number, role, lock = f"{label:>5}", f"{content.role[:9]:<9}", LOCK if protected else "  "
    else:
        number, role, lock = label, content.role[:4], LOCK if protected else ""
    start = f"{number} {role} {lock} " if lock else f"{number} {role} "
    room = columns - cells(safe(start))
    text = one_line(content, room) if room > 0 else ""
    return [Styled(number, "bold"), " ", Styled(role, ROLES.get(content.role, "")), f" {lock} " if lock else " ", text]


def body(content: Content, *, full: bool) -> Iterator[str]:
    """Yield the lines of a message's parts, not indented."""
    for part in content.parts:
        yield from _part(part, full=full)


def _part(part: Part, *, full: bool) -> Iterator[str]:
    match part:
        case Text(text=text):
            yield from _lines(uncoloured(text))
        case Thinking(text=text):
            yield from (f"~ {line}" for line in _lines(uncoloured(text or "[thinking, not stored as text]")))
        case Call(name=name):
            from ctxkit.content.call_words import call_words  # only calls need the grammar of the shell

            words = call_words(part, full=full)
            yield f"→ {name} {words.target}".rstrip(" ")
            for sign, line in words.lines:
                yield from (f"  {sign} {held}" if sign else f"  {held}" for held in uncoloured(line).split("\n"))
        case Result(content=inner, is_error=is_error):
            yield from _result(inner, is_error=is_error, full=full)
        case _:
            yield described(part, full=full)


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, one after the other: a list of 20 million would take a gigabyte."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def described(part: Part, *, full: bool) -> str:
    """Return one line for a part without text."""
    match part:
        case Image(media_type=kind, data=data, url=url):
            size = f"{len(data) * 3 // 4:,} bytes" if data else url[:60]
            return f"[image {kind} {size}]"
        case Other(kind=kind, raw=raw):
            return f"[{kind}] {spelled(raw)}" if full else f"[{kind}]"
        case _:
            return " ".join(_part(part, full=full))


def _result(inner: str | list[Part], *, is_error: bool, full: bool) -> Iterator[str]:
    parts: list[Part] = [Text(inner)] if isinstance(inner, str) else inner
    lines = (line for part in parts for line in _part(part, full=full))
    sign = "✗" if is_error else "←"
    for line in lines if full else islice(lines, RESULT_LINES):
        yield f"{sign} {line}".rstrip(" ")
    if more := sum(1 for _ in lines):
        yield f"{sign} … {more:,} more lines (--full)"


def is_short(content: Content) -> bool:
    """Return whether a summary is one line."""
    return "\n" not in "\n".join(body(content, full=True)).strip()


def one_line(content: Content, columns: int) -> str:
    """Return the beginning of a message in `columns` cells."""
    enough, words = 8 * columns + 64, list[str]()
    for word in (found for line in body(content, full=False) for found in _WORD.finditer(line)):  # one may have 64 MB
        words.append(
            word[0] if word.end() - word.start() <= enough else word.string[word.start() : word.start() + enough]
        )
        if (enough := enough - len(words[-1]) - 1) < 0:
            break
    return clip(safe(" ".join(words)), columns)  # safe() first: it adds cells
