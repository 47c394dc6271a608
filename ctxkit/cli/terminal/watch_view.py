"""Formats watched sessions: a panel each on a terminal, a line for each event elsewhere. Only `Screen` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import count, home_short
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.status_view import EMPTY, FULL, brief
from ctxkit.cli.terminal.style import WARNING, Line, Span, Styled, plain_text
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.times import spoken, written
from ctxkit.watch import claims
from ctxkit.watch.events import (
    AnyEvent,
    ArchiveDone,
    CheckpointMade,
    CompactionDone,
    CompactionFailed,
    CompactionSkipped,
    CompactionStarted,
    EndedAbnormally,
    LogReplaced,
    OpFromElsewhere,
    StatusChanged,
)

CRITICAL = 95.0
"""Percent from which on the bar is bold red."""
WIDEST = 30
"""Cells of a bar at most."""
SHORTEST = 12
"""Cells of a bar beside its figures at least; with less room it has a line of its own."""
_REPLACED = {
    "replaced": "another file has its name now: it is read anew",
    "truncated": "it became shorter: it is read anew",
    "rewritten": "other bytes stand in it now: it is read anew",
    "removed": "it was removed",
}


def words(event: AnyEvent) -> Line:
    """Return an event on one line."""
    name = home_short(event.log)
    match event:
        case StatusChanged():
            return [f"{_clock(event.time)} {name}: ", *_figure(event), _turn(event, ", waits for ")]
        case CompactionStarted():
            return [f"{name}: Condensing context…"]
        case CompactionDone():
            how = f", by rules: {event.fallback}" if event.fallback else ""
            go_on = f". To go on with it: {event.resume}" if event.resume else ""
            more = f" ({event.note})" if event.note else ""
            figures = f"{event.before:,} → {event.after:,} tokens"
            return [f"{name}: Context condensed ({figures}){how}{go_on}{more}"]
        case CompactionFailed():
            return [Styled(f"{name}: nothing was condensed: {event.reason}", WARNING)]
        case CompactionSkipped():
            why = f"{event.reason}: {event.detail}" if event.detail else event.reason
            why = event.detail if event.detail.startswith(event.reason) else why
            return [f"{name}: not condensed now: {why}"]
        case CheckpointMade():
            over = f"; {event.over} made by hand are over the bound: see snapshots" if event.over else ""
            more = f" ({event.note})" if event.note else ""
            return [f"{name}: checkpoint {event.id} ({', '.join(event.tags)}): {event.label}{over}{more}"]
        case EndedAbnormally():
            return [Styled(claims.ended(event), WARNING)]
        case LogReplaced():
            return [Styled(f"{name}: {_REPLACED[event.how]}", WARNING)]
        case OpFromElsewhere():
            return [f"{name}: updated elsewhere: {event.name} ({event.op})"]
        case ArchiveDone():
            failed = f"; {count(event.failed, 'file')} could not be copied" if event.failed else ""
            told = f"{event.copied:,} of {count(event.sessions, 'session')} copied, {event.bytes:,} bytes{failed}"
            return [f"{name}: {told}"]


def panel(event: StatusChanged, doing: str, width: int) -> Iterator[Line]:
    """Yield a session in lines of at most `width` cells. `doing`: a running action in words, or ""."""
    name = clip_start(safe(home_short(event.log), keep_newlines=False), width)
    about = "  ".join(filter(None, (event.format, event.model)))
    top: Line = [Styled(name, "bold")]
    if cells(name) + cells(safe(about)) + 2 <= width:
        top += ["  ", Styled(about, "dim")]
    yield top
    figure = _figure(event)
    if event.percent is not None:
        room = width - 3 - cells(plain_text(figure))
        if room < SHORTEST:
            yield ["  ", *_bar(event, min(WIDEST, width - 2))]
        else:
            figure = [*_bar(event, min(WIDEST, room)), " ", *figure]
    yield from wrapped(["  ", *figure], width, 2, hard=True)
    for parts in (_pace(event), _state(event)):
        if parts:
            yield from wrapped(["  " + " · ".join(parts)], width, 2, hard=True)
    if doing:
        yield from wrapped(["  ", Styled(doing, "cyan")], width, 2, hard=True)


def holder(note: claims.Note | None) -> str:
    """Return who acts on a log; "" if this watcher does."""
    return "" if note is None else f"watched by {claims.held_by(note)}: looking on"


def wrapped_line(line: Line, width: int) -> Iterator[Line]:
    """Break a line into lines of at most `width` cells."""
    return wrapped(line, width, 2, hard=True)


def screen(panels: Sequence[Sequence[Line]], height: int) -> list[Line]:
    """Return the first panels that fit into `height` lines; a last line counts the others."""
    shown: list[Line] = []
    for place, lines in enumerate(panels):
        rest = len(panels) - place - 1
        if shown and len(shown) + len(lines) + (rest > 0) > height:
            return [*shown, [Styled(f"… {rest + 1} more", "dim")]]
        shown += lines
    return shown[:height]


class Screen:
    """A part of a terminal that is repainted. `write` takes bytes; nothing else may write to the terminal meanwhile."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._shown: list[bytes] = []
        self._width = 0
        self._left = False

    def leave(self) -> None:
        """Paint the next lines below the cursor, because other programs wrote. A signal handler may call this."""
        self._left = True

    def paint(self, lines: Sequence[Sequence[Span]], width: int, above: Sequence[Sequence[Span]] = ()) -> None:
        """Replace the shown lines by `lines`; the lines `above` are printed before them and scroll away."""
        if self._left:
            self._left, self._shown, self._width = False, [], 0
        made = [streams.drawn(line) for line in lines]
        if made == self._shown and width == self._width and not above:
            return
        if self._width not in (0, width):
            start = b"\x1b[H\x1b[2J"  # the terminal wrapped the old lines again: their place is unknown
        else:
            start = b"\r" + (utf8(f"\x1b[{len(self._shown)}A") if self._shown else b"")
        text = b"".join(line + b"\x1b[K\r\n" for line in (*map(streams.drawn, above), *made))
        self._write(start + text + b"\x1b[J")
        self._shown, self._width = made, width


