"""A session on a terminal: its messages, the days, and what changed the context between them; the last screen first.

`show` prints it. Each message is laid out by itself, so that the end of a long session is on the screen before its
beginning is laid out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from ctxkit.api.log import Log
from ctxkit.cli.terminal import message_view, op_view, streams, summary_view
from ctxkit.cli.terminal.message_layout import MessageLayout, Spans
from ctxkit.core.assembly import Assembled, Assembly
from ctxkit.core.context import Entry
from ctxkit.core.item_names import Name
from ctxkit.core.transcript import ProgramCut
from ctxkit.explain.turning_points import TurningPoint, places, turning_points

NEWEST = 5000
"""Messages of a session that the pager gets when it opens at the end; --from-start gives it all of them."""
VOID, TOLD = "dim", "yellow"


class SessionPage:
    """The messages `names` of a log, with what is assembled `around` them."""

    def __init__(self, log: Log, names: Sequence[Name], around: Assembly, *, full: bool, expand: bool) -> None:
        self._log, self._names, self._expand = log, names, expand
        self._around = around
        self._made = MessageLayout(streams.Streams.columns, rich=streams.Streams.colour, full=full)
        self._clock = streams.clock()
        self._points: dict[int, list[TurningPoint]] = {}
        self._all = turning_points(log)
        for point, place in zip(self._all, places(log, names, self._all), strict=True):
            self._points.setdefault(place, []).append(point)

    def show(self, *, from_start: bool) -> None:
        """All of it; a pager opens at the end."""
        from_start = from_start or not streams.opens_at_end()
        first = 0 if from_start else max(0, len(self._names) - NEWEST)
        entries = self._log.entries(self._names[first:])
        around = self._around if not first else Assembly()
        blocks: list[Entry | Assembled] = list(around.around(entries, lambda entry: entry.role))
        offsets: list[int] = []
        place = first
        for one in blocks:
            offsets.append(place)
            place += not isinstance(one, Assembled)

        def block(i: int) -> Iterator[Spans]:
            if i == 0 and first:
                told = f"{first:,} earlier messages: ctxkit show LOG --from-start"
                yield self._made.divider(told, "dim")
            if i == len(blocks):
                yield from self._turns(len(self._names))
                return
            one = blocks[i]
            if isinstance(one, Assembled):
                yield from self._assembled(one)
            else:
                yield from self._entry(one, offsets[i])

        streams.out_from_end(len(blocks) + 1, block, from_start=from_start)
        if (last := self._time(len(self._names) - 1)) is not None:
            self._clock.time_after(last, None)  # what is said next stands behind it, whatever was laid out first

    def rows_since(self, seen: Set[Name], turns: int) -> Iterator[Spans]:
        """The messages that are not among `seen`, and the turning points behind the first `turns`."""
        old = set(map(id, self._all[:turns]))
        self._points = {
            place: [point for point in points if id(point) not in old] for place, points in self._points.items()
        }
        for place, name in enumerate(self._names):
            if name in seen:
                yield from self._turns(place)
            else:
                [entry] = self._log.entries([name])
                yield from self._entry(entry, place)
        yield from self._turns(len(self._names))

    @property
    def turns(self) -> int:
        """How many turning points there are."""
        return len(self._all)

    def _entry(self, entry: Entry, place: int) -> Iterator[Spans]:
        yield from self._turns(place)
        log, state = self._log, self._log.state()
        content = log.full(entry)
        moment = state.original(entry.name)
        before = self._time(place - 1)
        time = "" if moment is None else self._clock.time_after(moment, before)
        if moment is not None and (before is None or self._clock.day(moment) != self._clock.day(before)):
            yield self._made.divider(self._clock.day(moment), "bold")
        yield from self._made.header(
            state.label(entry.name), content.role, time, name=content.name, protected=entry.protected,
            notes=summary_view.notes(log, entry),
        )  # fmt: skip
        summary = entry.item is not None and entry.item.summary
        if not summary or self._expand or message_view.is_short(content):
            yield from self._made.body(content, markdown=summary)
        yield []

    def _time(self, place: int) -> float | None:
        """Of the message at this place; None where there is none, or it has no time."""
        return self._log.state().original(self._names[place]) if place >= 0 else None

    def _turns(self, place: int) -> Iterator[Spans]:
        for point in self._points.get(place, ()):
            what = point.what
            if isinstance(what, ProgramCut):
                said, style = what.label, TOLD
            else:
                said = f"{what.name} {op_view.what(self._log.state(), what)}".rstrip()
                said += f" · op {what.number}" + (f", undone by {what.voided_by}" if what.void else "")
                style = VOID if what.void else TOLD
            if point.sizes is not None and point.sizes[0] != point.sizes[1]:
                said += f" · {point.sizes[0]:,} → {point.sizes[1]:,} {point.unit}"
            yield self._made.divider(said, style)

    def _assembled(self, one: Assembled) -> Iterator[Spans]:
        """What is not in the log: without a number, for nothing can select it."""
        notes = f"assembled: {one.kind}" + (f" {one.source}" if one.source else "")
        yield from self._made.header("+", one.role, "", name=None, protected=False, notes=notes)
        yield from self._made.body(one.content)
        yield []
