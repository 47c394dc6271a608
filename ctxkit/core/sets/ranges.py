"""Sets of message numbers as sorted ranges, so that a million numbers cost as little as two.

Used by `item_names`, `board` and `replay`: an op that takes out 500,000 messages is one range, not 500,000 entries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain


class Ranges:
    """An immutable set of positive integers. Written as `1-49,76-100`."""

    __slots__ = ("_first", "_last")

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        """`pairs`: inclusive ranges in any order; an empty one (first > last) is dropped, touching ones are joined."""
        first: list[int] = []
        last: list[int] = []
        for low, high in sorted(pair for pair in pairs if pair[0] <= pair[1]):
            if last and low <= last[-1] + 1:
                last[-1] = max(last[-1], high)
            else:
                first.append(low)
                last.append(high)
        self._first = first
        self._last = last

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Ranges:
        """The set of these numbers."""
        if isinstance(numbers, range) and numbers.step == 1:
            return cls.span(numbers.start, numbers.stop - 1)
        return numbers if isinstance(numbers, Ranges) else cls(_runs(numbers))

    @classmethod
    def span(cls, low: int, high: int) -> Ranges:
        """All numbers from `low` to `high`, both included."""
        return cls(((low, high),))

    @classmethod
    def parse(cls, text: str) -> Ranges:
        """Reads `45-67,80`. Raises ValueError for anything else."""
        pairs = []
        for token in filter(None, text.split(",")):
            low, dash, high = token.partition("-")
            if not (low.isascii() and low.isdigit() and (not dash or (high.isascii() and high.isdigit()))):
                raise ValueError(f"not a number or a range: {token!r}")
            pairs.append((int(low), int(high) if dash else int(low)))
        return cls(pairs)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The ranges, ascending."""
        return zip(self._first, self._last, strict=True)

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(range(low, high + 1) for low, high in self.pairs())

    def __contains__(self, n: int) -> bool:
        i = bisect_right(self._first, n) - 1
        return i >= 0 and n <= self._last[i]

    def __len__(self) -> int:
        return sum(self._last) - sum(self._first) + len(self._first)

    def __bool__(self) -> bool:
        return bool(self._first)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and self._first == other._first and self._last == other._last

    def __hash__(self) -> int:
        return hash((tuple(self._first), tuple(self._last)))

    def __or__(self, other: Ranges) -> Ranges:
        if not other:
            return self
        return Ranges(chain(self.pairs(), other.pairs())) if self else other

    def __and__(self, other: Ranges) -> Ranges:
        if len(other._first) < len(self._first):
            return other & self
        found: list[tuple[int, int]] = []
        for low, high in self.pairs():
            i = bisect_left(other._last, low)
            while i < len(other._first) and other._first[i] <= high:
                found.append((max(low, other._first[i]), min(high, other._last[i])))
                i += 1
        return Ranges(found)

    def __sub__(self, other: Ranges) -> Ranges:
        if not self or not other:
            return self
        if len(other._first) < 4 < len(self._first):
            return self._without(other)
        left: list[tuple[int, int]] = []
        for low, high in self.pairs():
            i = bisect_left(other._last, low)
            while i < len(other._first) and other._first[i] <= high:
                left.append((low, other._first[i] - 1))
                low = other._last[i] + 1
                i += 1
            left.append((low, high))
        return Ranges(left)

    def _without(self, other: Ranges) -> Ranges:
        """The same as `-`: of many ranges only those that a few concern are looked at."""
        found = Ranges()
        found._first, found._last = self._first.copy(), self._last.copy()
        for low, high in other.pairs():
            first, last = found._first, found._last
            start, end = bisect_left(last, low), bisect_right(first, high)
            if start < end:
                left = [(a, b) for a, b in ((first[start], low - 1), (high + 1, last[end - 1])) if a <= b]
                first[start:end], last[start:end] = [a for a, _ in left], [b for _, b in left]
        return found

    def meets(self, other: Ranges) -> bool:
        """Whether the two have a number in common; cheap where they lie apart."""
        if not self or not other or self._first[0] > other._last[-1] or other._first[0] > self._last[-1]:
            return False
        if len(other._first) < len(self._first):
            return other.meets(self)
        for low, high in self.pairs():
            i = bisect_left(other._last, low)
            if i < len(other._first) and other._first[i] <= high:
                return True
        return False

    def first(self) -> int:
        """The smallest number. Raises IndexError for an empty set."""
        return self._first[0]

    def last(self) -> int:
        """The largest number. Raises IndexError for an empty set."""
        return self._last[-1]

    def __str__(self) -> str:
        return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in self.pairs())

    def __repr__(self) -> str:
        return f"Ranges({str(self)!r})"


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Numbers as ranges, of those that follow each other one: a million of them are never held as so many."""
    low, high = 1, 0
    for n in numbers:
        if n != high + 1:
            yield low, high
            low = n
        high = n
    yield low, high


EMPTY = Ranges()
