"""How a message looks to people: a header, then its parts. Widths in cells; the caller makes every line `safe()`.

Used by `show` and by the previews of `forget` and `remember`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from ctxkit.cli.safe import clip
from ctxkit.cli.wrap import columns
from ctxkit.core.jsontext import dumps
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.names import Names
from ctxkit.core.times import iso

LOCK = "🔒"
RESULT_LINES = 3
"""How many lines of a tool result are shown unless --full."""


def width() -> int:
    """Columns of the terminal that the result goes to; 80 where there is none; never below 20."""
    return columns(sys.stdout)


def header(label: str, role: str, moment: float | None, *, name: str | None, protected: bool, notes: str = "") -> str:
    """`45  user  2026-02-01 10:45:00`."""
    when = iso(moment)[:19].replace("T", " ") if moment is not None else ""
    speaker = f"{role} ({name})" if name else role
    return "  ".join(filter(None, (label, speaker, when, LOCK if protected else "", notes)))


def body(content: Content, *, full: bool) -> Iterator[str]:
    """The parts of a message, a line each or more, not indented."""
    for part in content.parts:
        yield from _part(part, full=full)


def _part(part: Part, *, full: bool) -> Iterator[str]:
    match part:
        case Text(text=text):
            yield from text.split("\n")
        case Thinking(text=text):
            yield from (f"~ {line}" for line in (text or "[thinking, not stored as text]").split("\n"))
        case Call(name=name, arguments=arguments):
            yield f"→ {name} {arguments if isinstance(arguments, str) else dumps(arguments)}"
        case Result(content=inner, is_error=is_error):
            yield from _result(inner, is_error=is_error, full=full)
        case Image(media_type=kind, data=data, url=url):
            size = f"{len(data) * 3 // 4:,} bytes" if data else url[:60]
            yield f"[image {kind} {size}]"
        case Other(kind=kind, raw=raw):
            yield f"[{kind}] {dumps(raw)}" if full else f"[{kind}]"


def _result(inner: str | list[Part], *, is_error: bool, full: bool) -> Iterator[str]:
    parts: list[Part] = [Text(inner)] if isinstance(inner, str) else inner
    lines = [line for part in parts for line in _part(part, full=full)]
    sign = "✗" if is_error else "←"
    shown = lines if full else lines[:RESULT_LINES]
    for line in shown:
        yield f"{sign} {line}".rstrip(" ")
    if len(shown) < len(lines):
        yield f"{sign} … {len(lines) - len(shown)} more lines (--full)"


def count(number: int, word: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def one_line(content: Content, columns: int) -> str:
    """The beginning of a message on one line of `columns` cells."""
    return clip(" ".join(" ".join(body(content, full=False)).split()), columns)


def ranges(names: Names, labels: Any) -> str:
    """Names as people write them: `45-67,80,7.1`."""
    return ",".join(filter(None, (str(names.numbers), *(labels(name) for name in sorted(names.items)))))
