"""The board: the table of what the applied ops did to each message. `replay` fills it.

Pipeline: `replay` -> `Board`, part of `State`. A replay never takes anything back: an op that an undo or a rewind undid
is not applied in the first place. The time for an op depends on what it names: what others did to these is found by the
names (`interval_index`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import msgspec

from ctxkit.core.item_names import NOTHING, ItemName, Name, Names, joined
from ctxkit.core.ops import Index, path
from ctxkit.core.sets.interval_index import IntervalIndex

Key = tuple[int, ...]
"""Where an entry stands: message number it follows, ordinal of the op that put it there, place within it, offset.

What a restore put right behind an entry has that one's key and two more: minus the ordinal of the restore, so that the
newest stands closest, and twice the place in it, so that a summary fits before it.
"""

Flags = tuple[Names, Names]
"""Protected, and unprotected."""

LEFT_OUT = "…"
"""Marks what is left out of a summary."""

HIDING = frozenset({"compact", "trim"})
"""Reasons that hide a message without making it absent (replay 33)."""


class ContextItem(msgspec.Struct):
    """A message that an op brought in. `tells`: the messages it stands for, so that forgetting these affects it.

    `source`: number of the op; `message`: the record of a literal or a summary. `origin`: what it was made from; `ts`:
    its original time as written, None: that of its origin.
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


class Exclusion(msgspec.Struct, frozen=True):
    """`names` leave the context because of op `source`; no recall crosses a `boundary`."""

    source: int
    kind: str
    names: Names
    boundary: bool = False


class LeftOut(msgspec.Struct, frozen=True):
    """What is shown of a message: it without `parts`, in the text of `stub` if an op shortened it too.

    The places are those in the message as it was written, whatever other ops did to it.
    """

    parts: tuple[Index, ...]
    stub: Any = None


def shortening(stub: Any) -> Any:
    """The text that an op gives a message instead; None if that is all its words."""
    return stub.stub if isinstance(stub, LeftOut) else stub


def is_of(stub: Any, text: str) -> bool:
    """Whether the summary `text` has all that `stub` shows, in this order, but for the marks of what is left out."""
    if not isinstance(stub, str):
        return False
    at = 0
    for piece in re.split(rf"[\n{LEFT_OUT}]", stub):
        found = text.find(piece.strip(), at)
        if found < 0:
            return False
        at = found + len(piece.strip())
    return True


