"""Selects the lines that keep most for their tokens: a greedy cover. Pure.

The gain of a line is what it keeps that no selected line keeps. Gains only fall, except when the heading of a line is
paid for by another line of its group. So a line is weighed again only when it is the best one left, which takes
n log n for any budget.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, NamedTuple


class Line(NamedTuple):
    """A line that can be selected. `keeps`: what it keeps, counted once however many lines keep it; `own`: the score of
    its own words; `tokens`: its size; `group`: lines of one group share a heading.
    """

    keeps: tuple[Hashable, ...]
    own: float
    tokens: int
    group: Hashable


def cover(
    lines: Sequence[Line], worth: Callable[[Hashable], float], heading: Callable[[Any], int], budget: int,
    there: Iterable[Hashable] = (),
) -> list[int]:  # fmt: skip
    """The places of the selected lines, the best first.

    `worth`: the score of what a line keeps; `heading`: the tokens of a group's heading; `there`: what is kept without
    any line.
    """
    places = dict.fromkeys(there, 0)
    worths = [0.0]
    """Place of what a line keeps -> its score; 0 once it is kept."""
    keeps: list[list[int]] = []
    for line in lines:
        own = []
        for one in line.keeps:
            at = places.get(one)
            if at is None:
                at = places[one] = len(worths)
                worths.append(worth(one))
            own.append(at)
        keeps.append(own)
    score = worths.__getitem__
    members: dict[Hashable, list[int]] = {}
    for place, line in enumerate(lines):
        members.setdefault(line.group, []).append(place)
    headings = {group: heading(group) for group in members}
    """Group -> the tokens of its heading; 0 once it is paid for."""
    owns = [line.own for line in lines]
    sizes = [line.tokens for line in lines]
    groups = [line.group for line in lines]

    def weighed(place: int) -> tuple[float, int, int]:
        tokens = sizes[place] + headings[groups[place]]
        return -(owns[place] + sum(map(score, keeps[place]))) / (tokens if tokens > 1 else 1), place, tokens

    heap = [weighed(place) for place in range(len(lines))]
    heapify(heap)
    waiting = bytearray(b"\1") * len(lines)
    taken: list[int] = []
    while heap:
        place = heap[0][1]
        if not waiting[place] or sizes[place] > budget:
            heappop(heap)
            continue
        best = weighed(place)
        if best > heap[0]:  # less than it was: another one may be better
            heapreplace(heap, best)
            continue
        heappop(heap)
        waiting[place] = 0
        if best[0] == 0:
            break
        if best[2] > budget:
            continue
        budget -= best[2]
        taken.append(place)
        for at in keeps[place]:
            worths[at] = 0.0
        group = groups[place]
        if headings[group]:
            headings[group] = 0
            for other in members[group]:
                if waiting[other] and sizes[other] <= budget:
                    heappush(heap, weighed(other))
    return taken
