"""The course of a context: how large it was at every message of a session, and what made it smaller.

Pure: figures in, figures out. `measure/timeline.py` reads them off a log; `cli/terminal/timeline_chart.py` draws
them. Where a provider counted a request, that is its size; between two that were
counted, the growth is shared out by the sizes of the rows; elsewhere the estimate goes on from the count that is
nearest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from ctxkit.core.derive.usage import whole

Weigh = Callable[[int, int], Sequence[float]]
"""The estimated tokens of the messages at places `start` to `end` (not included) of the path, each."""


class TimelinePoint(msgspec.Struct, frozen=True, gc=False):
    """The tokens of the context right after message `n`; `counted`: by the provider.

    A second one with the same `n` is what an event behind that message left.
    """

    n: int
    tokens: int
    counted: bool = False


class TimelineEvent(msgspec.Struct, frozen=True):
    """What stands behind message `n`: an op (its number, and its name as `kind`), or a `cut` of the log's own program.

    `label`: of a mark, or the program's word for what it did. `before`, `after`: tokens of the context. `point`: which
    of the points, from 0, is what it left.
    """

    n: int
    kind: str
    label: str
    op: int | None
    before: int
    after: int
    point: int


class Timeline(msgspec.Struct, frozen=True):
    """All of it, oldest first. `limit`: in tokens, None where it is not known; `counter`: what counted."""

    points: list[TimelinePoint]
    events: list[TimelineEvent]
    peak: int
    limit: int | None
    counter: str
    model: str


class Anchor(NamedTuple):
    """A reply that was counted: tokens of its `request`, and of the context right `after` it."""

    request: float
    after: float


class CutSize(NamedTuple):
    """A cut of the program's behind the first `place` messages of the path: estimated tokens that it took, or that it
    `left` of the messages, where these are fewer.
    """

    place: int
    taken: float
    left: float | None = None


class ProgramContext(NamedTuple):
    """The program's own context: its tokens after each message of the path, and around each cut."""

    values: list[float]
    cuts: list[tuple[float, float]]


def own(sizes: Sequence[int], anchors: Mapping[int, Anchor], cuts: Sequence[CutSize], weigh: Weigh) -> ProgramContext:
    """The course without any op. `sizes`: bytes of each message of the path; `anchors`: by place in the path; `cuts`:
    in their order.
    """
    values = [0.0] * len(sizes)
    around: list[tuple[float, float]] = [(0.0, 0.0)] * len(cuts)
    places = sorted(anchors)
    stand = [one.place for one in cuts]
    walk = _Walk(values, around, cuts, weigh)
    first = places[0] if places else len(sizes)
    start, overhead = walk.forward(0, first, 0.0, 0, bisect_right(stand, first)), 0.0
    if places:
        overhead = max(0.0, anchors[first].request - start)
        values[:first] = [value + overhead for value in values[:first]]
        for k in range(bisect_right(stand, first)):
            around[k] = around[k][0] + overhead, around[k][1] + overhead
    for i, place in enumerate(places):
        values[place] = anchors[place].after
        end = places[i + 1] if i + 1 < len(places) else len(sizes)
        low, high = bisect_right(stand, place), bisect_right(stand, end)
        if i + 1 == len(places):
            walk.forward(place + 1, end, anchors[place].after, low, len(cuts), overhead)
        elif low == high:
            _shared(values, sizes, place, end, anchors[end].request)
        else:
            walk.between(place + 1, end, anchors[place].after, anchors[end].request, low, high, overhead)
    return ProgramContext(values, around)


def _shared(values: list[float], sizes: Sequence[int], place: int, end: int, request: float) -> None:
    """The growth from one counted reply to the next request, shared out by the sizes of what came between."""
    total = sum(sizes[place + 1 : end]) or 1
    done, start = 0, values[place]
    for i in range(place + 1, end):
        done += sizes[i]
        values[i] = start + (request - start) * done / total


class _Walk(NamedTuple):
    values: list[float]
    around: list[tuple[float, float]]
    cuts: Sequence[CutSize]
    weigh: Weigh

    def forward(self, start: int, end: int, value: float, low: int, high: int, overhead: float = 0.0) -> float:
        """Estimates from `value` on, cuts `low` to `high` on the way; what it comes to."""
        for k in range(low, high):
            place, taken, kept = self.cuts[k]
            value = self._plain(start, place, value)
            start = max(start, place)
            self.around[k] = value, max(0.0, value - taken) if kept is None else overhead + kept
            value = self.around[k][1]
        return self._plain(start, end, value)

    def between(self, start: int, end: int, value: float, request: float, low: int, high: int, overhead: float) -> None:
        """From a counted reply over cuts to a request that was counted too: what is after the last is told by it."""
        last = self.cuts[high - 1].place
        left = self.forward(start, last, value, low, high - 1, overhead)
        came = list(accumulate(self.weigh(last, end)))
        after = max(0.0, request - (came[-1] if came else 0.0))
        self.around[high - 1] = left, after
        for i, more in zip(range(last, end), came, strict=True):
            self.values[i] = min(request, after + more)

    def _plain(self, start: int, end: int, value: float) -> float:
        if start < end:
            found = list(accumulate(self.weigh(start, end), initial=value))[1:]
            self.values[start:end] = found
            value = found[-1]
        return value


class TimelineChange(NamedTuple):
    """Something that stands behind the first `place` messages of the path. `delta`: tokens by which the ops in force
    make the context larger than the program's own from here on; `cut`: which of the cuts it is, None for an op;
    `slid`: tokens that windows hide right behind it.
    """

    place: int
    kind: str
    label: str
    op: int | None
    delta: float
    cut: int | None = None
    slid: float = 0.0


def course(
    path: Sequence[int], found: ProgramContext, changes: Sequence[TimelineChange], counted: Mapping[int, Anchor], *,
    around: int = 0, limit: int | None = None, counter: str = "", model: str = "", slid: Sequence[float] = (),
) -> Timeline:  # fmt: skip
    """Points and events: the own course, and what ops made of it. `around`: tokens that every request has besides;
    `slid`: tokens that windows hide behind each message of the path.

    What changes nothing is no event, but for marks; nor is a change without a kind.
    """
    points: list[TimelinePoint] = []
    events: list[TimelineEvent] = []
    delta, base, n, done, less = 0.0, 0.0, 0, 0, 0.0
    for change in (*changes, None):
        end = len(path) if change is None else change.place
        for i in range(done, end):
            n, base, less = path[i], found.values[i], slid[i] if slid else 0.0
            points.append(TimelinePoint(n, whole(base + delta - less) + around, i in counted))
        done = max(done, end)
        if change is None:
            break
        before, base = (base, base) if change.cut is None else found.cuts[change.cut]
        left, right = whole(before + delta - less) + around, whole(base + change.delta - change.slid) + around
        delta, less = change.delta, change.slid
        if left != right or (change.kind and not points):
            points.append(TimelinePoint(n, right))
        if change.kind and (change.kind == "mark" or left != right):
            events.append(TimelineEvent(n, change.kind, change.label, change.op, left, right, len(points) - 1))
    peak = max((point.tokens for point in points), default=0)
    return Timeline(points, events, peak, limit, counter, model)
