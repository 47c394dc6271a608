"""Draws the tokens of a context over a session: columns of blocks in a terminal, or a step line as SVG.

`core/compare/timeline.py` makes the timeline; both drawings are made of the same columns. Nothing is printed here. The
SVG has no scripts, fonts or links, and light or dark colours; every text of a log is made safe and escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from ctxkit.cli.terminal.layout import ROOMY
from ctxkit.cli.terminal.safe_text import clip, safe
from ctxkit.cli.terminal.status_view import brief
from ctxkit.cli.terminal.style import Span, Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.compare.timeline import Timeline, TimelineEvent
from ctxkit.core.text.utf8 import utf8

BLOCKS = " ▁▂▃▄▅▆▇█"
TALL, SHORT = 12, 8
"""Rows of the columns; `SHORT` on a narrow terminal."""
COUNTED, ESTIMATED, LIMIT = "━", "─", "╌"
FALLS, RISES, MARK = "▼", "▲", "◆"
WORDS = {"hidden": "hidden by a filter"}
"""Texts for kinds of events that are no ops."""
HANG = 2
LISTED = 10
"""Events that are listed, the newest."""
FAR = 4
"""A limit above `FAR` times the highest point is not drawn: the columns would be flat."""


class Column(NamedTuple):
    """The points of one column: their highest `tokens`, whether a provider `counted` any, and the newest event."""

    tokens: int
    counted: bool
    event: TimelineEvent | None


def top(course: Timeline) -> int:
    """Return the tokens at the upper end of the scale."""
    return max(1, course.peak, course.limit if course.limit is not None and limited(course) else 0)


def limited(course: Timeline) -> bool:
    """Return whether the limit is low enough to be drawn."""
    return course.limit is not None and course.limit <= FAR * max(1, course.peak)


def lines(course: Timeline, width: int, *, yellow: float, red: float) -> Iterator[Sequence[Span]]:
    """Yield the chart, at most `width` cells wide; `yellow`, `red`: percent of the limit for these colours."""
    if not course.points:
        yield ["no messages"]
        return
    yield from wrapped([summary(course)], width, HANG)
    scale, height = top(course), TALL if width >= ROOMY else SHORT
    labels = {height - 1: brief(scale), height // 2 - 1: brief(scale // 2), 0: "0"}
    side = max(map(len, labels.values()))
    columns = bucketed(course, width - side - 1)
    styles = [_style(column.tokens, course.limit, yellow, red) for column in columns]
    line = _row(course.limit, scale, height) if course.limit is not None and limited(course) else -1
    for row in range(height - 1, -1, -1):
        blocks = [_cell(column.tokens, scale, height, row) for column in columns]
        coloured = [(LIMIT, "red") if row == line and c == " " else (c, s) for c, s in zip(blocks, styles, strict=True)]
        yield [f"{labels.get(row, ''):>{side}}{'┤' if row in labels else '│'}", *_joined(coloured)]
    yield [" " * side + "└", "".join(COUNTED if column.counted else ESTIMATED for column in columns)]
    if course.events:
        yield [" " * (side + 1), *_joined([_sign(column.event) for column in columns])]
    yield [" " * (side + 1) + _ends(course, len(columns))]
    for text in _legend(course):
        yield from wrapped([text], width, HANG, hard=True)


def bucketed(course: Timeline, count: int) -> list[Column]:
    """Return the timeline as `count` columns of one width; the last one has the tokens of the last point."""
    found = [Column(0, False, None)] * count
    total = len(course.points)
    for i, point in enumerate(course.points):
        for c in _span(i, total, count):
            found[c] = Column(max(found[c].tokens, point.tokens), found[c].counted or point.counted, None)
    found[-1] = found[-1]._replace(tokens=course.points[-1].tokens)
    for event in course.events:
        span = _span(event.point, total, count)
        c = span[-1] if event.kind == "mark" else span[0]
        other = found[c].event
        if event.kind != "mark" or other is None or other.kind == "mark":
            found[c] = found[c]._replace(event=event)
    return found


def _span(i: int, total: int, count: int) -> range:
    """The columns of a point."""
    first = i * count // total
    return range(first, max(first + 1, (i + 1) * count // total))


def _cell(tokens: int, scale: int, height: int, row: int) -> str:
    eighths = max(1, round(tokens * height * 8 / scale)) if tokens else 0
    return BLOCKS[max(0, min(8, eighths - 8 * row))]


def _row(limit: int, scale: int, height: int) -> int:
    return min(height - 1, limit * height // scale)


def _style(tokens: int, limit: int | None, yellow: float, red: float) -> str:
    if limit is None:
        return ""
    percent = 100 * tokens / limit
    return "red" if percent >= red else "yellow" if percent >= yellow else "green"


def _joined(coloured: Sequence[tuple[str, str]]) -> Iterator[Span]:
    """Join runs of one style, without blanks at the end."""
    runs = [
        (style, "".join(c for c, _ in run))
        for style, run in groupby(coloured, key=lambda one: one[1] * (one[0] != " "))
    ]
    if runs and not runs[-1][0]:
        runs[-1] = "", runs[-1][1].rstrip()
    for style, text in runs:
        yield Styled(text, style) if style else text


def sign(event: TimelineEvent) -> str:
    """Return the character of an event."""
    return MARK if event.kind == "mark" else FALLS if event.after < event.before else RISES


def _sign(event: TimelineEvent | None) -> tuple[str, str]:
    return (" ", "") if event is None else (sign(event), "cyan" if event.kind == "mark" else "bold")


def _ends(course: Timeline, room: int) -> str:
    first, last = f"{course.points[0].n:,}", f"{course.points[-1].n:,}"
    middle = "message" if room >= len(first) + len(last) + 9 and first != last else ""
    if first == last or len(first) + len(last) >= room:
        return clip(last, room)
    return f"{first}{middle:^{room - len(first) - len(last)}}{last}"


def summary(course: Timeline) -> str:
    """Return `62,842 tokens now · peak 155,129 at message 277 · limit 200,000`."""
    highest = next(point for point in course.points if point.tokens == course.peak)
    parts = [f"{course.points[-1].tokens:,} tokens now", f"peak {course.peak:,} at message {highest.n:,}"]
    parts += [f"limit {course.limit:,}"] if course.limit is not None else []
    return " · ".join(parts)


def describe(event: TimelineEvent) -> str:
    """Return `116  compacted by Claude Code at line 299: 154,492 → 63,421`, safe."""
    what = WORDS.get(event.kind) or (event.label if event.kind == "cut" else f"{event.kind} {event.label}".strip())
    what += f" (op {event.op})" if event.op is not None else ""
    figures = f": {event.before:,} → {event.after:,}" if event.before != event.after else ""
    return safe(f"{event.n:,}  {what}{figures}", keep_newlines=False)


def _legend(course: Timeline) -> Iterator[str]:
    if len(course.events) > LISTED:
        yield f"{len(course.events) - LISTED} earlier events: --json"
    for event in course.events[-LISTED:]:
        yield f"{sign(event)} {describe(event)}"
    counted = any(point.counted for point in course.points)
    keys = [f"{COUNTED} counted by the provider", f"{ESTIMATED} estimated"] if counted else []
    keys += [f"{LIMIT} limit"] if limited(course) else []
    if keys:
        yield "  ".join(keys)
    yield safe(f"tokens: {course.counter}", keep_newlines=False)


WIDTH, HEIGHT = 880, 400
"""Pixels of the SVG, in which a column is two wide."""
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 64, 56
"""Margins around the drawing, in pixels."""
PARTS = 4
"""Parts of the scale."""
APART = 13
"""Pixels between the labels of two events; a nearer event has only its tooltip."""
LABEL = 26
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


def svg(course: Timeline, name: str) -> str:
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


def _drawing(course: Timeline) -> Iterator[str]:
    right, floor, scale = WIDTH - RIGHT, HEIGHT - BOTTOM, top(course)

    def height(tokens: float) -> float:
        return floor - tokens * (floor - TOP) / scale

    for part in range(PARTS + 1):
        y = height(scale * part // PARTS)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        label = brief(scale * part // PARTS)
        yield f'<text class="muted" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    columns = bucketed(course, (right - LEFT) // 2)
    corners = [(x, height(tokens)) for tokens, *ends in _runs([column.tokens for column in columns]) for x in ends]
    path = " ".join(f"{x},{y:.1f}" for x, y in corners)
    yield f'<polygon class="area" points="{LEFT},{floor} {path} {right},{floor}"/>'
    yield f'<polyline class="line" points="{path}"/>'
    for counted, start, end in _runs([column.counted for column in columns]):
        if counted:
            yield f'<rect class="counted" x="{start}" y="{floor + 3}" width="{end - start}" height="4"/>'
    if course.limit is not None and limited(course):
        y = height(course.limit)
        yield f'<line class="limit" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
        yield f'<text class="over" x="{right}" y="{y - 5:.1f}" text-anchor="end">limit {course.limit:,}</text>'
    yield from _events(course, floor)
    first, last = course.points[0].n, course.points[-1].n
    yield f'<text class="muted" x="{LEFT}" y="{floor + 24}">{first:,}</text>'
    yield f'<text class="muted" x="{right}" y="{floor + 24}" text-anchor="end">{last:,}</text>'
    yield f'<text class="muted" x="{(LEFT + right) / 2:.0f}" y="{floor + 24}" text-anchor="middle">message</text>'
    side = f"rotate(-90 16 {(TOP + floor) / 2:.0f})"
    yield (
        f'<text class="muted" x="16" y="{(TOP + floor) / 2:.0f}" text-anchor="middle" transform="{side}">tokens</text>'
    )
    yield from _key(course, floor + 44)


def _runs(values: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of one value among the columns: the value, and the pixels where it starts and ends."""
    start = LEFT
    for value, run in groupby(values):
        end = start + 2 * len(list(run))
        yield value, start, end
        start = end


def _events(course: Timeline, floor: int) -> Iterator[str]:
    """A line for each event, with its text in a tooltip, and beside the line if there is room."""
    free, step = float(LEFT), (WIDTH - LEFT - RIGHT) / len(course.points)
    for event in course.events:
        kind = "mark" if event.kind == "mark" else "fall"
        x = LEFT + (event.point + 0.5 * (kind == "mark")) * step
        yield f"<g><title>{_escaped(describe(event))}</title>"
        yield f'<line class="{kind}" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{floor}" stroke-width="1.5"/>'
        if x - APART >= free:
            turned = f"rotate(-90 {x - 4:.1f} {floor - 6})"
            label = _escaped(clip(_label(event), LABEL))
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
