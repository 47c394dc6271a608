"""trim: what leaves, and what is shortened, so that a context fits a budget. Pure. Figures and names in, a plan out.

Pure. Never given up: the system prompt, instructions, what is protected, the current task. Then, highest first: the
last answer, the newest step, files being edited, summaries of what left before, the latest exchanges, older ones; the
newest of each first. Old results are shortened before anything leaves, and what is large before anything newer does.
The room is filled in that order: what does not fit is left out, and what comes after it is still tried, so that nothing
leaves in vain. A step is never split. What stays has never fewer tokens than dropping the oldest first would leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import groupby, islice
from typing import Any, NamedTuple, Protocol

from ctxkit.core.item_names import Name


class TrimRank(IntEnum):
    """When a unit is given up, the first ones first; units of one rank by age. From TASK on: never."""

    EXCHANGE = 0
    LATEST = 1
    SUMMARY = 2
    EDITED = 3
    STEP = 4
    ANSWER = 5
    TASK = 6
    PROTECTED = 7
    INSTRUCTION = 8
    SYSTEM = 9


LONG = 2000
"""Tokens that a message keeps at least which is shortened where it stands: a shorter one is never (replay 63)."""
SHARE = 0.3
"""Of the context: a summary that is larger is no better than the steps that came after it. Of the room: a first
message that is larger stands in the way."""
LARGE = 0.1
"""Of the room: what is larger is shortened before anything newer leaves. Smaller ones cannot leave more than that."""
NEAR = 1 - LARGE
"""Of the room: so much is used, wherever anything is left that fits into the rest."""
TRIES = 8
"""How often the last gap is tried to be filled by a part of something."""
REASONS = {
    TrimRank.EXCHANGE: "oldest exchange", TrimRank.LATEST: "oldest step", TrimRank.SUMMARY: "no room was left",
    TrimRank.EDITED: "a file being edited, no room was left", TrimRank.STEP: "the newest step, which does not fit",
    TrimRank.ANSWER: "the last answer, which does not fit",
}  # fmt: skip
TOO_LARGE = "too large for the remaining room"


class TrimUnit(NamedTuple):
    """What leaves together: a step, or a message that stands alone.

    `tokens`: as it stands; `exchange`: a number for the exchange that it is of; `opens`: whether it starts it.
    """

    names: tuple[Name, ...]
    tokens: int
    rank: TrimRank
    exchange: int
    opens: bool = False


class Truncation(NamedTuple):
    """A message that can be shortened to `stub`: `saves` tokens. `unit`: the place of its unit."""

    name: Name
    stub: Any
    saves: int
    reason: str
    unit: int


class Cuts(Protocol):
    """What can be shortened; content is read as far as it is asked for."""

    def old(self) -> Iterable[Truncation]:
        """Old results and arguments, in the order in which they are shortened."""

    def large(self, place: int) -> Iterable[Truncation]:
        """Whatever can be shortened in the unit at `place`, however new it is; of what never leaves the first message
        alone.
        """

    def wider(self, cut: Truncation, tokens: int) -> Truncation | None:
        """The same cut, which saves less by up to `tokens`; None where there is none."""


class TrimPlan(NamedTuple):
    """What fits: `tokens` of it. `dropped`, `stubs`, `reasons` by name."""

    tokens: int
    dropped: list[Name]
    stubs: dict[Name, Any]
    reasons: dict[Name, str]


def plan(units: Sequence[TrimUnit], cuts: Cuts, budget: int, *, least: int = 0) -> TrimPlan | None:
    """The plan that makes `units` fit into `budget` tokens; None where what is never given up is larger alone, or
    nothing that fits would be left.

    `least`: once something is cut, messages are shortened until so many tokens are saved, so that a change of the
    cached prefix pays. Linear but for sorting the ranks.
    """
    tokens = sum(unit.tokens for unit in units)
    if tokens <= budget:
        return TrimPlan(tokens, [], {}, {})
    found = _Room(units, cuts, budget)
    if not found.shorten(least) and not found.fill():
        return None
    found.refill(least)
    return found.plan()


class _Room:
    """The room of a budget, and what stands in it. `sizes`: tokens of each unit, as it is shortened so far; `stays`:
    places of the units that stay; `left`: tokens that are free; `made`: the cuts by the message that they shorten.
    """

    def __init__(self, units: Sequence[TrimUnit], cuts: Cuts, budget: int) -> None:
        self.units, self.cuts, self.budget = units, cuts, budget
        self.sizes = [unit.tokens for unit in units]
        self.total = sum(self.sizes)
        self.stays = set(range(len(units)))
        self.left = budget - self.total
        self.made: dict[Name, Truncation] = {}
        self.old: set[Name] = set()
        """What was shortened for its age; all else was so for its size."""
        self.large: list[int] = []
        """What stays and is large, and may yet be shortened for what is newer."""
        self.asked: set[int] = set()
        self.never = [place for place, unit in enumerate(units) if unit.rank >= TrimRank.TASK]
        self.beside = budget - sum(units[place].tokens for place in self.never)
        """Tokens that are left beside what never goes."""

    def shorten(self, least: int) -> bool:
        """Shorten old results, as many as it takes. Whether that is enough."""
        saved, need = 0, -self.left
        for cut in self.cuts.old():
            if saved >= max(need, least):
                break
            self._make(cut)
            self.old.add(cut.name)
            saved += cut.saves
        return self.left >= 0

    def fill(self) -> bool:
        """Fill the room by rank, beside what is never given up. Whether that fits, and anything is left."""
        self._empty(self.never)
        if self.left < 0:
            for place in self.never:
                self._shorten(place)
            if self.left < 0:
                return False
        self.beside = self.left
        self.large = [place for place in self.never if self.sizes[place] > SHARE * self.budget]
        for run in self._by_rank():
            self._take(run)
        if self.used < NEAR * self.budget:
            self._keep_what_fits()
        return bool(self.stays)

    def refill(self, least: int) -> None:
        """Undo what was done in vain: what is shortened is whole again where it fits, or at least longer."""
        spare = min(self.left, self.total - self.used - least)
        for cut in self._by_worth():
            if cut.saves <= spare:
                self._unmake(cut)
                spare -= cut.saves
        if least:
            return
        oldest = self._oldest_first()
        enough = max(NEAR * self.budget, oldest.tokens)
        self._widen(enough)
        for place in islice(self._gone(), TRIES if self.used < enough else 0):
            self._shorten(place)
            if self.sizes[place] <= self.left:
                self._keep([place])
                self._widen(enough)
        if self.used < oldest.tokens:
            self._only(oldest)
            self._keep_what_fits()

    def plan(self) -> TrimPlan:
        """What was decided."""
        units = self.units
        gone = [place for place in range(len(units)) if place not in self.stays]
        dropped: dict[Name, str] = {}
        cuts = [cut for cut in self.made.values() if cut.unit in self.stays]
        partly = {units[place].exchange for place in self.stays}
        for place in gone:
            unit, why = units[place], REASONS[units[place].rank]
            if self.sizes[place] > self.beside:
                why = TOO_LARGE
            elif unit.rank == TrimRank.EXCHANGE and unit.exchange in partly:
                why = REASONS[TrimRank.LATEST]
            dropped.update(dict.fromkeys(unit.names, why))
        reasons = {**dropped, **{cut.name: cut.reason for cut in cuts}}
        return TrimPlan(self.used, list(dropped), {cut.name: cut.stub for cut in cuts}, reasons)

    @property
    def used(self) -> int:
        """Tokens of what stays."""
        return self.budget - self.left

    def _by_rank(self) -> Iterator[list[int]]:
        """What may leave, highest rank first, the newest first. What opens an exchange comes along with the newest step
        of it that fits, as nothing else answers it.
        """
        for (rank, _), found in groupby(self._ranked, key=lambda one: (one[0], self.units[one[1]].exchange)):
            run = [place for _, place in found]
            opening = [place for place in run if self.units[place].opens] if rank <= TrimRank.LATEST else []
            steps = [place for place in run if place not in opening] if opening else run
            if not steps:
                yield opening
            for place in steps:
                yield [place] if not opening or opening[0] in self.stays else [*opening, place]

    @cached_property
    def _ranked(self) -> list[tuple[TrimRank, int]]:
        """Ranks and places of what may leave, highest first. A summary that is most of the context has a lower one: it
        would else take all that came after it along.
        """
        units, large = self.units, SHARE * self.total
        found = [
            (TrimRank.LATEST if unit.rank == TrimRank.SUMMARY and unit.tokens > large else unit.rank, place)
            for place, unit in enumerate(units) if unit.rank < TrimRank.TASK
        ]  # fmt: skip
        return sorted(found, reverse=True)

    def _gone(self) -> Iterator[int]:
        return (place for _, place in self._ranked if place not in self.stays)

    def _take(self, run: list[int]) -> None:
        """Keep these where they fit, once what is large and older, or they themselves, are shortened."""
        first, size = min(run), sum([self.sizes[place] for place in run])
        if size > self.left:
            for place in self.never if self.units[first].rank >= TrimRank.STEP else list(self.large):
                if place < first and size > self.left:
                    self._shorten(place)
        if size > self.left:
            for place in run:
                if self.sizes[place] > LARGE * self.budget:
                    self._shorten(place)
            size = sum([self.sizes[place] for place in run])
        if size <= self.left:
            self._keep(run)

    def _keep(self, run: Iterable[int]) -> None:
        for place in run:
            self.stays.add(place)
            self.left -= self.sizes[place]
            if self.sizes[place] > LARGE * self.budget and place not in self.asked:
                self.large.append(place)

    def _keep_what_fits(self) -> None:
        for place in self._gone():
            if self.sizes[place] <= self.left:
                self._keep([place])

    def _empty(self, stays: Iterable[int]) -> None:
        self.stays = set(stays)
        self.left = self.budget - sum([self.sizes[place] for place in self.stays])

    def _shorten(self, place: int) -> None:
        """Whatever can be shortened of one unit."""
        if place in self.asked:
            return
        self.asked.add(place)
        if place in self.large:
            self.large.remove(place)
        for cut in self.cuts.large(place):
            if cut.name not in self.made:
                self._make(cut)

    def _make(self, cut: Truncation) -> None:
        self.made[cut.name] = cut
        self._grow(cut.unit, -cut.saves)

    def _unmake(self, cut: Truncation) -> None:
        del self.made[cut.name]
        self._grow(cut.unit, cut.saves)

    def _grow(self, place: int, tokens: int) -> None:
        self.sizes[place] += tokens
        if place in self.stays:
            self.left -= tokens

    def _by_worth(self) -> list[Truncation]:
        """The cuts of what stays, the last that should be one first: those for size by rank, those for age as made."""
        found = [cut for cut in self.made.values() if cut.unit in self.stays]
        old = [cut for cut in found if cut.name in self.old]
        large = [cut for cut in found if cut.name not in self.old]
        large.sort(key=lambda cut: (self.units[cut.unit].rank, cut.unit), reverse=True)
        return [*large, *reversed(old)]

    def _widen(self, enough: float) -> None:
        """Let shortened messages say more, until so many tokens are used."""
        for cut in self._by_worth()[:TRIES]:
            if self.used >= enough:
                return
            wider = self.cuts.wider(cut, self.left)
            if wider is not None:
                self._unmake(cut)
                self._make(wider)

    def _oldest_first(self) -> _Oldest:
        """What dropping the oldest, one by one, leaves whole beside what must stay, and the last answer and step."""
        tokens = [unit.tokens for unit in self.units]
        held = {place for place in self.stays if self.units[place].rank >= TrimRank.STEP}
        whole = sum([tokens[place] for place in held]) <= self.budget
        if not whole:
            for place in held:
                tokens[place] = self.sizes[place]
        left, gone = sum(tokens), set[int]()
        for place in range(len(tokens)):
            if left <= self.budget:
                break
            if place not in held:
                left -= tokens[place]
                gone.add(place)
        return _Oldest(left, set(range(len(tokens))) - gone, set() if whole else held)

    def _only(self, oldest: _Oldest) -> None:
        for cut in list(self.made.values()):
            if cut.unit not in oldest.shortened:
                self._unmake(cut)
        self._empty(oldest.stays)


class _Oldest(NamedTuple):
    """What stays where the oldest leave first; of these are `shortened` as they were, the others are whole."""

    tokens: int
    stays: set[int]
    shortened: set[int]
