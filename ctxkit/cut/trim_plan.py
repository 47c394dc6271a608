"""Plans a trim: which units are dropped and which messages are shortened, so that a context fits a budget. Pure.

Never dropped: the system prompt, instructions, protected messages, the current task. The other ranks, highest first:
the heads of summaries, the last answer, the newest step, files being edited, the latest exchanges, older exchanges;
within a rank the newest first. A summary is text by lines: once the newest step has its place, it gets the share of the
room that it held of the context, so its least useful lines leave in turn with the oldest steps. Steps that are done
with (FINISHED, SUPERSEDED: the strategy `episodes` alone) leave before anything else. Old results are shortened before
anything else is dropped, and large messages before anything newer is dropped. The room is filled in order of rank. What
does not fit is left out, and what follows is still tried, so nothing is dropped in vain; at last also with a part of
its words. A step is never split. A plan never keeps fewer tokens than dropping the oldest units first would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import groupby, islice
from typing import Any, NamedTuple, Protocol

from ctxkit.core.item_names import Name


class TrimRank(IntEnum):
    """The order in which units are dropped: the lowest rank first, within a rank the oldest. From TASK on: never."""

    FINISHED = 0
    SUPERSEDED = 1
    EXCHANGE = 2
    LATEST = 3
    EDITED = 4
    STEP = 5
    ANSWER = 6
    SUMMARY = 7
    TASK = 8
    PROTECTED = 9
    INSTRUCTION = 10
    SYSTEM = 11


LONG = 2000
"""The fewest tokens that a message keeps if it is shortened in place; a shorter one never is (replay 63)."""
SHARE = 0.3
"""A first message larger than this share of the budget may be shortened."""
LARGE = 0.1
"""A unit larger than this share of the budget is shortened before anything newer is dropped. If none is larger, no more
than this share stays unused."""
NEAR = 0.95
"""The share of the budget that a plan uses, if something that fits is left."""
TRIES = 8
"""How many times a plan tries to fill the last gap with a part of something."""
REASONS = {
    TrimRank.FINISHED: "finished, its effect is in the files", TrimRank.SUPERSEDED: "superseded by a later step",
    TrimRank.EXCHANGE: "oldest exchange", TrimRank.LATEST: "oldest step",
    TrimRank.EDITED: "a file being edited, no room was left", TrimRank.STEP: "the newest step, which does not fit",
    TrimRank.ANSWER: "the last answer, which does not fit", TrimRank.SUMMARY: "its head does not fit",
}  # fmt: skip
TOO_LARGE = "too large for the remaining room"


class TrimUnit(NamedTuple):
    """What is dropped as a whole: a step, or a message outside of steps.

    `tokens`: its size before the trim; `exchange`: the number of its exchange; `opens`: whether it opens the exchange.
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
    """What can be shortened. Content is read only as far as needed."""

    def old(self) -> Iterable[Truncation]:
        """Old results and arguments, in the order in which they are shortened."""

    def large(self, place: int) -> Iterable[Truncation]:
        """All that can be shortened in the unit at `place`, however new: of a summary all lines but its head. Of units
        that are never dropped, only the first message.
        """

    def words(self, place: int) -> Iterable[Truncation]:
        """Long texts of the unit at `place`, which are shortened only if it would leave else, and the room be empty; of
        a summary a part of its head too.
        """

    def wider(self, cut: Truncation, tokens: int) -> Truncation | None:
        """A cut of the same message that saves less, by up to `tokens`; None if there is none."""


class TrimPlan(NamedTuple):
    """A plan that fits. `tokens`: of what stays; `dropped`; `stubs` and `reasons` by name."""

    tokens: int
    dropped: list[Name]
    stubs: dict[Name, Any]
    reasons: dict[Name, str]


def plan(units: Sequence[TrimUnit], cuts: Cuts, budget: int, *, least: int = 0) -> TrimPlan | None:
    """Makes a plan that fits `units` into `budget` tokens; None if what is never dropped does not fit, or nothing would
    be left.

    `least`: once something is shortened, shortening goes on until so many tokens are saved, so that the lost cache
    pays. Takes linear time, except for sorting by rank.
    """
    tokens = sum(unit.tokens for unit in units)
    if tokens <= budget:
        return TrimPlan(tokens, [], {}, {})
    found = _Room(units, cuts, budget)
    if not found.leave(least) and not found.shorten(least) and not found.fill():
        return None
    found.refill(least)
    return found.plan()


