"""trim: what leaves, and what is shortened, so that a context fits a budget. Pure: figures and names in, a plan out.

DESIGN section 6. Never given up: the system prompt, instructions, what is protected, the current task. Then, highest
first: files being edited, summaries of what left before, the latest exchanges. Let go first: superseded and stale
results, shortened; the oldest exchanges, whole; then the oldest steps. A step is never split. The order does not depend
on the budget, so a larger one keeps all that a smaller one does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby
from typing import Any, NamedTuple

from ctxkit.core.names import Name


class Rank(IntEnum):
    """When a unit is given up, the first ones first; units of one rank by age. From TASK on: never."""

    EXCHANGE = 0
    LATEST = 1
    SUMMARY = 2
    EDITED = 3
    TASK = 4
    PROTECTED = 5
    INSTRUCTION = 6
    SYSTEM = 7


SHARE = 0.3
"""Of the context: an old exchange that is larger goes step by step, what opens it with the last one."""
REASONS = {
    Rank.EXCHANGE: "oldest exchange", Rank.LATEST: "oldest step", Rank.SUMMARY: "a summary, no step was left",
    Rank.EDITED: "a file being edited, nothing else was left",
}  # fmt: skip


class Unit(NamedTuple):
    """What leaves together: a step, or a message that stands alone.

    `tokens`: as it stands; `exchange`: a number for the exchange that it is of; `opens`: whether it starts it.
    """

    names: tuple[Name, ...]
    tokens: int
    rank: Rank
    exchange: int
    opens: bool = False


class Cut(NamedTuple):
    """A message that can be shortened to `stub`: `saves` tokens. `unit`: the place of its unit."""

    name: Name
    stub: Any
    saves: int
    reason: str
    unit: int


class Plan(NamedTuple):
    """What fits: `tokens` of it. `dropped`, `stubs`, `reasons` by name."""

    tokens: int
    dropped: list[Name]
    stubs: dict[Name, Any]
    reasons: dict[Name, str]


def plan(units: Sequence[Unit], cuts: Iterable[Cut], budget: int, *, least: int = 0) -> Plan | None:
    """The plan that makes `units` fit into `budget` tokens; None where what is never given up is larger
    alone, or nothing that fits would be left.

    `cuts` in the order in which they are made. `least`: once something is cut, messages are shortened until so many
    tokens are saved, so that a change of the cached prefix pays. Linear but for sorting the ranks.
    """
    tokens = sum(unit.tokens for unit in units)
    need = tokens - budget
    if need <= 0:
        return Plan(tokens, [], {}, {})
    made: dict[int, list[Cut]] = {}
    saved = 0
    for cut in cuts:
        if saved >= max(need, least):
            break
        made.setdefault(cut.unit, []).append(cut)
        saved += cut.saves
    gone: list[int] = []
    runs = list(order(units))
    for run in runs:
        if saved >= need:
            break
        saved += sum(units[place].tokens - sum(cut.saves for cut in made.pop(place, ())) for place in run)
        gone += run
    if len(gone) == len(units):  # nothing must stay: then the last of the order that fits alone does
        sizes = [sum(units[place].tokens for place in run) for run in runs]
        last = next((at for at in range(len(runs) - 1, -1, -1) if sizes[at] <= budget), None)
        if last is None:
            return None
        gone, saved = [place for place in gone if place not in runs[last]], tokens - sizes[last]
    elif saved < need:
        return None
    kept = [cut for cuts in made.values() for cut in cuts]
    dropped = {name: REASONS[units[place].rank] for place in sorted(gone) for name in units[place].names}
    reasons = {**dropped, **{cut.name: cut.reason for cut in kept}}
    return Plan(tokens - saved, list(dropped), {cut.name: cut.stub for cut in kept}, reasons)


def order(units: Sequence[Unit]) -> Iterator[list[int]]:
    """Places of units in the order in which they are given up; those that leave together, together."""
    large = SHARE * sum(unit.tokens for unit in units)
    places = sorted((_rank(unit, large), place) for place, unit in enumerate(units) if unit.rank < Rank.TASK)
    for rank, ranked in groupby(places, key=lambda found: found[0]):
        if rank > Rank.LATEST:
            yield from ([place] for _, place in ranked)
            continue
        for _, found in groupby((place for _, place in ranked), key=lambda place: units[place].exchange):
            run = list(found)
            if rank == Rank.EXCHANGE and sum(units[place].tokens for place in run) <= large:
                yield run
            else:
                yield from _steps(units, run)


def _rank(unit: Unit, large: float) -> Rank:
    """A summary that is most of the context would else take all that came after it along."""
    return Rank.LATEST if unit.rank == Rank.SUMMARY and unit.tokens > large else unit.rank


def _steps(units: Sequence[Unit], run: Sequence[int]) -> Iterator[list[int]]:
    """An exchange step by step; what opens it leaves with the last one, as nothing answers it any more."""
    steps = [place for place in run if not units[place].opens]
    opening = [place for place in run if units[place].opens]
    yield from ([place] for place in steps[:-1])
    yield [*opening, *steps[-1:]]
