"""Names: what ops call the things in a context: message numbers, and items that an op brought in.

On the wire `45`, `45-67` and `<op id>.K`, joined by commas, numbers first (docs/log-format.md). People write an op's
number instead of its id: `7.1`; that is resolved in `core/select.py`.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ctxkit.core.sets.ranges import EMPTY, Ranges


class ItemName(NamedTuple):
    """Item `k` (from 1) of the op with id `op`."""

    op: str
    k: int

    def __str__(self) -> str:
        return f"{self.op}.{self.k}"


Name = int | ItemName


class Names:
    """An immutable set of names."""

    __slots__ = ("items", "numbers")

    def __init__(self, numbers: Ranges = EMPTY, items: Iterable[ItemName] = ()) -> None:
        self.numbers = numbers
        self.items = frozenset(items)

    @classmethod
    def of(cls, names: Iterable[Name]) -> Names:
        """The set of these names."""
        if isinstance(names, range):
            return cls(Ranges.of(names))
        found = list(names)
        return cls(Ranges.of(n for n in found if isinstance(n, int)), (n for n in found if isinstance(n, ItemName)))

    @classmethod
    def parse(cls, text: str) -> Names:
        """Reads the wire form. Raises ValueError for anything else."""
        numbers, items = [], []
        for token in filter(None, text.split(",")):
            op, dot, k = token.rpartition(".")
            if dot and op and k.isascii() and k.isdigit() and int(k) > 0:
                items.append(ItemName(op, int(k)))
            else:
                numbers.append(token)
        return cls(Ranges.parse(",".join(numbers)), items)

    @property
    def single(self) -> Name | None:
        """The one name that this is; None for none and for several."""
        if self.items or not self.numbers or self.numbers.first() != self.numbers.last():
            return next(iter(self.items)) if len(self.items) == 1 and not self.numbers else None
        return self.numbers.first()

    def meets(self, other: Names) -> bool:
        """Whether the two have a name in common."""
        return self.numbers.meets(other.numbers) or not self.items.isdisjoint(other.items)

    def common(self, known: Collection[Name]) -> list[Name]:
        """The names that are in both, found by going through the smaller."""
        if len(self) <= len(known):
            return [name for name in self if name in known]
        return [name for name in known if name in self]

    def within(self, other: Names) -> bool:
        """Whether all of it is in `other`; cheap where the two lie apart."""
        return not self or (self.meets(other) and not self - other)

    def __contains__(self, name: Name) -> bool:
        return name in self.numbers if isinstance(name, int) else name in self.items

    def __iter__(self) -> Iterator[Name]:
        yield from self.numbers
        yield from sorted(self.items)

    def __len__(self) -> int:
        return len(self.numbers) + len(self.items)

    def __bool__(self) -> bool:
        return bool(self.numbers) or bool(self.items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self.numbers == other.numbers and self.items == other.items

    def __hash__(self) -> int:
        return hash((self.numbers, self.items))

    def __or__(self, other: Names) -> Names:
        if not other:
            return self
        return Names(self.numbers | other.numbers, self.items | other.items) if self else other

    def __and__(self, other: Names) -> Names:
        return Names(self.numbers & other.numbers, self.items & other.items)

    def __sub__(self, other: Names) -> Names:
        if not other or not self:
            return self
        return Names(self.numbers - other.numbers, self.items - other.items)

    def __str__(self) -> str:
        return ",".join(filter(None, (str(self.numbers), *map(str, sorted(self.items)))))

    def __repr__(self) -> str:
        return f"Names({str(self)!r})"


NOTHING = Names()


def joined(some: Collection[Names]) -> Names:
    """All of these."""
    if len(some) < 2:
        return next(iter(some), NOTHING)
    pairs = chain.from_iterable(names.numbers.pairs() for names in some)
    return Names(Ranges(pairs), chain.from_iterable(names.items for names in some))


def column(names: Iterable[Name]) -> Sequence[Name]:
    """These names in order; in an array, where they are numbers alone."""
    numbers, left = array("q"), iter(names)
    for name in left:
        if not isinstance(name, int):
            return [*numbers, name, *left]
        numbers.append(name)
    return numbers


class Sizes(Mapping[Name, int]):
    """A whole number for each of some names: those of messages in an array, by their numbers."""

    NONE = -(1 << 63)

    def __init__(self, names: Iterable[Name], sizes: Iterable[int]) -> None:
        self._numbers, self._first = array("q"), 0
        self._items: dict[ItemName, int] = {}
        if isinstance(names, range) and names.step == 1:
            self._numbers, self._first = array("q", sizes), names.start
        else:
            for name, size in zip(names, sizes, strict=True):
                self[name] = size

    def copy(self) -> Sizes:
        """Another one that is the same."""
        found = Sizes((), ())
        found._numbers, found._first, found._items = self._numbers[:], self._first, self._items.copy()
        return found

    @property
    def total(self) -> int:
        """All of them together."""
        none = self._numbers.count(self.NONE)
        return sum(self._numbers) - none * self.NONE + sum(self._items.values())

    def __getitem__(self, name: Name) -> int:
        if not isinstance(name, int):
            return self._items[name]
        place = name - self._first
        size = self._numbers[place] if 0 <= place < len(self._numbers) else self.NONE
        if size == self.NONE:
            raise KeyError(name)
        return size

    def __setitem__(self, name: Name, size: int) -> None:
        if not isinstance(name, int):
            self._items[name] = size
            return
        place = name - self._first
        if place < 0:
            self._numbers[:0] = array("q", [self.NONE]) * -place
            self._first, place = name, 0
        self._numbers.extend(array("q", [self.NONE]) * (place + 1 - len(self._numbers)))
        self._numbers[place] = size

    def __iter__(self) -> Iterator[Name]:
        yield from (n for n, size in enumerate(self._numbers, self._first) if size != self.NONE)
        yield from self._items

    def __len__(self) -> int:
        return len(self._numbers) - self._numbers.count(self.NONE) + len(self._items)
