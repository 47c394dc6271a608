"""What a program's own compactions took out, which a summary of what came after can tell again (replay 67). Pure.

The messages are in the file. So a summary that is made of them, and not of the program's own summary, can be made again
without one that is forgotten.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from ctxkit.core.board import Key
from ctxkit.core.item_names import NOTHING, Name, Names
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State
from ctxkit.core.transcript import ProgramCut

FOREIGN = -1
"""Sources of a program's own events: FOREIGN - index of the cut in `View.all_cuts`. Ops have sources from 1."""
BEHIND = 8
"""How many messages behind a compaction are looked at to find its summary."""


class ToldBefore(NamedTuple):
    """`names`: what the program's compactions took out, and nothing else; `stale`: the program's summaries that are not
    read, because a newer one is, or because they may tell what has left.
    """

    names: Names = NOTHING
    stale: Names = NOTHING


def told_before(state: State, ids: Names, is_summary: Callable[[int], bool]) -> ToldBefore:
    """What a summary of `ids` tells beyond these: what the program's own compactions before them took out.

    `is_summary`: whether a message is a summary by the program.
    """
    told = NOTHING
    for cut in reversed(_compactions(state)):
        behind = _behind(state, cut)
        first = next(filter(is_summary, behind), next(iter(behind), 0))
        if first in ids or first in told:
            out = Names(Ranges.of(cut.out)) - ids
            told = told | (out - lost(state, out) - state.present())
    return ToldBefore(told, stale(state, ids, told, is_summary) if told else NOTHING)


def stale(state: State, ids: Names, told: Names, is_summary: Callable[[int], bool], leave: Names = NOTHING) -> Names:
    """The program's summaries that a summary of `ids` and `told` is not made of: there is a newer one, or one may tell
    what has left the context for good. `leave`: what leaves it now.
    """
    found, here = set[int](), ids | told | (state.present() - leave)
    for cut in _compactions(state):
        summary = next(filter(is_summary, _behind(state, cut)), 0)
        if summary in told or (summary in ids and Names(Ranges.of(cut.out)) - here):
            found.add(summary)
    return Names.of(found)


def as_told(state: State, told: Names) -> Callable[[Name], Key]:
    """The order in which a summary tells messages: `told` as they were written, whatever the program moved."""
    return lambda name: (name, 0, 0, 0) if isinstance(name, int) and name in told else state.key(name)


def lost(state: State, names: Names) -> Names:
    """Those of `names` that are out for more than a compaction of the program: by an op, a rollback, on a branch."""
    view, found = state.transcript.view, names & Names(state.away)
    for out in state.board.holding(names):
        by_program = out.source < 0 and view is not None and view.all_cuts[FOREIGN - out.source].is_compaction
        found = found if by_program else found | (out.names & names)
    return found


def _compactions(state: State) -> list[ProgramCut]:
    view = state.transcript.view
    return [cut for cut in view.all_cuts if cut.is_compaction and cut.out] if view is not None else []


def _behind(state: State, cut: ProgramCut) -> range:
    """The messages right behind a compaction."""
    first = bisect_left(state.transcript.row_of, cut.row) + 1
    return range(first, min(first + BEHIND, state.count + 1))
