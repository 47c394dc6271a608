"""The board in its simplest form: every op looks at all there is. What `core/board.py` is held against."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec

from ctxkit.core.board import HIDING, ContextItem, Exclusion, Key, is_of
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names
from ctxkit.core.sets.ranges import Ranges


class PlainBoard:
    """What the ops played so far came to: the same names as those of `Board`."""

    def __init__(self) -> None:
        self.outs: list[Exclusion] = []
        self.items: dict[ItemName, ContextItem] = {}
        self.telling: dict[ItemName, ContextItem] = {}
        """Those of the items that tell something: few, so that every op can look at them."""
        self.keys: dict[Name, Key] = {}
        self.effective: dict[Name, float | None] = {}
        self.restored: dict[Name, int | None] = {}
        self.stubs: dict[Name, Any] = {}
        self.flags: list[tuple[Names, Names]] = []

    def take_out(self, out: Exclusion) -> None:
        """`out.names` leave."""
        self.outs.append(out)

    def recall(self, names: Names) -> None:
        """`names` are back from everything but boundaries, in full (replay 10)."""
        self._lift(names, boundaries=False)

    def enter(
        self, names: Sequence[Name], keys: Sequence[Key], effective: float | None, restored: int | None = None
    ) -> None:
        """`names` stand at `keys` now, in full, whatever took them out before."""
        self._lift(Names.of(names), boundaries=True)
        self.restored.update({name: restored for name in names if isinstance(name, int)})
        self.keys.update(zip(names, keys, strict=True))
        self.effective.update(dict.fromkeys(names, effective))

    def place(self, names: Sequence[Name], keys: Sequence[Key]) -> None:
        """`names` stand at `keys`, but are in or out as before (a program's preserved messages)."""
        self.keys.update(zip(names, keys, strict=True))

    def bring(self, item: ContextItem) -> None:
        """A new item; `enter` gives it its place."""
        self.items[item.name] = item
        if item.tells:
            self.telling[item.name] = item

    def drop(self, name: ItemName) -> None:
        """The item goes; what its compact replaced is back, unless it is out for another reason."""
        item = self.items.pop(name)
        self.telling.pop(name, None)
        if item.summary:
            self.outs = [out for out in self.outs if not (out.kind == "compact" and out.source == item.source)]

    def retell(self, name: ItemName, text: str, without: Names) -> None:
        """The item has other words, and no longer tells `without`."""
        item = self.items[name]
        if name in self.stubs and not is_of(self.stubs[name], text):
            del self.stubs[name]
        item.tells = item.tells - without
        item.message = {**item.message, "content": text}

    def shorten(self, names: Names, content: Any) -> None:
        """`names` are shown with this content."""
        self.stubs.update(dict.fromkeys(names, content))

    def flag(self, names: Names, *, protected: bool) -> None:
        """`names` are protected from now on, or no longer."""
        self.flags.append((names, NOTHING) if protected else (NOTHING, names))

    @property
    def protected(self) -> Names:
        """What a protect holds."""
        return self._flagged()[0]

    @property
    def unprotected(self) -> Names:
        """What an unprotect took every protection from, the automatic one too."""
        return self._flagged()[1]

    def _flagged(self) -> tuple[Names, Names]:
        found = NOTHING, NOTHING
        for newer in self.flags:
            found = (found[0] - newer[1]) | newer[0], (found[1] - newer[0]) | newer[1]
        return found

    def _lift(self, names: Names, *, boundaries: bool) -> None:
        for place, out in enumerate(self.outs):
            if (boundaries or not out.boundary) and out.names.meets(names):
                self.outs[place] = msgspec.structs.replace(out, names=out.names - names)
        for name in [name for name in self.stubs if name in names]:
            del self.stubs[name]

    def absent(self) -> Names:
        """All names that are out for a reason that is not mere hiding."""
        return self._union(hiding=False)

    def hidden(self, among: Names | None = None) -> Names:
        """All names that are not shown, for whatever reason."""
        return self._union(hiding=True)

    def _union(self, *, hiding: bool) -> Names:
        outs = [out.names for out in self.outs if hiding or out.kind not in HIDING]
        pairs = chain.from_iterable(names.numbers.pairs() for names in outs)
        return Names(Ranges(pairs), chain.from_iterable(names.items for names in outs))

    @property
    def moved(self) -> set[int]:
        """The numbers among the keys."""
        return {name for name in self.keys if isinstance(name, int)}

    def holding(self, names: Names) -> list[Exclusion]:
        """What keeps any of `names` out."""
        return [out for out in self.outs if out.names.meets(names)]

    def tellers(self, names: Names) -> list[ContextItem]:
        """The items that tell any of `names`."""
        return [item for item in self.telling.values() if item.tells.meets(names)]

    def superseded(self, ids: Names) -> list[ItemName]:
        """The summaries that one of `ids` replaces."""
        replaced = {out.source for out in self.outs if out.kind == "compact" and out.names.meets(ids)}
        summaries = [(name, item) for name, item in self.telling.items() if item.summary]
        return [name for name, item in summaries if item.source in replaced or not item.tells - ids]
