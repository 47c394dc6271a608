"""trim: what leaves, and what is shortened, so that a context fits a budget. Pure: figures and names in, a plan out.

DESIGN section 6. Kept, highest first: system and protected messages (never given up), instructions, the current task,
files being edited, the latest exchanges. Let go first: superseded and stale results, shortened; the oldest exchanges,
whole; then the oldest steps. A step is never split.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from ctxkit.core.names import Name


class Rank(IntEnum):
    """When a unit is given up, the first ones first; units of one rank by age."""

    EXCHANGE = 0
    STEP = 1
    TALK = 2
    EDITED = 3
    INSTRUCTION = 4
    TASK = 5
    NEVER = 6


SHARE = 0.3
"""Of the budget: an exchange that is larger goes step by step, what opens it last."""
REASONS = {
    Rank.EXCHANGE: "oldest exchange", Rank.STEP: "oldest step", Rank.TALK: "oldest message",
    Rank.EDITED: "a file being edited, nothing older was left", Rank.INSTRUCTION: "instructions, nothing else was left",
    Rank.TASK: "the current task, nothing else was left",
}  # fmt: skip


class Unit(NamedTuple):
    """What leaves together: a step, or a message that stands alone.

    `tokens`: as it stands; `exchange`: a number for the exchange that it is of.
    """

    names: tuple[Name, ...]
    tokens: int
    rank: Rank
    exchange: int


class Cut(NamedTuple):
    """A result that can be shortened to `stub`: `saves` tokens. `unit`: the place of its unit."""

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
    alone, or nothing would be left.

    `cuts` in the order in which they are made. `least`: once something is cut, results are shortened until so many
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
    gone: dict[int, Rank] = {}
    for run in _in_order(units):
        if saved >= need:
            break
        in_parts = sum(units[place].tokens for place in run) > SHARE * budget
        for place in [*run[1:], run[0]] if in_parts else run:
            if in_parts and saved >= need:
                break
            unit = units[place]
            saved += unit.tokens - sum(cut.saves for cut in made.pop(place, ()))
            gone[place] = unit.rank
    if saved < need or len(gone) == len(units):
        return None
    kept = [cut for cuts in made.values() for cut in cuts]
    dropped = {name: REASONS[rank] for place, rank in gone.items() for name in units[place].names}
    reasons = {**dropped, **{cut.name: cut.reason for cut in kept}}
    return Plan(tokens - saved, list(dropped), {cut.name: cut.stub for cut in kept}, reasons)


def _in_order(units: Sequence[Unit]) -> Iterable[list[int]]:
    """Places of units in the order in which they are given up; those of an old exchange together."""
    places = sorted((unit.rank, place) for place, unit in enumerate(units) if unit.rank < Rank.NEVER)
    run: list[int] = []
    for rank, place in places:
        if run and not (rank == Rank.EXCHANGE and units[place].exchange == units[run[0]].exchange):
            yield run
            run = []
        run.append(place)
    if run:
        yield run
