"""The width of lines, and the parts of lists: columns, counts."""

from __future__ import annotations

import os
import sys

from ctxkit.cli.terminal.style import Line, Span, text_of
from ctxkit.cli.terminal.wrap import columns

ROOMY = 40
"""Width of a terminal from which on lists have columns and wide indents."""
UNBROKEN = 1 << 20
"""The width without a terminal."""


def width() -> int:
    """Return the width of the terminal for the result; 80 without one; at least 20."""
    return columns(sys.stdout)


def wrap_width() -> int:
    """Return the width at which lines are broken and names are cut: that of the terminal, else COLUMNS, else none.

    Excerpts of messages always have `width()`.
    """
    return width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else UNBROKEN


def spaced(*spans: Span) -> Line:
    """Join the spans that are not empty by two blanks."""
    found: Line = []
    for span in spans:
        if text_of(span):
            found += ["  ", span] if found else [span]
    return found


def count(number: int, word: str) -> str:
    """Return `1 message`, `2 messages`."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def home_short(folder: str) -> str:
    """Return a path with `~` for the home folder: `~/shop`."""
    home = os.path.expanduser("~")
    return "~" + folder[len(home) :] if folder == home or folder.startswith(home + os.sep) else folder


def near(origin: str) -> str:
    """Return an origin relative to the working folder, if it is a file there."""
    try:
        return origin.removeprefix(os.path.join(os.getcwd(), ""))
    except OSError:  # the working folder is gone
        return origin
