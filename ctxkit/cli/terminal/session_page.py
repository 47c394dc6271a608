"""Prints a session on a terminal for `show`: its messages, days, and the changes of the context; the last screen first.

Each message is laid out by itself, so that the end of a long session is visible before its beginning is laid out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence, Set

from ctxkit.api.log import Log
from ctxkit.cli.terminal import message_view, op_view, streams, summary_view
from ctxkit.cli.terminal.message_layout import MessageLayout
from ctxkit.cli.terminal.style import Line, dimmed
from ctxkit.core.assembly import Assembled, Assembly
from ctxkit.core.context import Entry
from ctxkit.core.item_names import Name
from ctxkit.core.transcript import ProgramCut
from ctxkit.explain.turning_points import TurningPoint, places, turning_points

NEWEST = 5000
"""Messages that a pager gets if it opens at the end; --from-start gives it all of them."""
VOID, IN_FORCE = "dim", "yellow"


class SessionPage:
    """The messages `names` of a log, with the assembled texts `around` them.

    `outs`: those that are out of the context, and why. `between`: only turning points between two of the messages.
    """

    def __init__(
        self, log: Log, names: Sequence[Name], around: Assembly, *, full: bool,
        outs: Mapping[Name, str] | None = None, between: bool = False,
    ) -> None:  # fmt: skip
        self._outs = outs or {}
        self._log, self._names, self._full = log, names, full
        self._around = around
        self._layout = MessageLayout(streams.Streams.columns, rich=streams.Streams.colour, full=full)
        self._clock = streams.clock()
        self._points: dict[int, list[TurningPoint]] = {}
        self._all = turning_points(log)
        for point, place in zip(self._all, places(log, names, self._all), strict=True):
            if not between or 0 < place < len(names):
                self._points.setdefault(place, []).append(point)

    def show(self, *, from_start: bool) -> None:
        """Print the whole session; a pager opens at the end."""
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

        def block(i: int) -> Iterator[Line]:
            if i == 0 and first:
                log = self._log.opening.name
                more = f"{first:,} earlier messages: ctxkit show {shlex.quote(log)} --from-start"
                yield from self._layout.divider(more, "dim")
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
            self._clock.time_after(
                last, None
            )  # later times are relative to the last message, though it was laid out first

    def rows_since(self, seen: Set[Name], turns: int) -> Iterator[Line]:
        """Yield the messages that are not in `seen`, and the turning points after the first `turns`."""
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
        """The number of turning points."""
        return len(self._all)

    def _entry(self, entry: Entry, place: int) -> Iterator[Line]:
        yield from self._turns(place)
        log, state = self._log, self._log.state()
        content = log.full(entry)
        moment = state.original(entry.name)
        before = self._time(place - 1)
        if moment is not None and (before is None or self._clock.day(moment) != self._clock.day(before)):
            offset = self._clock.offset(moment)
            new = offset != "Z" and (before is None or offset != self._clock.offset(before))
            yield from self._layout.divider(self._clock.day(moment) + (f" ({offset})" if new else ""), "bold")
            before = moment  # the divider has the offset, so that all times are of one width
        time = "" if moment is None else self._clock.time_after(moment, before)
        out = self._outs.get(entry.name, "")
        yield from self._layout.header(
            state.label(entry.name), content.role, time, name=content.name, protected=entry.protected,
            notes=summary_view.notes(log, entry, out),
        )  # fmt: skip
        summary = entry.item is not None and entry.item.summary
        if not summary or self._full or message_view.is_short(content):
            body = self._layout.body(content, markdown=summary)
            yield from map(dimmed, body) if out else body
        yield []

    def _time(self, place: int) -> float | None:
        """The time of the message at this place; None without a message or a time."""
        return self._log.state().original(self._names[place]) if place >= 0 else None

    def _turns(self, place: int) -> Iterator[Line]:
        for point in self._points.get(place, ()):
            what = point.what
            if isinstance(what, ProgramCut):
                text, style = what.label, IN_FORCE
            else:
                text = f"{self._log.ledger.name_of(what)} {op_view.what(self._log.state(), what)}".rstrip()
                text += f" · op {what.number}" + (f", undone by {what.voided_by}" if what.void else "")
                style = VOID if what.void else IN_FORCE
            if point.sizes is not None and point.sizes[0] != point.sizes[1]:
                text += f" · {point.sizes[0]:,} → {point.sizes[1]:,} {point.unit}"
            yield from self._layout.divider(text, style)

    def _assembled(self, one: Assembled) -> Iterator[Line]:
        """A text that is not in the log; it has no number, because it cannot be selected."""
        notes = f"assembled: {one.kind}" + (f" {one.source}" if one.source else "")
        yield from self._layout.header("+", one.role, "", name=None, protected=False, notes=notes)
        yield from self._layout.body(one.content)
        yield []
