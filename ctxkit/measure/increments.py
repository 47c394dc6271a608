"""Increments: the tokens of each message between two counted requests, by the difference of these requests. Pure.

A request that a provider counted gives the tokens of all messages before it. The difference to the next request is
split among the messages between them, by estimates. The difference may be negative: something left the context without
a row in the log, such as reasoning of an exchange that is over, or old results that the program cleared. A forget of
the messages between takes the decrease back too, so that no context is smaller than a request was. What left is older
than these messages: if only they are kept, nothing leaves, and the context holds them and the overhead.

`measure/usage.py` reads the requests of a log, `measure/size.py` adds the increments up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

Weigh = Callable[[int, int], Sequence[float]]
"""Estimates the tokens of each message at places `start` to `end` (not included)."""


class Increments:
    """Tokens of a context before each of its messages.

    `end`: the place after the last message, and the tokens of the whole context; `newest`: place and tokens of each
    counted request, newest first, read only as far as needed; `base`: the tokens around the messages, from place and
    tokens of the first request; `least`: the tokens that every request has.
    """

    def __init__(
        self, end: tuple[int, float], newest: Iterator[tuple[int, float]], weigh: Weigh,
        base: Callable[[int, float], float], least: Callable[[], float] = lambda: 0.0,
    ) -> None:  # fmt: skip
        self._newest, self._weigh, self._base, self.least = newest, weigh, base, least
        self._falling = [end]
        """Place and tokens of each request that was read, newest first. The last one is the start of the context."""
        self._shared: dict[int, list[float]] = {}
        """Place of a request -> tokens of the context before each message up to the next request."""

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
        """Splits the places from `start` to `end` at the requests.

        Yields start and end of each part; and the place of the earlier request if the later one was smaller, else None.
        """
        while start < end:
            at = self._at(start)
            place, tokens = self._falling[at]
            behind, later = self._falling[at - 1] if at else (end, tokens)
            until = min(behind, end)
            yield start, until, place if later < tokens else None
            start = until

    def weight(self, start: int, end: int) -> float:
        """Estimates the tokens of the messages at these places, which are between two requests."""
        return sum(self._weigh(start, end))

    def _at(self, place: int) -> int:
        """Index of the newest request that is not after `place`."""
        while self._falling[-1][0] > place:
            self._read()
        return bisect_left(self._falling, -place, key=lambda one: -one[0])

    def _read(self) -> None:
        """Reads the next older request, or adds the start of the context if there is none."""
        older = next(self._newest, None)
        self._falling.append((0, self._base(*self._falling[-1])) if older is None else older)


class IncrementalContext:
    """Adds up the tokens of a context, while messages are kept in order, unchanged since they were counted."""

    def __init__(self, increments: Increments) -> None:
        self._increments = increments
        self._end = 0
        """The place after the last kept message."""
        self._since: float | None = None
        """Tokens of the context once a message was left out; None while all are kept."""
        self._shrank: tuple[int, float] = (-1, 0.0)
        """Place of the newest request that was larger than the next, and estimated tokens kept between the two."""

    @property
    def tokens(self) -> float:
        """Tokens of the context with the messages that were kept until now."""
        return self._increments.before(self._end) if self._since is None else self._since

    def keep(self, start: int, end: int) -> None:
        """Keeps the messages at places `start` to `end` (not included), which follow those that were kept."""
        found = self._increments
        if self._since is None and start != self._end:
            self._since = self.tokens
        if self._since is not None:
            for first, until, larger in found.parts(start, end):
                self._since += found.between(first, until)
                if larger is not None:  # what left is older than these messages, and at most what was kept of it leaves
                    held = found.weight(first, until) + (self._shrank[1] if self._shrank[0] == larger else 0.0)
                    self._shrank = larger, held
                    self._since = max(self._since, min(found.before(until), found.least() + held))
        self._end = end


def _shared(start: float, end: float, weights: Sequence[float]) -> list[float]:
    """Tokens before each message between two requests: the difference, split in proportion to the weights."""
    whole = sum(weights)
    if whole <= 0:
        weights, whole = [1.0] * len(weights), float(len(weights))
    return [start + (end - start) * before / whole for before in accumulate(weights, initial=0.0)]
