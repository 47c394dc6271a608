"""Labelled rows: a label, then its lines; beside it where there is room, below it on a narrow terminal.

Used by `status` and `show --explain`. Every word passes `safe()` here, before it is measured and broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxkit.cli.terminal.safe_text import safe
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import wrapped

Span = str | Styled
BESIDE = 40
"""Columns from which on the label stands beside its lines."""
LABEL = 10
INDENT = 2


def room(width: int) -> int:
    """Cells that a line has for itself."""
    return width - (LABEL if width >= BESIDE else INDENT)


def rows(label: str, lines: Sequence[Sequence[Span]], width: int) -> Iterator[list[Span]]:
    """The lines of one row, none wider than `width`; nothing for a row without lines."""
    beside = width >= BESIDE
    head: list[Span] = [Styled(f"{label:<{LABEL}}", "dim")]
    if lines and not beside:
        yield [Styled(label, "dim")]
    for number, line in enumerate(lines):
        start = head if beside and number == 0 else [" " * (LABEL if beside else INDENT)]
        for broken, piece in enumerate(wrapped([_safe(span) for span in line], room(width), 2, hard=True)):
            yield [*(start if broken == 0 else [" " * (LABEL if beside else INDENT)]), *_joined(piece)]


def _joined(line: Sequence[Span]) -> Iterator[Span]:
    """The same with the blanks between words of one style in that style: fewer changes of colour."""
    last: Span = ""
    for span in line:
        text, style = (span, None) if isinstance(span, str) else span
        if isinstance(last, Styled) and (style == last.style or not text.strip()):
            last = Styled(last.text + text, last.style)
        elif isinstance(last, str) and style is None:
            last += text
        else:
            yield last
            last = span
    yield last


def _safe(span: Span) -> Span:
    if isinstance(span, str):
        return safe(span, keep_newlines=False)
    return Styled(safe(span.text, keep_newlines=False), span.style)
