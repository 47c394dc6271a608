"""Effects: what an op in force did to the context, one small value each, and the board that they are played on.

Pipeline: `replay` turns ops into effects; a rewind takes the effects of later compacts, trims and restores off the
list and plays the rest again, so that "as if never written" needs no inverse of anything.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import msgspec

from ctxkit.core.names import NOTHING, ItemName, Name, Names
from ctxkit.core.ranges import Ranges

Key = tuple[int, int, int, int]
"""Where an entry stands: message number it follows, ordinal of the op that put it there, place within it, offset."""

HIDING = frozenset({"compact", "trim"})
"""Reasons that hide a message without making it absent (REPLAY 33)."""


class Item(msgspec.Struct):
    """A message that an op brought in. `tells`: what it stands for, so that forgetting these concerns it.

    `source`: number of the op; `message`: a literal's record; `text`: a summary's words. `origin`: what it stems from.
    """

    name: ItemName
    source: int
    role: str
    message: dict[str, Any]
    tells: Names = NOTHING
    origin: Name | None = None
    ts: Any = None
    summary: bool = False
    preamble: bool = False
    first: bool = False


class Out(msgspec.Struct):
    """`names` leave the context because of op `source`; no recall crosses a `boundary`."""

    source: int
    kind: str
    names: Names
    boundary: bool = False


class Lift(msgspec.Struct):
    """A recall: `names` are back from everything but boundaries; stubs on them are lifted."""

    source: int
    names: Names


class Enter(msgspec.Struct):
    """`names` stand at `keys` now, whatever took them out before; `effective` is their time for windows."""

    source: int
    names: list[Name]
    keys: list[Key]
    effective: float | None


class Place(msgspec.Struct):
    """`names` stand at `keys`, but are in or out as before (a program's preserved messages)."""

    source: int
    names: list[Name]
    keys: list[Key]


class Bring(msgspec.Struct):
    """A new item."""

    source: int
    item: Item


class Drop(msgspec.Struct):
    """The summary `item` goes; what its compact replaced is back, unless it is out for another reason."""

    source: int
    item: ItemName


class Retell(msgspec.Struct):
    """The summary `item` has other words (None: the same), and no longer tells `without`."""

    source: int
    item: ItemName
    text: str | None
    without: Names


class Stub(msgspec.Struct):
    """The content of `name` is shown shortened."""

    source: int
    name: Name
    content: Any


class Flag(msgspec.Struct):
    """`names` are protected from now on, or no longer."""

    source: int
    names: Names
    protected: bool


Effect = Out | Lift | Enter | Place | Bring | Drop | Retell | Stub | Flag


class Board:
    """The outcome of effects played in order."""

    def __init__(self) -> None:
        self.played: list[Effect] = []
        self.outs: list[Out] = []
        self.items: dict[ItemName, Item] = {}
        self.keys: dict[Name, Key] = {}
        self.effective: dict[Name, float | None] = {}
        self.stubs: dict[Name, Any] = {}
        self.protected = NOTHING
        self.unprotected = NOTHING

    def play(self, effect: Effect) -> None:
        """Apply one effect."""
        self.played.append(effect)
        match effect:
            case Out():
                self.outs.append(msgspec.structs.replace(effect))
            case Lift(names=names):
                self._lift(names, boundaries=False)
                for name in [name for name in self.stubs if name in names]:
                    del self.stubs[name]
            case Enter(names=entered, keys=keys, effective=effective):
                self._lift(Names.of(entered), boundaries=True)
                self.keys.update(zip(entered, keys, strict=True))
                self.effective.update(dict.fromkeys(entered, effective))
            case Place(names=moved, keys=keys):
                self.keys.update(zip(moved, keys, strict=True))
            case Bring(item=item):
                self.items[item.name] = msgspec.structs.replace(item)
            case Drop(item=name):
                self._drop(name)
            case Retell(item=name, text=text, without=without):
                item = self.items[name]
                item.tells = item.tells - without
                if text is not None:
                    item.message = {**item.message, "content": text}
            case Stub(name=name, content=content):
                self.stubs[name] = content
            case Flag(names=names, protected=True):
                self.protected, self.unprotected = self.protected | names, self.unprotected - names
            case Flag(names=names):
                self.protected, self.unprotected = self.protected - names, self.unprotected | names

    def without(self, sources: set[int]) -> Board:
        """The board as it would be had the ops `sources` never been played; flags stay."""
        board = Board()
        for effect in self.played:
            if effect.source in sources and not isinstance(effect, Flag):
                continue
            if isinstance(effect, Drop | Retell) and effect.item not in board.items:
                continue
            board.play(effect)
        return board

    def _lift(self, names: Names, *, boundaries: bool) -> None:
        for out in self.outs:
            if boundaries or not out.boundary:
                out.names = out.names - names

    def _drop(self, name: ItemName) -> None:
        item = self.items.pop(name)
        if item.summary:
            self.outs = [out for out in self.outs if not (out.kind == "compact" and out.source == item.source)]

    def absent(self) -> Names:
        """All names that are out for a reason that is not mere hiding."""
        return self._union(hiding=False)

    def hidden(self) -> Names:
        """All names that are not shown, for whatever reason."""
        return self._union(hiding=True)

    def _union(self, *, hiding: bool) -> Names:
        outs = [out.names for out in self.outs if hiding or out.kind not in HIDING]
        pairs = chain.from_iterable(names.numbers.pairs() for names in outs)
        return Names(Ranges(pairs), chain.from_iterable(names.items for names in outs))

    def reasons(self, name: Name) -> list[Out]:
        """What keeps `name` out, oldest first."""
        return [out for out in self.outs if name in out.names]
