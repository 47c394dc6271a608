"""Which of many sets of names hold a name, without a look at each set.

Used by `visibility` and `reasons`, where thousands of ops meet hundreds of thousands of messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Generic, TypeVar

from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.sets.ranges import Ranges

T = TypeVar("T")

BLOCK = 8
"""Bits: numbers are looked up by blocks of 256."""


class Membership(Generic[T]):
    """What holds a name: values, each with its names, in their order."""

    def __init__(self, sets: Iterable[tuple[T, Names]]) -> None:
        self._blocks: dict[int, list[tuple[T, Names]]] = {}
        self._items: dict[ItemName, list[T]] = {}
        for value, names in sets:
            pair, last = (value, names), -1
            for low, high in names.numbers.pairs():
                for block in range(max(low >> BLOCK, last + 1), (high >> BLOCK) + 1):
                    self._blocks.setdefault(block, []).append(pair)
                    last = block
            for item in names.items:
                self._items.setdefault(item, []).append(value)

    def of(self, name: Name) -> list[T]:
        """The values whose names hold `name`."""
        if isinstance(name, int):
            return [value for value, names in self._blocks.get(name >> BLOCK, ()) if name in names.numbers]
        return self._items.get(name, [])


def firsts(sets: Sequence[Names]) -> Iterator[tuple[int, Names]]:
    """The places of `sets`, each with those of its names that no earlier set has; places without any are left out.

    A sweep over the ranges of all sets: n log n.
    """
    found: dict[int, list[tuple[int, int]]] = {}
    pairs = sorted((low, place, high) for place, names in enumerate(sets) for low, high in names.numbers.pairs())
    open_: list[tuple[int, int]] = []
    at = i = 0
    while i < len(pairs) or open_:
        if not open_:
            at = max(at, pairs[i][0])
        while i < len(pairs) and pairs[i][0] <= at:
            heappush(open_, pairs[i][1:])
            i += 1
        while open_ and open_[0][1] < at:
            heappop(open_)
        if open_:
            place, high = open_[0]
            end = min(high, pairs[i][0] - 1) if i < len(pairs) else high
            found.setdefault(place, []).append((at, end))
            at = end + 1
    items: dict[int, list[ItemName]] = {}
    seen: set[ItemName] = set()
    for place, names in enumerate(sets):
        if new := names.items - seen:
            items[place] = list(new)
            seen |= new
    for place in sorted(found.keys() | items.keys()):
        yield place, Names(Ranges(found.get(place, ())), items.get(place, ()))
