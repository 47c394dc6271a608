"""Increments: what each message between two counted requests comes to, by the difference of these two.

A request that a provider counted says what all messages before it hold together; the next one says what came between.
Within such a stretch the difference is shared out by estimates. A stretch may hold less than nothing: something left
the context that no row tells of, reasoning of an exchange that is over, or old results that the program cleared. A
forget of that stretch takes this back, too, so that no context is said to be smaller than what requests had. And what
left was before that stretch: where only it is kept, nothing leaves, and the context holds what stands around it.

Pure. Figures in, figures out. `measure/usage.py` reads them off a log, `measure/size.py` adds them up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

Weigh = Callable[[int, int], Sequence[float]]
"""The estimated tokens of the messages at places `start` to `end` (not included), each."""


class Increments:
    """Tokens of a context before each of its messages. `end`: the place behind the last one, and tokens of all;
    `newest`: place and tokens of each counted request, newest first, read only as far as is asked for.

    `base`: tokens that stand around the messages, where the first request, at this place, had so many; `least`: those
    that every request has.
    """

    def __init__(
        self, end: tuple[int, float], newest: Iterator[tuple[int, float]], weigh: Weigh,
        base: Callable[[int, float], float], least: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self._newest, self._weigh, self._base, self.least = newest, weigh, base, least
        self._falling = [end]
        """Place and tokens of each request that was read, newest first; the last is the start of the context."""
        self._shared: dict[int, list[float]] = {}
        """Place of a request -> the tokens before each message from there to the next request."""

    def before(self, place: int) -> float:
        """Tokens of the context before the message at `place`."""
        found, at = self._falling, self._at(place)
        start, tokens = found[at]
        if start == place or at == 0:
            return tokens
        if start not in self._shared:
            end, after = found[at - 1]
            self._shared[start] = _shared(tokens, after, self._weigh(start, end))
        return self._shared[start][place - start]

    def between(self, start: int, end: int) -> float:
        """Tokens of the messages at places `start` to `end` (not included)."""
        return self.before(end) - self.before(start)

    @cached_property
    def falls(self) -> bool:
        """Whether any request was smaller than the one before it."""
        self.before(0)
        return any(later < earlier for (_, later), (_, earlier) in pairwise(self._falling))

    def parts(self, start: int, end: int) -> Iterator[tuple[int, int, int | None]]:
        """The places from `start` to `end` by the requests that they lie between: the first, the one behind the last;
        and, where the later request was smaller, the place of the earlier one.
        """
        while start < end:
            at = self._at(start)
            place, tokens = self._falling[at]
            behind, later = self._falling[at - 1] if at else (end, tokens)
            until = min(behind, end)
            yield start, until, place if later < tokens else None
            start = until

    def weight(self, start: int, end: int) -> float:
        """What the messages at these places, which lie between two requests, are estimated at."""
        return sum(self._weigh(start, end))

    def _at(self, place: int) -> int:
        """Which of the requests is the newest that does not lie behind `place`."""
        while self._falling[-1][0] > place:
            self._read()
        return bisect_left(self._falling, -place, key=lambda one: -one[0])

    def _read(self) -> None:
        """The next older request; the start of the context where there is none."""
        place, request = self._falling[-1]
        self._falling.append(next(self._newest, (0, self._base(place, request))))


class IncrementalContext:
    """A context of messages that stand as they were counted: its tokens, while they are kept one after the other."""

    def __init__(self, increments: Increments) -> None:
        self._increments = increments
        self._end = 0
        """Behind the last message that is kept."""
        self._since: float | None = None
        """Tokens of the context, once a message before the last one is left out; None: all were kept."""
        self._shrank: tuple[int, float] = (-1, 0.0)
        """The newest request that was larger than the one after it, and what is kept between these, as estimated."""

    @property
    def tokens(self) -> float:
        """Tokens of the context with what was kept until now."""
        return self._increments.before(self._end) if self._since is None else self._since

    def keep(self, start: int, end: int) -> None:
        """The messages at places `start` to `end` (not included), behind those that were kept."""
        found = self._increments
        if self._since is None and start != self._end:
            self._since = self.tokens
        if self._since is not None:
            for first, until, larger in found.parts(start, end):
                self._since += found.between(first, until)
                if larger is not None:  # what left was before these, and no more of it than was kept
                    held = found.weight(first, until) + (self._shrank[1] if self._shrank[0] == larger else 0.0)
                    self._shrank = larger, held
                    self._since = max(self._since, min(found.before(until), found.least() + held))
        self._end = end


def _shared(start: float, end: float, weights: Sequence[float]) -> list[float]:
    """The tokens before each of the messages that lie between two requests."""
    whole = sum(weights)
    if whole <= 0:
        weights, whole = [1.0] * len(weights), float(len(weights))
    return [start + (end - start) * before / whole for before in accumulate(weights, initial=0.0)]
