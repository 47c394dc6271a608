"""The names of a context in order, as runs, so that a million messages in a row cost as little as two.

Pipeline: `context` without its lists; `compare` works on two of these.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import overload

from ctxkit.core.context import NO_PROJECTION, Projection, shown_names, through, windowed
from ctxkit.core.item_names import Name, Names
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State

Run = tuple[Name, int]
"""The first name and how many: numbers follow each other, an item stands alone."""


class NameRuns(Sequence[Name]):
    """Names in order; each once."""

    def __init__(self, runs: Iterable[Run]) -> None:
        """`runs`: neighbours that continue each other become one."""
        self.runs: list[Run] = []
        for first, count in runs:
            last, size = self.runs[-1] if self.runs else (None, 0)
            if isinstance(first, int) and isinstance(last, int) and last + size == first:
                self.runs[-1] = (last, size + count)
            elif count:
                self.runs.append((first, count))
        self.starts = [0, *accumulate(count for _, count in self.runs)]
        """The place of each run's first name; behind them the number of names."""

    def __len__(self) -> int:
        return self.starts[-1]

    @overload
    def __getitem__(self, at: int) -> Name: ...
    @overload
    def __getitem__(self, at: slice) -> list[Name]: ...
    def __getitem__(self, at: int | slice) -> Name | list[Name]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        i = bisect_right(self.starts, place) - 1
        first, _ = self.runs[i]
        return first + place - self.starts[i] if isinstance(first, int) else first

    def __iter__(self) -> Iterator[Name]:
        for first, count in self.runs:
            if isinstance(first, int):
                yield from range(first, first + count)
            else:
                yield first

    def part(self, start: int, count: int) -> Iterator[Run]:
        """The runs of `count` names from place `start` on."""
        i = bisect_right(self.starts, start) - 1
        while count > 0:
            first, size = self.runs[i]
            skip = start - self.starts[i]
            here = min(size - skip, count)
            yield (first + skip if isinstance(first, int) else first), here
            start, count, i = start + here, count - here, i + 1

    @cached_property
    def names(self) -> Names:
        """The same without their order."""
        numbers = Ranges((first, first + count - 1) for first, count in self.runs if isinstance(first, int))
        return Names(numbers, (first for first, _ in self.runs if not isinstance(first, int)))


def order(state: State, projection: Projection = NO_PROJECTION) -> NameRuns:
    """The context of `state` through `projection`, an agent that it does not know included.

    Without window and filter no message is looked at, else each is.
    """
    if (
        projection.agent is not None
        or projection.thread is not None
        or projection.newest is not None
        or windowed(state, projection)
    ):
        return NameRuns((name, 1) for name in through(state, projection, shown_names(state, projection.thread)))
    if state.rank:
        return NameRuns((name, 1) for name in shown_names(state))
    shown = state.shown()
    special = sorted((name for name in state.board.keys if name in shown), key=state.key)
    plain = shown.numbers - Ranges.of(name for name in special if isinstance(name, int))
    return NameRuns(_merged(state, plain, special))


def _merged(state: State, plain: Ranges, special: Sequence[Name]) -> Iterator[Run]:
    """Numbers at their own places, and between them what an op put somewhere."""
    pairs = plain.pairs()
    low, high = next(pairs, (0, -1))
    for name in special:
        after, *within = state.key(name)
        upto = after if within >= [0, 0, 0] else after - 1
        while low <= high and low <= upto:
            end = min(high, upto)
            yield low, end - low + 1
            low, high = (end + 1, high) if end < high else next(pairs, (0, -1))
        yield name, 1
    while low <= high:
        yield low, high - low + 1
        low, high = next(pairs, (0, -1))
