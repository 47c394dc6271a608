"""Selects the units of a context that a compact may replace. Pure.

Protected messages stay, and so does the tail: the newest exchanges or steps that were asked for, whatever their size;
else the newest ones that fit into a share of the budget. An exchange that does not fit is cut between two steps, so
that a session with one user message and 300 steps can be compacted too.
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
from ctxkit.cut.trim_plan import LONG

TAIL = 0.12
"""The default tail, as a share of the budget without what always stays."""
NEWEST = 0.6
"""The share of the budget without what always stays that the newest step alone may take."""
SHORT = 0.06
"""A newest step of more than this share of all that may be replaced, and than LONG, is kept as other units are. Without
this, a slightly larger budget suddenly had one long result whole, and half of the lines of everything else.
"""
LEAST = 0.005
"""A newest step of at most this share of all that may be replaced always stays."""
SUMMARY = 0.02
"""The least size of a summary, as a share of the tokens that it replaces."""
TYPED = 0.8
"""The first message, or the newest, is shortened if it takes more than this share of the budget without what always
stays. What somebody typed is dense: on the benchmark's sessions, a share of a half kept less of what was needed.
"""
FEWEST = 3
"""The fewest messages that are worth a summary."""


class CompactUnit(NamedTuple):
    """What is replaced as a whole: a step, a message outside of steps, a summary.

    `exchange`: the number of its exchange, 0 before the first; `step`: a model's response; `stays`: it is protected, an
    instruction, or partly hidden; `chosen`: it is among the messages that were selected; `is_summary`: a summary of
    ctxkit's, which a later one includes; `shrinks`: it stays, but may be shortened, or is already (the first message,
    a newest one that is too long).
    """

    names: tuple[Name, ...]
    tokens: int
    exchange: int
    step: bool = False
    stays: bool = False
    chosen: bool = True
    is_summary: bool = False
    shrinks: bool = False


STEP, STAYS, CHOSEN, IS_SUMMARY, SHRINKS = (1 << bit for bit in range(5))


class Units(LazySequence[CompactUnit]):
    """The units of a context, stored in columns. A unit is made when it is read, and can be replaced."""

    def __init__(self, groups: Sequence[Sequence[Name]], units: Iterable[CompactUnit]) -> None:
        """`groups`: the names of each unit."""
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
            bool(flags & STAYS), bool(flags & CHOSEN), bool(flags & IS_SUMMARY), bool(flags & SHRINKS),
        )  # fmt: skip

    def __setitem__(self, place: int, unit: CompactUnit) -> None:
        self._tokens[place], self._flags[place] = unit.tokens, _flags(unit)

    def copy(self) -> Units:
        """Another one that is the same."""
        found = Units(self._groups, ())
        found._tokens, found._exchanges, found._flags = self._tokens[:], self._exchanges, self._flags[:]
        return found

    def may_go(self, end: int) -> Sequence[int]:
        """The places before `end` of the units that are chosen and do not stay."""
        return array("i", (at for at, flags in enumerate(self._flags[:end]) if flags & (CHOSEN | STAYS) == CHOSEN))


def _flags(unit: CompactUnit) -> int:
    return (
        STEP * unit.step | STAYS * unit.stays | CHOSEN * unit.chosen | IS_SUMMARY * unit.is_summary
        | SHRINKS * unit.shrinks
    )  # fmt: skip


class KeptTail(NamedTuple):
    """The tail that was asked for: how many of the newest exchanges and steps; None: not given."""

    exchanges: int | None = None
    steps: int | None = None


def tail_start(units: Sequence[CompactUnit], keep: KeptTail, budget: int) -> int:
    """The place where the tail begins. `budget`: the most tokens of all units."""
    return _given_tail(units, keep) if keep != KeptTail() else _default_tail(units, budget)


def rooms(units: Sequence[CompactUnit], keep: KeptTail, budget: int) -> dict[int, int]:
    """Place -> room in tokens, for units that stay and are too long: the first message, and, without a given tail, a
    newest message that somebody typed.

    The room never shrinks with a larger budget, and is at least what all other units leave of it.
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
    if keep == KeptTail() and units and not (units[newest].stays or units[newest].step or units[newest].is_summary):
        others -= units[newest].tokens
        shorten(newest)
    return found


def _given_tail(units: Sequence[CompactUnit], keep: KeptTail) -> int:
    begins = len(units)
    if keep.exchanges:
        newest = units[-1].exchange if units else 0
        oldest = max(1, newest - keep.exchanges + 1)
        begins = next((place for place, unit in enumerate(units) if unit.exchange >= oldest), begins)
    if keep.steps:
        steps = [place for place, unit in enumerate(units) if unit.step]
        begins = min([begins, *steps[-keep.steps :]])
    return begins


def _default_tail(units: Sequence[CompactUnit], budget: int) -> int:
    """Where the default tail begins: it has the newest exchanges that fit into its share, then the newest steps of the
    next exchange. The newest unit may be larger than the share, but not a long step.
    """
    left = max(0, budget - sum(unit.tokens for unit in units if unit.stays))
    begins = len(units)
    behind = max((place for place, unit in enumerate(units) if unit.is_summary), default=-1)
    places = array("i", (place for place, unit in enumerate(units) if not unit.stays and place > behind))
    least = SUMMARY * sum(unit.tokens for unit in units if not unit.stays)
    whole = sum(units[place].tokens for place in places)
    room = min(TAIL * left, left - least)
    most = max(min(NEWEST * left, max(SHORT * whole, LONG), left - least), room, LEAST * whole)
    may_go = places and (units[places[-1]].step or units[len(units) - 1].shrinks)  # what was typed last is shortened
    if places and not (may_go and units[places[-1]].tokens > most):
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
    """What no compact replaces: protected messages and their steps, the preamble, the first message (replay 35, 56).

    `first`: whether the first message opens the conversation. A summary of an earlier part, or a model's message, does
    not.
    """
    by_themselves = Names(Ranges.span(1, min(state.count, state.preamble + first))) - state.board.unprotected
    items = Names(items=filter(state.guarded, state.board.items))
    return state.steps.close((state.board.protected | by_themselves | items) & state.everything())


def originals(state: State, names: Names, exempt: Names) -> Names:
    """`names` with ctxkit's summaries replaced by their messages: a summary is never made of a summary.

    `exempt`: those of these messages that stay, as `guarded` gives them.
    """
    board = state.board
    summaries = [name for name in names.items if name in board.items and board.items[name].summary]
    covered = Names()
    for name in summaries:
        covered = covered | board.items[name].tells
    return (names - Names(items=summaries)) | ((covered & state.present()) - exempt)