def _bar(event: StatusChanged, size: int) -> Line:
    filled = min(size, round((event.percent or 0) * size / 100))
    return [Styled(FULL * filled, _style(event)), Styled(EMPTY * (size - filled), "dim")]


def _style(event: StatusChanged) -> str:
    if event.percent is not None and event.percent >= CRITICAL:
        return "bold red"
    return event.level or ""


def _figure(event: StatusChanged) -> Line:
    """Return `61 % 122,000 of 200,000 tokens`."""
    if event.used is None:
        return ["not counted"]
    if event.percent is None or event.limit is None:
        return [f"{event.used:,} tokens"]
    share = "<1 %" if event.percent < 1 and event.used else f"{int(event.percent)} %"
    return [
        Styled(share, f"bold {_style(event).removeprefix('bold ')}".strip()),
        f" {event.used:,} of {event.limit:,} tokens",
    ]


def _pace(event: StatusChanged) -> list[str]:
    parts = []
    if event.per_minute:
        parts.append(f"{'+' if event.per_minute > 0 else '-'}{brief(abs(event.per_minute))}/min")
    if event.full_in is not None:
        parts.append(f"full in {spoken(max(60, event.full_in // 60 * 60))}")
    parts.append(count(event.messages, "message"))
    if turn := _turn(event, "waits for "):
        parts.append(turn)
    return parts


def _turn(event: StatusChanged, before: str) -> str:
    """Who acts next: the user, the assistant or a tool."""
    if not event.waits_for:
        return ""
    who = ", ".join(event.tools) if event.waits_for == "tool" and event.tools else f"the {event.waits_for}"
    return before + clip(safe(who, keep_newlines=False), 60)


def _state(event: StatusChanged) -> list[str]:
    parts = []
    if event.window:
        parts.append(f"window {spoken(event.window)}")
    if event.marks:
        newest = event.marks[-1] or "unnamed"
        parts.append(f"mark {newest}" if len(event.marks) == 1 else f"{len(event.marks)} marks, newest {newest}")
    if event.last_op is not None:
        when = _brief_time(event.last_op.time, event.time)
        parts.append(f"op {event.last_op.number} {event.last_op.name} {when}".rstrip())
    if event.checkpoint is not None:
        label = event.checkpoint.label or ", ".join(event.checkpoint.tags)
        parts.append(f"checkpoint {_brief_time(event.checkpoint.time, event.time)} {label}".rstrip())
    return [safe(part, keep_newlines=False) for part in parts]


def _clock(time: str | None) -> str:
    moment = written(time)
    return "" if moment is None else streams.clock().time(moment)


def _brief_time(time: str | None, now: str) -> str:
    """A time to the minute; without the date if `now` is on the same day."""
    moment, there = written(time), written(now)
    if moment is None:
        return ""
    clock = streams.clock()
    text = clock.bare(moment)
    day, minute = text[:10], text[11:16]
    return minute if there is not None and clock.day(there) == clock.day(moment) else f"{day} {minute}"
