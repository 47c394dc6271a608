"""How wide lines may be, and the small things that all lists are made of: columns, counts, ranges of numbers."""

from __future__ import annotations

import os
import sys
from typing import Any

from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import columns
from ctxkit.core.item_names import Names

ROOMY = 40
"""From so many columns on, lists keep their columns."""
UNBROKEN = 1 << 20
"""Columns of what is no terminal."""


def width() -> int:
    """Columns of the terminal that the result goes to; 80 where there is none; never below 20."""
    return columns(sys.stdout)


def breadth() -> int:
    """Columns at which lines are broken and names are cut: of the terminal; where a program reads them, none.

    There COLUMNS counts, if it is set. Excerpts of messages have `width()` everywhere.
    """
    return width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else UNBROKEN


def spaced(*spans: str | Styled) -> list[str | Styled]:
    """Those that are not empty, two blanks between them."""
    found: list[str | Styled] = []
    for span in spans:
        if span if isinstance(span, str) else span.text:
            found += ["  ", span] if found else [span]
    return found


def count(number: int, word: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def ranges(names: Names, labels: Any) -> str:
    """Names as people write them: `45-67,80,7.1`."""
    return ",".join(filter(None, (str(names.numbers), *(labels(name) for name in sorted(names.items)))))
