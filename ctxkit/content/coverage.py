"""Selects the lines that keep most for their tokens: a greedy cover. Pure.

The gain of a line is what it keeps that no selected line keeps. Gains only fall, except when the heading of a line is
paid for by another line of its group. So a line is weighed again only when it is the best one left, which takes
n log n for any budget.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush
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
    opened: set[Hashable] = set()
    members: dict[Hashable, list[int]] = {}
    for place, line in enumerate(lines):
        members.setdefault(line.group, []).append(place)

    def weighed(place: int) -> tuple[float, int, int]:
        line = lines[place]
        gain = line.own + sum(map(score, keeps[place]))
        tokens = line.tokens + (0 if line.group in opened else heading(line.group))
        return -gain / max(1, tokens), place, tokens

    heap = [weighed(place) for place in range(len(lines))]
    heapify(heap)
    waiting = bytearray(b"\1") * len(lines)
    taken: list[int] = []
    while heap:
        best = heappop(heap)
        place = best[1]
        if not waiting[place]:
            continue
        best = weighed(place)
        if heap and best > heap[0]:
            heappush(heap, best)
            continue
        waiting[place] = 0
        if best[0] == 0 or best[2] > budget:
            continue
        budget -= best[2]
        taken.append(place)
        for at in keeps[place]:
            worths[at] = 0.0
        group = lines[place].group
        if group not in opened:
            opened.add(group)
            for other in members[group]:
                if waiting[other]:
                    heappush(heap, weighed(other))
    return taken