class _Room:
    """A budget, and the units in it. `sizes`: tokens of each unit, with the cuts so far; `stays`: places of the units
    that stay; `left`: free tokens; `made`: message -> its cut.
    """

    def __init__(self, units: Sequence[TrimUnit], cuts: Cuts, budget: int) -> None:
        self.units, self.cuts, self.budget = units, cuts, budget
        self.sizes = [unit.tokens for unit in units]
        self.total = sum(self.sizes)
        self.stays = set(range(len(units)))
        self.left = budget - self.total
        self.made: dict[Name, Truncation] = {}
        self.old: set[Name] = set()
        """Messages that were shortened for their age; the others were for their size."""
        self.large: list[int] = []
        """Places of large units that stay and may still be shortened for newer ones."""
        self.tried: set[int] = set()
        """Places of units that were shortened as far as possible."""
        self.never = [place for place, unit in enumerate(units) if unit.rank >= TrimRank.TASK]
        """Places of the units that are never dropped."""
        self.beside = budget - sum(units[place].tokens for place in self.never)
        """Tokens left besides the units that are never dropped."""

    def leave(self, least: int) -> bool:
        """Drops what is done with, as much as needed: the lowest rank first, the oldest first. Returns whether that is
        enough.
        """
        done = [(unit.rank, place) for place, unit in enumerate(self.units) if unit.rank < TrimRank.EXCHANGE]
        for _, place in sorted(done):
            if self._is_enough(least):
                break
            self.stays.remove(place)
            self.left += self.sizes[place]
        return bool(done and self.stays) and self._is_enough(least)

    def shorten(self, least: int) -> bool:
        """Shortens old results, as many as needed. Returns whether what is left, if anything, fits."""
        for cut in self.cuts.old():
            if self._is_enough(least):
                break
            if cut.unit in self.stays:
                self._apply(cut)
                self.old.add(cut.name)
        return self.left >= 0 and bool(self.stays)

    def _is_enough(self, least: int) -> bool:
        """Whether it fits, and so many tokens are saved."""
        return self.left >= 0 and self.total - self.used >= least

    def fill(self) -> bool:
        """Fills the room by rank, besides what is never dropped. Returns False if that does not fit, or nothing is
        left.
        """
        self._empty(self.never)
        if self.left < 0:
            for place in self.never:
                self._shorten(place)
            if self.left < 0:
                return False
        self.beside = self.left
        self.large = [place for place in self.never if self.sizes[place] > SHARE * self.budget]
        for is_last, runs in groupby(self._by_rank(), key=lambda run: self.units[run[-1]].rank < TrimRank.STEP):
            if is_last:
                self._give_shares()
            for run in runs:
                self._take(run)
        if self.used < NEAR * self.budget:
            self._keep_what_fits()
        return bool(self.stays)

    def refill(self, least: int) -> None:
        """Uses the room that is left: makes shortened messages whole or longer, and tries dropped units again."""
        spare = min(self.left, self.total - self.used - least)
        for cut in self._least_wanted():
            if cut.saves <= spare:
                self._revert(cut)
                spare -= cut.saves
        if least:
            return
        oldest = self._oldest_first()
        enough = max(NEAR * self.budget, oldest.tokens)
        self._widen(enough, self._least_wanted()[:TRIES])
        for place in islice(self._gone(), TRIES if self.used < enough else 0):
            self._shorten(place)
            if self.sizes[place] > self.left:
                self._cut_further(place)
            if self.sizes[place] <= self.left:
                self._keep([place])
                self._widen(enough, [cut for cut in self.made.values() if cut.unit == place])
        oldest = self._oldest_first()  # anew: what stays has become longer
        if self.used < oldest.tokens:
            self._restore(oldest)
            self._keep_what_fits()

    def plan(self) -> TrimPlan:
        """The plan of what was decided."""
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
        """Yields places of what may be dropped, highest rank first, the newest first. The message that opens an
        exchange comes with the newest step of it that fits, since without a step it has no answer.
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
        """Ranks and places of what may be dropped, highest first."""
        return sorted(
            ((unit.rank, place) for place, unit in enumerate(self.units) if unit.rank < TrimRank.TASK), reverse=True
        )

    def _gone(self) -> Iterator[int]:
        return (place for _, place in self._ranked if place not in self.stays)

    def _take(self, run: list[int]) -> None:
        """Keeps these units if they fit, once large older units, or else they themselves, are shortened."""
        if self.units[run[-1]].rank == TrimRank.SUMMARY:
            self._shorten(run[-1])
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
        if size > self.left and TrimRank.ANSWER <= self.units[first].rank <= TrimRank.SUMMARY:
            self._cut_further(first)
            size = self.sizes[first]
        if size <= self.left:
            self._keep(run)

    def _give_shares(self) -> None:
        """Gives each summary that is shortened the share of the room that it held of the context, if there is room;
        after them the last answer.
        """
        short = [cut for cut in self.made.values() if TrimRank.ANSWER <= self.units[cut.unit].rank <= TrimRank.SUMMARY]
        for cut in sorted(short, key=lambda cut: self.units[cut.unit].rank, reverse=True):
            share = self.units[cut.unit].tokens * self.budget // self.total
            more = min(self.left, share - self.sizes[cut.unit])
            if cut.unit in self.stays and more > 0:
                self._replace(cut, more)

    def _replace(self, cut: Truncation, tokens: int) -> None:
        """Cuts less of a message, by up to so many tokens."""
        wider = self.cuts.wider(cut, tokens)
        if wider is not None:
            self._revert(cut)
            self._apply(wider)

    def _keep(self, run: Iterable[int]) -> None:
        for place in run:
            self.stays.add(place)
            self.left -= self.sizes[place]
            if self.sizes[place] > LARGE * self.budget and place not in self.tried:
                self.large.append(place)

    def _keep_what_fits(self) -> None:
        for place in self._gone():
            if self.sizes[place] <= self.left:
                self._keep([place])

    def _empty(self, stays: Iterable[int]) -> None:
        self.stays = set(stays)
        self.left = self.budget - sum([self.sizes[place] for place in self.stays])

    def _shorten(self, place: int) -> None:
        """Shortens all that can be shortened of one unit."""
        if place in self.tried:
            return
        self.tried.add(place)
        if place in self.large:
            self.large.remove(place)
        for cut in self.cuts.large(place):
            if cut.name not in self.made:
                self._apply(cut)

    def _cut_further(self, place: int) -> None:
        """Leaves little of one unit, also of what is cut already."""
        for cut in self.cuts.words(place):
            if cut.name in self.made:
                self._revert(self.made[cut.name])
            self._apply(cut)

    def _apply(self, cut: Truncation) -> None:
        self.made[cut.name] = cut
        self._grow(cut.unit, -cut.saves)

    def _revert(self, cut: Truncation) -> None:
        del self.made[cut.name]
        self._grow(cut.unit, cut.saves)

    def _grow(self, place: int, tokens: int) -> None:
        self.sizes[place] += tokens
        if place in self.stays:
            self.left -= tokens

    def _least_wanted(self) -> list[Truncation]:
        """The cuts of what stays, in the order to revert them: those for size by rank, those for age last first."""
        found = [cut for cut in self.made.values() if cut.unit in self.stays]
        old = [cut for cut in found if cut.name in self.old]
        large = [cut for cut in found if cut.name not in self.old]
        large.sort(key=lambda cut: (self.units[cut.unit].rank, cut.unit), reverse=True)
        return [*large, *reversed(old)]

    def _widen(self, enough: float, cuts: Iterable[Truncation]) -> None:
        """Makes shortened messages longer, until so many tokens are used; lines of a summary fill all of the room."""
        for cut in cuts:
            if self.used < (self.budget if self.units[cut.unit].rank == TrimRank.SUMMARY else enough):
                self._replace(cut, self.left)

    def _oldest_first(self) -> _OldestFirst:
        """What stays if the oldest units are dropped one by one. The newest step and all higher ranks stay, summaries
        as they are now.
        """
        tokens = [unit.tokens for unit in self.units]
        held = {place for place in self.stays if self.units[place].rank >= TrimRank.STEP}
        short = {place for place in held if self.units[place].rank == TrimRank.SUMMARY}
        if sum([(self.sizes if place in short else tokens)[place] for place in held]) > self.budget:
            short = held
        for place in short:
            tokens[place] = self.sizes[place]
        left, gone = sum(tokens), set[int]()
        for place in range(len(tokens)):
            if left <= self.budget:
                break
            if place not in held:
                left -= tokens[place]
                gone.add(place)
        return _OldestFirst(left, set(range(len(tokens))) - gone, short)

    def _restore(self, oldest: _OldestFirst) -> None:
        for cut in list(self.made.values()):
            if cut.unit not in oldest.shortened:
                self._revert(cut)
        self._empty(oldest.stays)


class _OldestFirst(NamedTuple):
    """What stays if the oldest units are dropped first. `shortened`: places of units that keep their cuts."""

    tokens: int
    stays: set[int]
    shortened: set[int]
