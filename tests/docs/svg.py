"""What a terminal shows, drawn: lines of text with the styles of `ctxkit/cli/terminal/style.py`, as an SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import STYLES

CELL, LINE, BASE, MARGIN = 8.4, 19, 14, 14
"""Width and height of a cell, where letters stand in it, and the border; pixels."""
COLOURS = {"red": "#f2777a", "green": "#99cc99", "yellow": "#ffcc66", "cyan": "#66cccc"}
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)m")
CODES = {code: name for name, code in STYLES.items()}
FONT = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"


def drawn(title: str, screen: str, columns: int) -> str:
    """The SVG of a screen: a prompt with the command, then its output."""
    lines = [f"$ {title}", *screen.rstrip("\n").split("\n")]
    width, height = columns * CELL + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        f'height="{height}" role="img" font-family="{FONT}" font-size="14">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" rx="6" fill="#1f2227"/>',
    ]
    for number, line in enumerate(lines):
        y = MARGIN + number * LINE + BASE
        rows += list(_spans(line, y))
    return "\n".join([*rows, "</svg>", ""])


def _spans(line: str, y: int) -> Iterator[str]:
    """The pieces of a line, each in its style, placed by cells so that no font can move what follows."""
    x, styles = 0, list[str]()
    for i, piece in enumerate(SEQUENCE.split(line)):
        if i % 2:
            styles = [] if piece in ("", "0") else [CODES[code] for code in piece.split(";")]
            continue
        for word in re.findall(r"\S+(?: \S+)*", piece):
            at = x + cells(piece[: piece.index(word)])
            yield (
                f'<text x="{MARGIN + at * CELL:.1f}" y="{y}" textLength="{cells(word) * CELL:.1f}" {_look(styles)}'
                f'xml:space="preserve">{escape(word)}</text>'
            )
            x += cells(piece[: piece.index(word)]) + cells(word)
            piece = piece[piece.index(word) + len(word) :]
        x += cells(piece)


def _look(styles: list[str]) -> str:
    colour = next((COLOURS[style] for style in styles if style in COLOURS), "#d8dee6")
    bold = ' font-weight="bold"' if "bold" in styles else ""
    dim = ' opacity="0.6"' if "dim" in styles else ""
    return f'fill="{colour}"{bold}{dim} '
