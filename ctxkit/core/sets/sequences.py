"""Sequences that hold no values: each is made when it is asked for, so that memory does not grow with what they are.

What goes out of a log passes through them: the contents of a context, what its program would send of these, and
spooled values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import eq
from typing import TypeVar, overload

T = TypeVar("T")


class LazySequence(Sequence[T]):
    """`count` values, of which `make` gives one by its place. A part of it is one, too."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        places = range(self._count)[at]
        return (
            self._make(places)
            if isinstance(places, int)
            else LazySequence(len(places), lambda k: self._make(places[k]))
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # as a list


class Reiterable(Iterable[T]):
    """What can be gone through as often as it is asked for: `make` begins anew."""

    def __init__(self, make: Callable[[], Iterator[T]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[T]:
        return self._make()
