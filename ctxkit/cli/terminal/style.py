"""The few styles that the human forms use, and whether this run may use them.

A style is added behind `safe()`, by `streams` and `layout` alone: nothing in a transcript can colour anything. Rules:
NO_COLOR (no-color.org) and CLICOLOR, CLICOLOR_FORCE (bixense.com/clicolors).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

STYLES = {
    "bold": "1", "dim": "2", "italic": "3", "underline": "4", "strike": "9",
    "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36",
}  # fmt: skip
WARNING, ERROR = "yellow", "red"
"""The styles of what is warned of, and of what went wrong."""


class Styled(NamedTuple):
    """Text in a style; several are joined by a blank: `bold red`."""

    text: str
    style: str


def allowed(env: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether a stream may be coloured: first that speaks, NO_COLOR, CLICOLOR_FORCE, then terminals that can."""
    if env.get("NO_COLOR"):
        return False
    if env.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return terminal and env.get("CLICOLOR", "1") != "0" and env.get("TERM") != "dumb"


def painted(safe_text: str, style: str) -> str:
    """`safe_text`, which holds no control characters any more, in `style`."""
    codes = ";".join(STYLES[word] for word in style.split())
    return f"\x1b[{codes}m{safe_text}\x1b[0m" if codes and safe_text else safe_text
