"""Draws the tokens of a context over a session as SVG, without scripts, fonts or links, in light or dark colours.

`cli/terminal/timeline_chart.py` draws the chart in a terminal. Every text of a log is made safe and escaped here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from ctxkit.cli.terminal.safe_text import clip, safe
from ctxkit.cli.terminal.status_view import brief
from ctxkit.cli.terminal.timeline_chart import describe, limited, summary, top
from ctxkit.core.compare.timeline import Timeline, TimelineEvent
from ctxkit.core.text.utf8 import utf8

WIDTH, HEIGHT = 880, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 64, 56
"""Margins around the drawing, in pixels."""
LINES = 4
"""Parts of the scale; also points on one pixel that are all drawn."""
APART = 13
"""Pixels between the labels of two events; a nearer event has only its tooltip."""
WORDS = 26
"""Cells of a label at most."""
STYLE = """
text{fill:#1f2328;font:12px system-ui,sans-serif}
.title{font-size:15px;font-weight:600}
.muted{fill:#59636e}
.back{fill:#ffffff}
.grid{stroke:#d1d9e0}
.area{fill:#0969da;fill-opacity:.15}
.line{stroke:#0969da;stroke-width:1.5;fill:none;stroke-linejoin:round}
.counted{fill:#0969da}
.limit{stroke:#cf222e;stroke-dasharray:6 4}
.over{fill:#cf222e}
.fall{stroke:#bc4c00;stroke-dasharray:2 3}
.mark{stroke:#1a7f37;stroke-dasharray:2 3}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}
.muted{fill:#9198a1}
.back{fill:#0d1117}
.grid{stroke:#3d444d}
.area,.counted{fill:#4493f8}
.line{stroke:#4493f8}
.limit{stroke:#f85149}
.over{fill:#f85149}
.fall{stroke:#db6d28}
.mark{stroke:#3fb950}
}
"""


def drawn(course: Timeline, name: str) -> str:
    """Return the SVG document. `name`: of the log, without its folder."""
    title = safe(f"{name}: tokens over the session", keep_newlines=False)
    text = summary(course) if course.points else "no messages"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            'role="img" aria-labelledby="title about">',
            f'<title id="title">{_escaped(title)}</title>',
            f'<desc id="about">{_escaped(text)}</desc>',
            f"<style>{STYLE}</style>",
            f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text class="title" x="{LEFT}" y="24">{_escaped(clip(title, 90))}</text>',
            f'<text class="muted" x="{LEFT}" y="42">{_escaped(text)}</text>',
            *(_drawing(course) if course.points else ()),
            "</svg>",
            "",
        ]
    )


def _escaped(text: str) -> str:
    return escape(utf8(text).decode())


class _Scale:
    """Converts points and tokens to pixels; all points are steps of one width."""

    def __init__(self, course: Timeline) -> None:
        self.steps = len(course.points)
        self.top = top(course)

    def x(self, point: float) -> float:
        return LEFT + point * (WIDTH - LEFT - RIGHT) / self.steps

    def y(self, tokens: float) -> float:
        return HEIGHT - BOTTOM - tokens * (HEIGHT - TOP - BOTTOM) / self.top


def _drawing(course: Timeline) -> Iterator[str]:
    scale = _Scale(course)
    right, floor = WIDTH - RIGHT, HEIGHT - BOTTOM
    for part in range(LINES + 1):
        tokens = scale.top * part // LINES
        y = scale.y(tokens)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text class="muted" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{brief(tokens)}</text>'
    points = list(_thinned(course, scale))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polygon class="area" points="{points[0][0]:.1f},{floor} {path} {points[-1][0]:.1f},{floor}"/>'
    yield f'<polyline class="line" points="{path}"/>'
    yield from _counted(course, scale)
    if course.limit is not None and limited(course):
        y = scale.y(course.limit)
        yield f'<line class="limit" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text class="over" x="{right}" y="{y - 5:.1f}" text-anchor="end">limit {course.limit:,}</text>'
    yield from _events(course, scale)
    first, last = course.points[0].n, course.points[-1].n
    yield f'<text class="muted" x="{LEFT}" y="{floor + 24}">{first:,}</text>'
    yield f'<text class="muted" x="{right}" y="{floor + 24}" text-anchor="end">{last:,}</text>'
    yield f'<text class="muted" x="{(LEFT + right) / 2:.0f}" y="{floor + 24}" text-anchor="middle">message</text>'
    side = f"rotate(-90 16 {(TOP + floor) / 2:.0f})"
    yield (
        f'<text class="muted" x="16" y="{(TOP + floor) / 2:.0f}" text-anchor="middle" transform="{side}">tokens</text>'
    )
    yield from _key(course, floor + 44)


def _thinned(course: Timeline, scale: _Scale) -> Iterator[tuple[float, float]]:
    """The corners of the steps; of many points on one pixel only the first, the extremes and the last."""
    ready = ((i, point.tokens) for i, point in enumerate(course.points))
    for _, group in groupby(ready, key=lambda one: round(scale.x(one[0]))):
        some = list(group)
        kept: Sequence[tuple[int, int]] = some
        if len(some) > LINES:
            low, high = min(some, key=lambda one: one[1]), max(some, key=lambda one: one[1])
            kept = sorted({some[0], low, high, some[-1]})
        for i, tokens in kept:
            yield scale.x(i), scale.y(tokens)
            yield scale.x(i + 1), scale.y(tokens)


def _counted(course: Timeline, scale: _Scale) -> Iterator[str]:
    """A band below the drawing marks points that the provider counted, one rectangle for each run of pixels."""
    runs: list[list[float]] = []
    for i, point in enumerate(course.points):
        if point.counted:
            start, end = scale.x(i), scale.x(i + 1)
            if runs and start <= runs[-1][1] + 1:
                runs[-1][1] = end
            else:
                runs.append([start, end])
    for start, end in runs:
        width = max(1.0, end - start)
        yield f'<rect class="counted" x="{start:.1f}" y="{HEIGHT - BOTTOM + 3}" width="{width:.1f}" height="4"/>'


def _events(course: Timeline, scale: _Scale) -> Iterator[str]:
    """A line for each event, with its text in a tooltip, and beside the line if there is room."""
    free, floor = float(LEFT), HEIGHT - BOTTOM
    for event in course.events:
        kind = "mark" if event.kind == "mark" else "fall"
        x = scale.x(event.point + 0.5 * (kind == "mark"))
        yield f"<g><title>{_escaped(describe(event))}</title>"
        yield f'<line class="{kind}" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{floor}" stroke-width="1.5"/>'
        if x - APART >= free:
            turned = f"rotate(-90 {x - 4:.1f} {floor - 6})"
            label = _escaped(clip(_label(event), WORDS))
            yield f'<text class="muted" x="{x - 4:.1f}" y="{floor - 6}" transform="{turned}">{label}</text>'
            free = x
        yield "</g>"


def _label(event: TimelineEvent) -> str:
    """Return `compacted 154k → 63k`, or the name of a mark."""
    words = event.label.partition(" by ")[0] if event.kind == "cut" else event.label or event.kind
    figures = f" {brief(event.before)} → {brief(event.after)}" if event.before != event.after else ""
    return safe(words + figures, keep_newlines=False)


def _key(course: Timeline, y: int) -> Iterator[str]:
    """The legend: the band, and the name of the counter."""
    x = LEFT
    if any(point.counted for point in course.points):
        yield f'<rect class="counted" x="{LEFT}" y="{y - 6}" width="18" height="4"/>'
        yield f'<text class="muted" x="{LEFT + 24}" y="{y}">counted by the provider</text>'
        x += 190
    name = _escaped(clip(safe(course.counter, keep_newlines=False), 90))
    yield f'<text class="muted" x="{x}" y="{y}">tokens: {name}</text>'
