"""Which of the ops that were played hang on which, so that an undo plays no more than it must.

Used by `walk`. An op that names what it concerns hangs on an earlier one where they have a name in common, or where
both have one in common with compacts: a summary goes as a whole. What concerns everything (a clear, a rewind, an edit)
hangs on all before it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection
from itertools import chain
from typing import assert_never

from ctxkit.core.item_names import NOTHING, ItemName, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import (
    Clear,
    Compact,
    Edit,
    Forget,
    Interrupted,
    Mark,
    Protect,
    Recall,
    Restore,
    Rewind,
    Trim,
    Undo,
    Unprotect,
    Window,
)
from ctxkit.core.sets.interval_index import IntervalIndex
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.transcript import ProgramCut


def concerns(what: LedgerEntry | ProgramCut) -> Names | None:
    """What the effect of an op or cut can hang on or change, but for what summaries tell; None: anything."""
    if isinstance(what, ProgramCut):
        return Names(Ranges.of(chain(what.out, what.moved, (what.after,) if what.after else ())))
    match what.op:
        case Compact(ids=ids, stubs=stubs):
            return joined([Names.parse(ids), *map(Names.parse, stubs), Names(items=(ItemName(what.id, 1),))])
        case Trim(ids=ids, stubs=stubs, parts=parts):
            return joined([Names.parse(ids), *map(Names.parse, stubs), *map(Names.parse, parts)])
        case Forget(ids=ids, planning=planning, parts=parts):
            return joined([Names.parse(ids), Names.parse(planning), *map(Names.parse, parts)])
        case Recall(ids=ids) | Protect(ids=ids) | Unprotect(ids=ids):
            return Names.parse(ids)
        case Window(agent=agent):
            return Names(items=(ItemName(agent or "", 0 if agent is None else -1),))  # no item is called that
        case Mark():
            return NOTHING
        case None | Clear() | Rewind() | Edit() | Restore() | Undo() | Interrupted():
            return None
        case _:
            assert_never(what.op)


def joined(some: Collection[Names]) -> Names:
    """All of these."""
    if len(some) < 2:
        return next(iter(some), NOTHING)
    pairs = chain.from_iterable(names.numbers.pairs() for names in some)
    return Names(Ranges(pairs), chain.from_iterable(names.items for names in some))


class OpDependencies:
    """The ops and cuts on a board, by their places in what came."""

    def __init__(self) -> None:
        self._names: dict[int, Names | None] = {}
        """Whatever ever came."""
        self._all: IntervalIndex[int] = IntervalIndex()
        self._compacts: IntervalIndex[int] = IntervalIndex()
        self._binding: list[int] = []
        """Places of what hangs on anything, ascending."""
        self._cuts: list[int] = []
        self._literals: set[int] = set()
        """Places of edits and restores that brought messages of their own."""
        self._tales: set[int] = set()
        """Those of them with messages that may tell what a summary told."""

    def add(self, place: int, what: LedgerEntry | ProgramCut) -> None:
        """This is on the board now."""
        names = self.names_of(place, what)
        if isinstance(what, ProgramCut):
            insort(self._cuts, place)
        elif names is None:
            insort(self._binding, place)
            literals = [one for one in what.op.items if one.n is None] if isinstance(what.op, Edit | Restore) else []
            if literals:
                self._literals.add(place)
            if any(isinstance(one.origin, str) for one in literals):
                self._tales.add(place)
        if names is not None:
            self._all.put(place, names)
            if not isinstance(what, ProgramCut) and isinstance(what.op, Compact):
                self._compacts.put(place, names)

    def drop(self, place: int) -> None:
        """This is no longer on it."""
        self._all.drop(place)
        self._compacts.drop(place)
        self._literals.discard(place)
        self._tales.discard(place)
        for places in (self._binding, self._cuts):
            at = bisect_left(places, place)
            if places[at : at + 1] == [place]:
                del places[at]

    def names_of(self, place: int, what: LedgerEntry | ProgramCut) -> Names | None:
        """What this concerns."""
        if place not in self._names:
            self._names[place] = concerns(what)
        return self._names[place]

    def hanging(self, places: Collection[int]) -> set[int] | None:
        """What is on the board and hangs on these, whose names are known; None: whatever came since the first."""
        first = min(places)
        known = self._names
        if (
            self._tales
            or any(known[place] is None for place in places)
            or (self._binding and self._binding[-1] >= first)
            or (self._literals and self._cuts and self._cuts[-1] >= first)  # a cut takes along what stands there
        ):
            return None
        found: set[int] = set()
        seen: set[int] = set()
        fresh, asked = [names for place in places if (names := known[place]) is not None], NOTHING
        while fresh:
            wanted = joined(fresh) - asked
            asked = asked | wanted
            near = {place for place in self._all.meeting(wanted) if place >= first} | self._compacts.meeting(wanted)
            fresh = []
            for place in near - seen:
                names = known[place]
                if names is not None and names.meets(wanted):
                    seen.add(place)
                    fresh.append(names)
                    if place >= first:
                        found.add(place)
        return found
