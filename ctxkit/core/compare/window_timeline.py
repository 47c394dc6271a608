"""What time windows hid at every message of a session, as they went on with it.

Pure: `measure/timeline.py` reads times, tokens and windows off a log, `timeline.py` adds what is found here. A window
counts from the newest message that was there at that point (replay 40); what it hides comes back only with a wider one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from ctxkit.core.sets.ranges import Ranges


class WindowStage(NamedTuple):
    """From behind the first `place` messages of the path on, until the next stage. `screened`: messages of it that no
    window can hide from here on, as ops hide them anyway or as they are protected; `open`: those that one can. Of the
    others, it is as before. `seconds`: the windows by agent, None for all others, 0 for off.
    """

    place: int
    screened: Ranges
    open: Ranges
    seconds: Mapping[str | None, int]


class HiddenByWindow(NamedTuple):
    """Tokens that windows hide: behind each message of the path, and right at the start of each stage."""

    behind: list[float]
    starts: list[float]


def slid(
    path: Sequence[int], moments: Sequence[float | None], agents: Sequence[str | None], tokens: Sequence[float],
    stages: Sequence[WindowStage],
) -> HiddenByWindow:  # fmt: skip
    """What windows hid. All but `stages` are by place in the path, which ascends; the first stage starts at 0."""
    groups = _groups(agents, moments, stages)
    known = (moment if moment is not None else float("-inf") for moment in moments)
    newest = list(accumulate(known, max))
    behind, starts = [0.0] * len(path), list[float]()
    place_of = {n: place for place, n in enumerate(path)}
    gone, screened = set[int](), set[int]()
    hidden = 0.0
    for stage, end in zip(stages, [*(one.place for one in stages[1:]), len(path)], strict=True):
        now = newest[stage.place - 1] if stage.place else float("-inf")
        closed, opened = ({place_of[n] for n in numbers} for numbers in (stage.screened, stage.open))
        hidden += sum(tokens[place] for place in opened & screened & gone)
        hidden -= sum(tokens[place] for place in (closed - screened) & gone)
        screened.difference_update(opened)
        screened.update(closed)
        for group in groups:
            left, back = group.begin(stage, now)
            hidden += sum(tokens[place] for place in left if place not in screened)
            hidden -= sum(tokens[place] for place in back if place not in screened)
            gone.update(left)
            gone.difference_update(back)
        starts.append(hidden)
        for i in range(stage.place, end):
            for group in groups:
                left = group.until(newest[i], i)
                hidden += sum(tokens[place] for place in left if place not in screened)
                gone.update(left)
            behind[i] = hidden
    return HiddenByWindow(behind, starts)


class _Group:
    """The messages of one agent, or of all that have no window of their own, in order; those without a time stay."""

    def __init__(self, agent: str | None, places: list[int], moments: Sequence[float | None]) -> None:
        self.agent = agent
        known = [(place, moment) for place in places if (moment := moments[place]) is not None]
        self.places = [place for place, _ in known]
        self.moments = list(accumulate((moment for _, moment in known), max))
        self.reached, self.seconds = 0, 0

    def begin(self, stage: WindowStage, now: float) -> tuple[Sequence[int], Sequence[int]]:
        """The places that leave, and that come back, at the start of a stage."""
        self.seconds = stage.seconds.get(self.agent, stage.seconds.get(None, 0))
        there, before = bisect_right(self.places, stage.place - 1), self.reached
        self.reached = min(there, bisect_right(self.moments, now - self.seconds)) if self.seconds else 0
        return self.places[before : self.reached], self.places[self.reached : before]

    def until(self, now: float, i: int) -> Sequence[int]:
        """The places that leave when the newest message is `i`, of the time `now`."""
        start = self.reached
        while (
            self.seconds and self.reached < len(self.places) and self.places[self.reached] < i
            and self.moments[self.reached] <= now - self.seconds
        ):  # fmt: skip
            self.reached += 1
        return self.places[start : self.reached]


def _groups(
    agents: Sequence[str | None], moments: Sequence[float | None], stages: Sequence[WindowStage]
) -> list[_Group]:
    own = {agent for stage in stages for agent in stage.seconds if agent is not None}
    found: dict[str | None, list[int]] = {}
    for place, agent in enumerate(agents):
        found.setdefault(agent if agent in own else None, []).append(place)
    return [_Group(agent, places, moments) for agent, places in found.items()]
