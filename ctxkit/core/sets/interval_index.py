"""Which of many sets of names, that come, shrink and go, may have a name in common with another.

Used by `board` and `walk`, where thousands of ops each touch a few names: none looks at all others. Beside
`membership`, whose sets never change.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from ctxkit.core.item_names import ItemName, Names

K = TypeVar("K", bound=Hashable)


class IntervalIndex(Generic[K]):
    """Sets of names by key. A range lies in one or two blocks of about its own size, so that it is put down twice at
    most, however many numbers it has.
    """

    def __init__(self) -> None:
        self._levels: dict[int, dict[int, set[K]]] = {}
        """Bits of a block's size -> block -> keys of ranges that begin or end in it."""
        self._items: dict[ItemName, set[K]] = {}
        self._names: dict[K, Names] = {}

    def copy(self) -> IntervalIndex[K]:
        """The same sets, as an index of its own."""
        found = IntervalIndex[K]()
        for level, blocks in self._levels.items():
            found._levels[level] = {block: set(keys) for block, keys in blocks.items()}
        found._items = {item: set(keys) for item, keys in self._items.items()}
        found._names = self._names.copy()
        return found

    def put(self, key: K, names: Names) -> None:
        """The set `key` has these names now."""
        self.drop(key)
        self._names[key] = names
        for low, high in names.numbers.pairs():
            level = (high - low).bit_length()
            blocks = self._levels.setdefault(level, {})
            blocks.setdefault(low >> level, set()).add(key)
            blocks.setdefault(high >> level, set()).add(key)
        for item in names.items:
            self._items.setdefault(item, set()).add(key)

    def drop(self, key: K) -> None:
        """There is no set `key` any more."""
        names = self._names.pop(key, None)
        if names is None:
            return
        for low, high in names.numbers.pairs():
            level = (high - low).bit_length()
            blocks = self._levels[level]
            for block in {low >> level, high >> level}:
                held = blocks.get(block)
                if held is not None:  # two ranges of a set may lie in one block
                    held.discard(key)
                    if not held:
                        del blocks[block]
        for item in names.items:
            held = self._items[item]
            held.discard(key)
            if not held:
                del self._items[item]

    def meeting(self, names: Names) -> set[K]:
        """The keys of all sets that have one of `names`, and perhaps of some that lie beside them."""
        found: set[K] = set()
        for low, high in names.numbers.pairs():
            for level, blocks in self._levels.items():
                first, last = low >> level, high >> level
                if last - first < len(blocks):
                    for block in range(first, last + 1):
                        if block in blocks:
                            found |= blocks[block]
                else:
                    for block, keys in blocks.items():
                        if first <= block <= last:
                            found |= keys
        for item in names.items:
            found.update(self._items.get(item, ()))
        return found
