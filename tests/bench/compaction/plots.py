"""The plots of the benchmarks in docs/pictures: lines over a scale, as SVG in the reader's light or dark colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

WIDTH, HEIGHT = 880, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 220, 56, 56
"""Margins around the drawing, in pixels; the names stand to its right."""
APART = 16
"""Pixels between two names."""
COLOURS = (
    ("#0969da", "#4493f8"), ("#8250df", "#ab7df8"), ("#bc4c00", "#db6d28"), ("#1a7f37", "#3fb950"),
    ("#9a6700", "#d29922"), ("#bf3989", "#db61a2"), ("#0a7ea4", "#39c5cf"), ("#57606a", "#9198a1"),
    ("#cf222e", "#f85149"), ("#6e7781", "#768390"),
)  # fmt: skip
"""Of each line: on light, on dark."""


class Line(NamedTuple):
    """A line of a plot: its name and its points, in the units of the scales. `strong`: drawn thicker."""

    name: str
    points: Sequence[tuple[float, float]]
    strong: bool = False


class Scale(NamedTuple):
    """An axis from 0 to `top`. `ticks`: values with the words for them; `words`: below or beside it."""

    top: float
    ticks: Sequence[tuple[float, str]]
    words: str


def drawn(title: str, about: str, lines: Sequence[Line], across: Scale, up: Scale) -> str:
    """The whole document."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'role="img" aria-labelledby="title about">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="about">{escape(about)}</desc>',
            f"<style>{_style(len(lines))}</style>",
            f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
            f'<text class="muted" x="{LEFT}" y="42">{escape(about)}</text>',
            *_scales(across, up),
            *_lines(lines, across, up),
            "</svg>",
            "",
        ]
    )


def _style(count: int) -> str:
    light = "".join(f".c{k}{{stroke:{one}}}.t{k}{{fill:{one}}}" for k, (one, _) in enumerate(COLOURS[:count]))
    dark = "".join(f".c{k}{{stroke:{one}}}.t{k}{{fill:{one}}}" for k, (_, one) in enumerate(COLOURS[:count]))
    return (
        "\ntext{fill:#1f2328;font:12px system-ui,sans-serif}\n.title{font-size:15px;font-weight:600}\n"
        ".muted{fill:#59636e}\n.back{fill:#ffffff}\n.grid{stroke:#d1d9e0}\n"
        "polyline{fill:none;stroke-width:1.5;stroke-linejoin:round}\n.strong{stroke-width:3}\ntext.strong{font-weight:600}\n"
        f"{light}\n@media (prefers-color-scheme:dark){{\ntext{{fill:#f0f6fc}}\n.muted{{fill:#9198a1}}\n"
        f".back{{fill:#0d1117}}\n.grid{{stroke:#3d444d}}\n{dark}\n}}\n"
    )


def _x(value: float, scale: Scale) -> float:
    return LEFT + value * (WIDTH - LEFT - RIGHT) / scale.top


def _y(value: float, scale: Scale) -> float:
    return HEIGHT - BOTTOM - value * (HEIGHT - TOP - BOTTOM) / scale.top


def _scales(across: Scale, up: Scale) -> Iterator[str]:
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    for value, words in up.ticks:
        y = _y(value, up)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text class="muted" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(words)}</text>'
    for value, words in across.ticks:
        x = _x(value, across)
        yield f'<line class="grid" x1="{x:.1f}" y1="{floor}" x2="{x:.1f}" y2="{floor + 5}"/>'
        yield f'<text class="muted" x="{x:.1f}" y="{floor + 20}" text-anchor="middle">{escape(words)}</text>'
    middle, centre = (LEFT + right) / 2, (TOP + floor) / 2
    yield f'<text class="muted" x="{middle:.0f}" y="{floor + 42}" text-anchor="middle">{escape(across.words)}</text>'
    turned = f'text-anchor="middle" transform="rotate(-90 16 {centre:.0f})"'
    yield f'<text class="muted" x="16" y="{centre:.0f}" {turned}>{escape(up.words)}</text>'


def _lines(lines: Sequence[Line], across: Scale, up: Scale) -> Iterator[str]:
    """Each line, and its name right of the drawing, at the height of its end, names moved apart."""
    places = _apart([_y(line.points[-1][1], up) for line in lines])
    for k, (line, place) in enumerate(zip(lines, places, strict=True)):
        strong = " strong" * line.strong
        points = [(_x(x, across), _y(y, up)) for x, y in line.points]
        yield f'<polyline class="c{k}{strong}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
        for x, y in points:
            yield f'<circle class="t{k}" cx="{x:.1f}" cy="{y:.1f}" r="{3 if line.strong else 2}"/>'
        yield f'<text class="t{k}{strong}" x="{WIDTH - RIGHT + 10}" y="{place + 4:.1f}">{escape(line.name)}</text>'


def _apart(wanted: Sequence[float]) -> list[float]:
    """These heights, moved so that no two are nearer than APART, in the same order, as a whole in the drawing."""
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    found = list(wanted)
    for one, other in pairwise(order):
        found[other] = max(found[other], found[one] + APART)
    floor = float(HEIGHT - BOTTOM)
    for k in reversed(order):
        found[k] = min(found[k], floor)
        floor = found[k] - APART
    return found
