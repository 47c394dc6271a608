"""Candidates: which part of a context a compact may replace, and what stays as it is. Pure. Units in, places out.

What is protected stays, and the tail: the newest exchanges or steps that were asked for, whatever their size; else the
newest ones that their share has room for, where an exchange that is larger is cut between two steps, so that a session
with one user message and 300 steps is compacted like any other.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from ctxkit.core.item_names import Name, Names
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.sets.sequences import LazySequence
from ctxkit.core.state import State
from ctxkit.trim.plan import LONG

TAIL = 0.3
"""Of the budget, less what stays in any case: the newest messages that stay as they are, where nobody says how many."""
NEWEST = 0.6
"""Of the same, how much the newest step may take alone."""
LEAST = 0.005
"""Of all that could go: a newest step that is no larger stays in any case."""
SUMMARY = 0.02
"""Of the tokens that it replaces, what a summary has in any case, whatever stays beside it."""
TYPED = 0.8
"""Of the budget, less what stays in any case: what the first message, or the newest, may take before it is shortened.
What somebody typed is dense: on the benchmark's sessions, half of the budget for it kept less of what was needed.
"""
FEWEST = 3
"""Messages that are worth a summary."""


class CompactUnit(NamedTuple):
    """What is replaced together: a step, a message that stands alone, a summary.

    `exchange`: the number of the exchange that it is of, 0 before the first; `step`: a model's response; `stays`: it is
    protected, instructs, or is hidden in part; `chosen`: it is among what was asked for; `told`: it is a summary of
    ours, which a later one takes in; `shrinks`: it stays, but not its length (the first message).
    """

    names: tuple[Name, ...]
    tokens: int
    exchange: int
    step: bool = False
    stays: bool = False
    chosen: bool = True
    told: bool = False
    shrinks: bool = False


STEP, STAYS, CHOSEN, TOLD, SHRINKS = (1 << bit for bit in range(5))


class Units(LazySequence[CompactUnit]):
    """The units of a context, some numbers each; a unit is made when it is asked for, and can be put in its place."""

    def __init__(self, groups: Sequence[Sequence[Name]], units: Iterable[CompactUnit]) -> None:
        """`groups`: the names of each; they are not held a second time."""
        super().__init__(len(groups), self._unit)
        self._groups = groups
        self._tokens, self._exchanges, self._flags = array("q"), array("i"), bytearray()
        for unit in units:
            self._tokens.append(unit.tokens)
            self._exchanges.append(unit.exchange)
            self._flags.append(_flags(unit))

    def _unit(self, place: int) -> CompactUnit:
        flags = self._flags[place]
        return CompactUnit(
            tuple(self._groups[place]), self._tokens[place], self._exchanges[place], bool(flags & STEP),
            bool(flags & STAYS), bool(flags & CHOSEN), bool(flags & TOLD), bool(flags & SHRINKS),
        )  # fmt: skip

    def __setitem__(self, place: int, unit: CompactUnit) -> None:
        self._tokens[place], self._flags[place] = unit.tokens, _flags(unit)

    def may_go(self, end: int) -> Sequence[int]:
        """The places before `end` of those that were chosen and do not stay."""
        return array("i", (at for at, flags in enumerate(self._flags[:end]) if flags & (CHOSEN | STAYS) == CHOSEN))


def _flags(unit: CompactUnit) -> int:
    return (
        STEP * unit.step | STAYS * unit.stays | CHOSEN * unit.chosen | TOLD * unit.told | SHRINKS * unit.shrinks
    )  # fmt: skip


class KeptTail(NamedTuple):
    """The tail that was asked for: newest exchanges, newest steps; None: not said."""

    exchanges: int | None = None
    steps: int | None = None


def candidates(units: Sequence[CompactUnit], keep: KeptTail, budget: int) -> tuple[list[int], int]:
    """The places of the units that may be replaced, and the place where the tail begins.

    `budget`: tokens that the units may have together.
    """
    begins = _asked(units, keep) if keep != KeptTail() else _soft(units, budget)
    return [place for place, unit in enumerate(units[:begins]) if unit.chosen and not unit.stays], begins


def rooms(units: Sequence[CompactUnit], keep: KeptTail, budget: int) -> dict[int, int]:
    """The places of the units that stay where they are and are too long for that, each with the tokens that it may
    have: the first message, and where nobody says what is kept, a newest one that somebody typed.

    A larger budget never has less room for one; what all others leave of it is theirs.
    """
    left = budget - sum(unit.tokens for unit in units if unit.stays and not unit.shrinks)
    others = sum(unit.tokens for unit in units if not unit.stays)
    found: dict[int, int] = {}

    def shorten(place: int) -> int:
        room = max(LONG, int(min(TYPED * left, left - SUMMARY * others)), left - others)
        if room < units[place].tokens:
            found[place] = room
        return min(room, units[place].tokens)

    for place, unit in enumerate(units):
        if unit.shrinks:
            left -= shorten(place)
    newest = len(units) - 1
    if keep == KeptTail() and units and not (units[newest].stays or units[newest].step or units[newest].told):
        others -= units[newest].tokens
        shorten(newest)
    return found


def _asked(units: Sequence[CompactUnit], keep: KeptTail) -> int:
    begins = len(units)
    if keep.exchanges:
        newest = units[-1].exchange if units else 0
        oldest = max(1, newest - keep.exchanges + 1)
        begins = next((place for place, unit in enumerate(units) if unit.exchange >= oldest), begins)
    if keep.steps:
        steps = [place for place, unit in enumerate(units) if unit.step]
        begins = min([begins, *steps[-keep.steps :]])
    return begins


def _soft(units: Sequence[CompactUnit], budget: int) -> int:
    """The newest exchanges whole, as far as the share of the tail goes, then the newest steps of the next. The newest
    unit may be larger than that; but a step that takes most of the budget is told like any other.
    """
    left = max(0, budget - sum(unit.tokens for unit in units if unit.stays))
    begins = len(units)
    behind = max((place for place, unit in enumerate(units) if unit.told), default=-1)
    places = array("i", (place for place, unit in enumerate(units) if not unit.stays and place > behind))
    least = SUMMARY * sum(unit.tokens for unit in units if not unit.stays)
    whole = sum(units[place].tokens for place in places)
    room, most = min(TAIL * left, left - least), max(min(NEWEST * left, left - least), LEAST * whole)
    if places and not (units[places[-1]].step and units[places[-1]].tokens > most):
        begins = places.pop()
        room = max(0, room - units[begins].tokens)
    for _, group in groupby(reversed(places), key=lambda place: units[place].exchange):
        run = list(group)
        size = sum(units[place].tokens for place in run)
        if size <= room:
            begins, room = run[-1], room - size
            continue
        for place in run:
            if units[place].tokens > room:
                break
            begins, room = place, room - units[place].tokens
        break
    return begins


def guarded(state: State, *, first: bool = True) -> Names:
    """What no compact replaces: the protected and their steps, the preamble, the first message (replay 35, 56).

    `first`: whether the first message opens the conversation: a summary of an earlier part does not, nor a model's.
    """
    by_themselves = Names(Ranges.span(1, min(state.count, state.preamble + first))) - state.board.unprotected
    items = Names(items=filter(state.guarded, state.board.items))
    return state.steps.close((state.board.protected | by_themselves | items) & state.everything())


def originals(state: State, names: Names, exempt: Names) -> Names:
    """`names` with what summaries of ours tell in their place: a summary is made of the messages, never of a summary.

    `exempt`: what of that stays, as `guarded` gives it.
    """
    board = state.board
    summaries = [name for name in names.items if name in board.items and board.items[name].summary]
    told = Names()
    for name in summaries:
        told = told | board.items[name].tells
    return (names - Names(items=summaries)) | ((told & state.present()) - exempt)