class Board:
    """The effects of the ops applied so far.

    `keys`: the position of a name that is not at its own place, `moved`: the numbers among these, and perhaps more;
    `effective`: times for windows of what edit, restore and compact put in (None: none of its own). `changed`: the
    names that may be shown otherwise than when somebody last made it empty, or not at all.
    """

    def __init__(self) -> None:
        self.items: dict[ItemName, ContextItem] = {}
        self.telling: dict[ItemName, ContextItem] = {}
        """Those of the items that tell something."""
        self.keys: dict[Name, Key] = {}
        self.moved: set[int] = set()
        self.effective: dict[Name, float | None] = {}
        self.restored: dict[Name, int | None] = {}
        """Numbers that a restore brought back beside others, and that op; None: an edit or a replacing restore did."""
        self.stubs: dict[Name, Any] = {}
        """What is shown in place of a message's content; a `LeftOut` where parts of it are out."""
        self.changed: list[Names] = []
        self._outs: dict[int, Exclusion] = {}
        """Each by its number among all that ever were; none without names."""
        self._taken = 0
        self._held: IntervalIndex[int] = IntervalIndex()
        self._compacts: dict[int, int] = {}
        """Op number -> number of what it took out."""
        self._told: IntervalIndex[ItemName] = IntervalIndex()
        self._summaries: dict[int, ItemName] = {}
        """Op number -> its summary."""
        self._hollow: set[ItemName] = set()
        """Summaries told again, of which nothing is left to tell."""
        self._flagged: Flags = NOTHING, NOTHING
        self._unread: list[Flags] = []
        """Flags that are not in `_flagged` yet, the newest last."""
        self._unions: dict[bool, Names] = {}
        """What `hidden` (True) and `absent` (False) gave: kept as long as names are only taken out."""

    def copy(self) -> Board:
        """Another one that is the same, and changes by itself."""
        found = copy(self)
        for name, held in vars(self).items():
            if isinstance(held, dict | list | set | IntervalIndex):
                setattr(found, name, held.copy())
        return found

    @property
    def outs(self) -> list[Exclusion]:
        """Everything that keeps names out, the oldest first."""
        return [self._outs[number] for number in sorted(self._outs)]

    def holding(self, names: Names) -> Iterator[Exclusion]:
        """What keeps any of `names` out, in no order."""
        found = [self._outs[number] for number in self._held.meeting(names)]
        return (out for out in found if out.names.meets(names))

    def tellers(self, names: Names) -> list[ContextItem]:
        """The items that stand for any of `names`, in no order."""
        return [item for name in self._told.meeting(names) if (item := self.items[name]).tells.meets(names)]

    def superseded(self, ids: Names) -> set[ItemName]:
        """The summaries that one of `ids` replaces: their compact took out some of these, or they stand for no
        others.
        """
        sources = [out.source for out in self.holding(ids) if out.kind == "compact"]
        replaced = {self._summaries[source] for source in sources if source in self._summaries}
        within = {item.name for item in self.tellers(ids) if item.summary and item.tells.within(ids)}
        return replaced | within | self._hollow

    def take_out(self, out: Exclusion) -> None:
        """`out.names` leave."""
        self._taken += 1
        self._put_out(self._taken, out)

    def recall(self, names: Names) -> None:
        """`names` are back from everything but boundaries, in full (replay 10)."""
        self._lift(names, boundaries=False)

    def enter(
        self, names: Sequence[Name], keys: Sequence[Key], effective: float | None, restored: int | None = None
    ) -> None:
        """`names` get the positions `keys`, in full, whatever took them out before."""
        self._lift(Names.of(names), boundaries=True)
        self.place(names, keys)
        self.effective.update(dict.fromkeys(names, effective))
        self.restored.update((name, restored) for name in names if isinstance(name, int))

    def place(self, names: Sequence[Name], keys: Sequence[Key]) -> None:
        """`names` get the positions `keys`, and are in or out as before (a program's preserved messages)."""
        self.moved.update(name for name in names if isinstance(name, int))
        self.keys.update(zip(names, keys, strict=True))

    def bring(self, item: ContextItem) -> None:
        """A new item; `enter` gives it its position."""
        self._set_item(item.name, item, telling=bool(item.tells))

    def drop(self, name: ItemName) -> None:
        """The item leaves; what its compact replaced is back, unless it is out for another reason."""
        number = self._replaced(name)
        self._set_item(name, None)
        if number is not None:
            self._drop_out(number)

    def _replaced(self, name: ItemName) -> int | None:
        item = self.items[name]
        return self._compacts.get(item.source) if item.summary else None

    def retell(self, name: ItemName, text: str, without: Names, short: str | None = None) -> None:
        """The item has a new text, and no longer stands for `without`. What an op shortened it to is shown no longer,
        unless the new text has all of that, but `short` if there is one.
        """
        item = self.items[name]
        stub = self.stubs.get(name)
        if shortening(stub) is not None and (short is not None or not is_of(shortening(stub), text)):
            if isinstance(stub, LeftOut):
                self.stubs[name] = LeftOut(stub.parts, short)
            elif short is not None:
                self.stubs[name] = short
            else:
                del self.stubs[name]
        message = {**item.message, "content": text}
        self._set_item(name, msgspec.structs.replace(item, tells=item.tells - without, message=message), telling=True)

    def shorten(self, names: Names, content: Any) -> None:
        """`names` are shown with this content; parts that were left out of them stay out."""
        new = dict.fromkeys(names, content)
        for name in names.common(self.stubs):
            if isinstance(held := self.stubs[name], LeftOut):
                new[name] = LeftOut(held.parts, content)
        self.stubs.update(new)
        self.changed.append(names)

    def leave_out(self, name: Name, parts: Iterable[Index]) -> None:
        """These parts of `name` are no longer shown."""
        held = self.stubs.get(name)
        if not isinstance(held, LeftOut):
            held = LeftOut((), held)
        self.stubs[name] = LeftOut(tuple(sorted({*held.parts, *parts}, key=path)), held.stub)
        self.changed.append(Names.of([name]))

    def flag(self, names: Names, *, protected: bool) -> None:
        """`names` are protected from now on, or no longer."""
        self._unread.append((names, NOTHING) if protected else (NOTHING, names))

    @property
    def protected(self) -> Names:
        """The names that a protect protects."""
        return self._all_flags()[0]

    @property
    def unprotected(self) -> Names:
        """The names whose protection an unprotect removed, including the default protection."""
        return self._all_flags()[1]

    def _all_flags(self) -> Flags:
        """All flags as one, the newest first. Neighbours are joined pairwise: n log n, and only when somebody asks."""
        if self._unread:
            found = [self._flagged, *self._unread]
            while len(found) > 1:
                found = [_joined(*pair) for pair in zip(found[::2], [*found[1::2], (NOTHING, NOTHING)], strict=False)]
            self._flagged, self._unread = found[0], []
        return self._flagged

    def _lift(self, names: Names, *, boundaries: bool) -> None:
        for number in self._held.meeting(names):
            out = self._outs[number]
            if (boundaries or not out.boundary) and out.names.meets(names):
                left = msgspec.structs.replace(out, names=out.names - names)
                self._unions.clear()
                if left.names:
                    self._outs[number] = left
                else:
                    self._drop_out(number)
        for name in names.common(self.stubs):
            del self.stubs[name]
        self.changed.append(names)

    def _put_out(self, number: int, out: Exclusion) -> None:
        if not out.names:
            return
        for hiding, union in self._unions.items():
            if hiding or out.kind not in HIDING:
                self._unions[hiding] = union | out.names
        self._outs[number] = out
        self._held.put(number, out.names)
        self.changed.append(out.names)
        if out.kind == "compact":
            self._compacts[out.source] = number

    def _drop_out(self, number: int) -> None:
        out = self._outs.pop(number, None)
        if out is not None:
            self._unions.clear()
            self._held.drop(number)
            self.changed.append(out.names)
            if out.kind == "compact":
                self._compacts.pop(out.source, None)

    def _set_item(self, name: ItemName, item: ContextItem | None, *, telling: bool = False) -> None:
        """Set or remove the item of this name, and note whether it stands for messages, or ever did."""
        before, told = self.items.pop(name, None), self.telling.pop(name, None) is not None
        self.changed.append(Names(items=(name,)))
        if told:
            self._told.drop(name)
            self._hollow.discard(name)
        if before is not None and before.summary:
            self._summaries.pop(before.source, None)
        if item is None:
            return
        self.items[name] = item
        if telling:
            self.telling[name] = item
            self._told.put(name, item.tells)
            if item.summary:
                self._summaries[item.source] = name
                if not item.tells:
                    self._hollow.add(name)

    def absent(self) -> Names:
        """All names that are out for a reason other than hiding."""
        return self._union(hiding=False)

    def hidden(self, among: Names | None = None) -> Names:
        """All names that are not shown, for whatever reason; those that any of `among` left with are enough."""
        return self._union(hiding=True) if among is None else joined([out.names for out in self.holding(among)])

    def _union(self, *, hiding: bool) -> Names:
        if hiding not in self._unions:
            outs = [out.names for out in self._outs.values() if hiding or out.kind not in HIDING]
            self._unions[hiding] = joined(outs)
        return self._unions[hiding]


def _joined(older: Flags, newer: Flags) -> Flags:
    """(protected, unprotected), where `newer` goes before `older`."""
    return (older[0] - newer[1]) | newer[0], (older[1] - newer[0]) | newer[1]
