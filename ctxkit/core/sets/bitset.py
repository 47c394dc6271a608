"""A set of message numbers that changes all the time, a byte each: what an op changes of it costs what the op names.

Beside `ranges`, whose sets never change, so that each change makes all of it anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxkit.core.sets.ranges import Ranges


class Bits:
    """Numbers from 1 to `highest`."""

    __slots__ = ("_bytes",)

    def __init__(self, highest: int, numbers: Ranges | None = None) -> None:
        self._bytes = bytearray(highest + 1)
        if numbers is not None:
            self.put(numbers, True)

    def put(self, numbers: Ranges, here: bool) -> None:
        """All these are in it from now on, or not. None of them is above the highest."""
        for low, high in numbers.pairs():
            self._bytes[low : high + 1] = (b"\1" if here else b"\0") * (high - low + 1)

    def within(self, numbers: Ranges) -> Ranges:
        """Those of `numbers` that are in it."""
        return Ranges(run for low, high in numbers.pairs() for run in self._runs(low, high + 1))

    def differs(self, other: Bits, low: int, high: int) -> bool:
        """Whether the two differ anywhere from `low` to `high`."""
        return self._bytes[low : high + 1] != other._bytes[low : high + 1]

    def __contains__(self, n: int) -> bool:
        return bool(self._bytes[n])

    def _runs(self, low: int, end: int) -> Iterator[tuple[int, int]]:
        start = self._bytes.find(1, low, end)
        while start >= 0:
            stop = self._bytes.find(0, start, end)
            if stop < 0:
                stop = end
            yield start, stop - 1
            start = self._bytes.find(1, stop, end)
