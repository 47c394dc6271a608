"""Increments: what each message between two counted requests comes to, by the difference of these two.

A request that a provider counted says what all messages before it hold together; the next one says what came between.
Within such a stretch the difference is shared out by estimates. A stretch may hold less than nothing: something left
the context that no row tells of, reasoning of an exchange that is over, or old results that the program cleared. A
forget of that stretch takes this back, too, so that no context is said to be smaller than what requests had.

Pure: figures in, figures out. `measure/usage.py` reads them off a log, `measure/size.py` adds them up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

Weigh = Callable[[int, int], Sequence[float]]
"""The estimated tokens of the messages at places `start` to `end` (not included), each."""


class Increments:
    """Tokens of a context before each of its messages. `end`: the place behind the last one, and tokens of all;
    `newest`: place and tokens of each counted request, newest first, read only as far as is asked for.

    `base`: tokens that stand around the messages, where the first request, at this place, had so many.
    """

    def __init__(
        self, end: tuple[int, float], newest: Iterator[tuple[int, float]], weigh: Weigh,
        base: Callable[[int, float], float],
    ) -> None:  # fmt: skip
        self._newest, self._weigh, self._base = newest, weigh, base
        self._falling = [end]
        """Place and tokens of each request that was read, newest first; the last is the start of the context."""
        self._shared: dict[int, list[float]] = {}
        """Place of a request -> the tokens before each message from there to the next request."""

    def before(self, place: int) -> float:
        """Tokens of the context before the message at `place`."""
        found = self._falling
        while found[-1][0] > place:
            self._read()
        at = bisect_left(found, -place, key=lambda one: -one[0])
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

    def _read(self) -> None:
        """The next older request; the start of the context where there is none."""
        place, request = self._falling[-1]
        self._falling.append(next(self._newest, (0, self._base(place, request))))


def _shared(start: float, end: float, weights: Sequence[float]) -> list[float]:
    """The tokens before each of the messages that lie between two requests."""
    whole = sum(weights)
    if whole <= 0:
        weights, whole = [1.0] * len(weights), float(len(weights))
    return [start + (end - start) * before / whole for before in accumulate(weights, initial=0.0)]
