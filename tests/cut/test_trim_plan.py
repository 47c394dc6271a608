"""The plan of a trim: it fits, the room is used, nothing is given up in vain, and dropping the oldest keeps no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.cut.trim_plan import LARGE, NEAR, TrimPlan, TrimRank, TrimUnit, Truncation, plan

F, U, E, L, X, N, A, Y, T, P, I, S = TrimRank  # noqa: E741  # the order in which they are given up, and what never is
RANKS = [*[rank for rank in TrimRank if rank not in (N, A, T)], F, E, E, L, L, L]
UNITS = st.lists(
    st.tuples(st.integers(1, 500), st.sampled_from(RANKS), st.booleans()), min_size=1, max_size=30
).map(
    lambda found: [TrimUnit((n,), tokens, rank, n // 4, opens) for n, (tokens, rank, opens) in enumerate(found, 1)]
)  # fmt: skip
NEWEST = st.lists(st.integers(1, 500), min_size=0, max_size=3)
SHARES = st.lists(st.floats(0, 1), min_size=34, max_size=34)
BUDGETS = st.integers(0, 9000)


class Cuts:
    """What can be shortened of `units`, by a share of each: every second one for its age, every third for its size."""

    def __init__(self, units: Sequence[TrimUnit], shares: Sequence[float] = (), *, stiff: bool = False) -> None:
        self.units, self.shares, self.stiff = units, shares, stiff

    def _cut(self, place: int, reason: str) -> Iterator[Truncation]:
        saves = int(self.units[place].tokens * self.shares[place]) if self.shares else 0
        if saves:
            yield Truncation(self.units[place].names[0], f"{saves} less", saves, reason, place)

    def old(self) -> Iterator[Truncation]:
        """As `trim.plan.Cuts` has it."""
        for place, unit in enumerate(self.units):
            if place % 2 and unit.rank < X:
                yield from self._cut(place, "stale result")

    def large(self, place: int) -> Iterator[Truncation]:
        """The same."""
        rank = self.units[place].rank
        if rank == Y or (place % 3 == 0 and rank < T) or self.is_first(place):
            yield from self._cut(place, "large result")

    def words(self, place: int) -> Iterator[Truncation]:
        """The same."""
        if (place % 5 == 4 or self.units[place].rank == A) and self.units[place].rank < Y:
            yield from self._cut(place, "long text")

    def is_first(self, place: int) -> bool:
        """Whether it is the message that never goes, but may be shortened."""
        return self.units[place].rank == P and place == 0

    def wider(self, cut: Truncation, tokens: int) -> Truncation | None:
        """The same."""
        saves = max(1, cut.saves - tokens)
        return None if self.stiff or saves == cut.saves else cut._replace(saves=saves, stub=f"{saves} less")


def context(units: list[TrimUnit], newest: list[int]) -> list[TrimUnit]:
    """With a task, an answer and a step behind, as many as there are sizes."""
    more = zip(newest, (T, A, N), strict=False)
    return [*units, *(TrimUnit((40 + n,), size, rank, 10, rank == T) for n, (size, rank) in enumerate(more))]


CASES = st.tuples(
    st.builds(context, UNITS, NEWEST), SHARES, st.one_of(BUDGETS, st.floats(0.05, 0.95)), st.booleans()
).map(lambda one: (one[0], Cuts(one[0], one[1], stiff=one[3]), _budget(one[0], one[2])))  # fmt: skip


def _budget(units: list[TrimUnit], asked: float) -> int:
    return asked if isinstance(asked, int) else int(asked * sum(unit.tokens for unit in units))


Case = tuple[list[TrimUnit], Cuts, int]


def made(*units: tuple[int, TrimRank]) -> list[TrimUnit]:
    return [TrimUnit((n,), tokens, rank, n) for n, (tokens, rank) in enumerate(units, 1)]


def kept(units: Sequence[TrimUnit], found: TrimPlan) -> dict[int, int]:
    """What a plan leaves, by place, counted anew."""
    saved = {name: int(stub.split()[0]) for name, stub in found.stubs.items()}
    return {
        place: unit.tokens - saved.get(unit.names[0], 0)
        for place, unit in enumerate(units) if unit.names[0] not in found.dropped
    }  # fmt: skip


def oldest_first(units: Sequence[TrimUnit], budget: int, stays: set[int]) -> int | None:
    """The judge: drop the oldest of what may go, one by one, until it fits; tokens that are left, None for no fit."""
    left = {place: unit.tokens for place, unit in enumerate(units)}
    for place in range(len(units)):
        if sum(left.values()) <= budget:
            break
        if place not in stays:
            del left[place]
    return sum(left.values()) if left and sum(left.values()) <= budget else None


@given(CASES)
def test_it_fits_or_nothing_would(case: Case) -> None:
    """Never over the budget; refused only where what is never given up is larger, or nothing at all fits."""
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    never = {place for place, unit in enumerate(units) if unit.rank >= T}
    if found is None:
        alone = [unit.tokens for unit in units]
        assert sum(alone[place] for place in never) > budget or (not never and min(alone) > budget)
        assert oldest_first(units, budget, never) is None
        return
    left = kept(units, found)
    assert left and sum(left.values()) == found.tokens <= budget and never <= left.keys()
    assert not set(found.dropped) & found.stubs.keys() and set(found.reasons) == {*found.dropped, *found.stubs}
    shortened = {place for place in never if units[place].names[0] in found.stubs}
    assert all(cuts.is_first(place) for place in shortened)


@given(CASES)
def test_never_fewer_tokens_than_dropping_the_oldest_keeps(case: Case) -> None:
    """Beside the same messages: those that never go, the last answer, the newest step and the lines of summaries, as
    far as they stay.
    """
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    if found is None:
        return
    left = kept(units, found)
    now = [
        unit._replace(tokens=left[place]) if unit.rank == Y and place in left else unit
        for place, unit in enumerate(units)
    ]
    other = oldest_first(now, budget, {place for place in left if units[place].rank >= N})
    assert other is None or found.tokens >= other


@given(CASES)
def test_the_room_is_used(case: Case) -> None:
    """Nine tenths of it, wherever anything that left fits into the rest."""
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    if found is None or found.tokens >= NEAR * budget:
        return
    left = kept(units, found)
    assert all(unit.tokens > budget - found.tokens for place, unit in enumerate(units) if place not in left)


@given(CASES)
def test_nothing_is_shortened_in_vain(case: Case) -> None:
    """What is shortened would not fit whole."""
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    if found is not None:
        left = kept(units, found)
        assert all(units[place].tokens - size > budget - found.tokens for place, size in left.items()
                   if size < units[place].tokens)  # fmt: skip


@given(CASES)
def test_the_last_answer_stays(case: Case) -> None:
    """Whenever it fits beside what never goes and the heads of summaries; the newest step whenever it fits beside all
    that.
    """
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    if found is None:
        return
    left, room = kept(units, found), budget - sum(unit.tokens for unit in units if unit.rank >= Y)
    room += sum(cut.saves for place, unit in enumerate(units) if unit.rank == Y for cut in cuts.large(place))
    for rank in (A, N):
        for place, unit in enumerate(units):
            if unit.rank == rank:
                assert place in left or unit.tokens > room
                room -= left.get(place, 0)


@given(CASES)
def test_what_was_trimmed_fits(case: Case) -> None:
    """A second time changes nothing, and the same is decided every time."""
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    assert found == plan(units, cuts, budget)
    if found is not None:
        left = [units[place]._replace(tokens=size) for place, size in kept(units, found).items()]
        again = plan(left, Cuts(left), budget)
        assert again is not None and not again.reasons


@given(CASES, st.integers(0, 9000))
def test_at_least(case: Case, least: int) -> None:
    """Once anything is cut, so many tokens are saved, as far as old results can save them."""
    units, cuts, budget = case
    found = plan(units, cuts, budget, least=least)
    total = sum(unit.tokens for unit in units)
    if found is not None and found.reasons:
        assert found.tokens <= budget
        assert total - found.tokens >= min(least, sum(cut.saves for cut in cuts.old()))


def test_where_nothing_must_stay() -> None:
    """The highest rank that fits stays, and what fits beside; an empty context is none."""
    units = made((10, E), (20, L), (50, X))
    found = [plan(units, Cuts(units), budget) for budget in (79, 70, 60, 49, 19, 9)]
    assert [one and one.dropped for one in found] == [[1], [1], [2], [3], [2, 3], None]


def test_a_question_alone_before_nothing() -> None:
    """Where nothing must stay, and not even what opens an exchange fits with a step of it."""
    units = [TrimUnit((1,), 10, L, 1, True), TrimUnit((2,), 10, L, 1)]
    found = plan(units, Cuts(units), 10)
    assert found is not None and found.dropped == [1]


def test_what_fits_is_left_alone() -> None:
    """To the token."""
    units = made((10, E), (5, T))
    assert plan(units, Cuts(units), 15) == TrimPlan(15, [], {}, {})
    assert plan(units, Cuts(units), 14) == TrimPlan(5, [1], {}, {1: "too large for the remaining room"})
    assert plan(units, Cuts(units), 4) is None


def test_results_are_shortened_first() -> None:
    """As many as it takes, in the order they come; `least` takes more, so that the lost cache pays."""
    units = made((100, L), (100, L), (100, L), (100, L), (10, T))
    cuts = Cuts(units, [0.5] * 5)
    assert plan(units, cuts, 370) == TrimPlan(360, [], {2: "50 less"}, {2: "stale result"})
    found = plan(units, cuts, 400, least=100)
    assert found is not None and list(found.stubs) == [2, 4]


def test_what_cannot_fit_takes_nothing_along() -> None:
    """A file that was written and is larger than the room leaves alone, or says less; the answer stays."""
    units = made((10, P), (20, L), (3800, X), (20, A), (10, T))
    found = plan(units, Cuts(units), 2000)
    assert found is not None and found.reasons == {3: "too large for the remaining room"}


def test_what_is_large_is_shortened_before_anything_newer_leaves() -> None:
    """And no more than it takes."""
    units = made((10, P), (20, L), (10, L), (3800, X), (20, L), (20, A), (10, T))
    units.insert(0, TrimUnit((0,), 5, S, 0))  # so that the large one has a third place
    cuts = Cuts(units, [0.9] * 8)
    cuts.large = lambda place: cuts._cut(place, "large result") if place == 4 else iter(())  # type: ignore[method-assign]
    found = plan(units, cuts, 3000)
    assert found is not None and found.dropped == [] and found.tokens >= NEAR * 3000
    assert found.reasons.get(4) == "large result"


def test_a_first_message_that_stands_in_the_way() -> None:
    """Is shortened where it is most of the room, or where the last answer would not fit beside it."""
    units = made((1000, P), *[(50, L)] * 20, (10, T))
    for budget in (1500, 900):
        found = plan(units, Cuts(units, [0.8] * 22), budget)
        assert found is not None and 1 in found.stubs and not found.dropped
    units = made((1000, P), *[(300, L)] * 20, (10, T))
    found = plan(units, Cuts(units, [0.8] * 22), 5000)
    assert found is not None and 1 not in found.stubs
    units = made((280, P), (50, L), (800, A), (10, T))
    found = plan(units, Cuts(units, [0.8] * 4, stiff=True), 1000)
    assert found is not None and 1 in found.stubs and 3 not in found.reasons


@pytest.mark.parametrize(("budget", "gone"), [(65, [4]), (55, [3, 4]), (44, [3, 4, 5]), (33, [3, 4, 5, 7])])
def test_the_oldest_steps_go_first(budget: int, gone: list[int]) -> None:
    """What opened an exchange comes with the newest step of it, where both fit: no question is left alone."""
    units = [TrimUnit((n,), 10, L, n // 3, n % 3 == 0) for n in range(3, 9)] + [TrimUnit((9,), 10, T, 3, True)]
    found = plan(units, Cuts(units), budget)
    assert found is not None and found.dropped == gone


def test_what_comes_back() -> None:
    """What was older than a large step that left, the newest first, with the reason of each that did not."""
    units = made((40, E), (300, E), (30, L), (30, L), (500, L), (30, L), (10, T))
    found = plan(units, Cuts(units), 120)
    assert found is not None
    assert found.reasons == {1: "oldest exchange", 2: "too large for the remaining room",
                             5: "too large for the remaining room"}  # fmt: skip


def test_an_exchange_that_leaves_in_part() -> None:
    """Its steps are said to be the oldest steps."""
    units = [TrimUnit((n,), 10, E, n // 3, n % 3 == 0) for n in range(3, 9)] + [TrimUnit((9,), 10, T, 3, True)]
    found = plan(units, Cuts(units), 65)
    assert found is not None and found.reasons == {4: "oldest step"}
    found = plan(units, Cuts(units), 40)
    assert found is not None and set(found.reasons.values()) == {"oldest exchange"}


@given(CASES)
def test_a_summary_goes_only_when_its_head_does_not_fit(case: Case) -> None:
    """Beside what never goes, as short as it can be."""
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    if found is None or sum(unit.rank == Y for unit in units) != 1:
        return
    [place] = [place for place, unit in enumerate(units) if unit.rank == Y]
    left = kept(units, found)
    if place not in left:
        head = units[place].tokens - sum(cut.saves for cut in cuts.large(place))
        assert head + sum(size for other, size in left.items() if units[other].rank > Y) > budget


ONE = made((100, Y), (80, A), (10, T))


@example((ONE, Cuts(ONE, [0.7, 0, 0]), 85), 1.2)
@given(CASES, st.floats(1, 3))
def test_a_larger_budget_keeps_the_memory(case: Case, times: float) -> None:
    """A summary that stays with one budget stays with every larger one, whatever else fits then."""
    units, cuts, budget = case
    found, other = plan(units, cuts, budget), plan(units, cuts, int(budget * times))
    if found is not None and sum(unit.rank == Y for unit in units) == 1:
        assert other is not None
        [place] = [place for place, unit in enumerate(units) if unit.rank == Y]
        assert place in kept(units, other) or place not in kept(units, found)


@given(CASES)
def test_a_summary_keeps_its_share(case: Case) -> None:
    """Below the share that it held of the context no older step stays; above it none left that would fit instead."""
    units, cuts, budget = case
    found = plan(units, cuts, budget)
    if found is None or not found.reasons or cuts.stiff or sum(unit.rank == Y for unit in units) != 1:
        return
    [place] = [place for place, unit in enumerate(units) if unit.rank == Y]
    left = kept(units, found)
    share = units[place].tokens * budget // sum(unit.tokens for unit in units)
    if left.get(place, share) < share:
        assert not [other for other in left if E <= units[other].rank < N]
    elif units[place].names[0] in found.stubs:
        more = left[place] - max(share, units[place].tokens - sum(cut.saves for cut in cuts.large(place)))
        gone = [unit.tokens for other, unit in enumerate(units) if other not in left and E <= unit.rank < N]
        assert not gone or min(gone) > more


def test_a_summary_and_steps_leave_in_turn() -> None:
    """Not the whole memory for the want of a few tokens, however large it is, and not all steps."""
    units = [
        TrimUnit((0,), 600, Y, 0),
        *(TrimUnit((n,), 20, L, n, True) for n in range(1, 21)),
        TrimUnit((21,), 9, T, 21),
    ]
    for budget in (999, 900, 700, 500, 300):
        found = plan(units, Cuts(units, [0.9, *[0.0] * 21]), budget)
        assert found is not None and found.tokens > budget - 20
        assert kept(units, found)[0] == pytest.approx(600 * budget / 1009, abs=20)
    found = plan(units, Cuts(units, [0.9, *[0.0] * 21]), 65)
    assert found is not None and 0 in found.dropped  # its head has 60


def test_words_of_what_would_leave_fill_the_room() -> None:
    """Before the room stays empty, a part of a long message stays, and of no other."""
    units = made((10, P), (20, L), (30, L), (20, L), (3000, E), (10, T))
    found = plan(units, Cuts(units, [0.9] * 6), 1000)
    assert found is not None and found.dropped == [] and found.tokens >= NEAR * 1000
    assert found.reasons == {5: "long text"}


def test_large_is_what_may_be_missing() -> None:
    """What is smaller than that leaves less than a tenth free when it does not fit."""
    assert LARGE + NEAR >= 1
