"""The plan of a trim: it fits, it gives up what it should first, and it never refuses where dropping would do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.policies.trim import Cut, Plan, Rank, Unit, order, plan

E, L, Y, X, T, P, I, S = Rank  # noqa: E741  # the order in which they are given up, and what never is
UNITS = st.lists(
    st.tuples(st.integers(1, 500), st.sampled_from(list(Rank)), st.booleans()), min_size=1, max_size=30
).map(
    lambda found: [Unit((n,), tokens, rank, n // 4, opens) for n, (tokens, rank, opens) in enumerate(found, 1)]
)  # fmt: skip
SHARES = st.lists(st.floats(0, 1), min_size=30, max_size=30)
BUDGETS = st.integers(0, 9000)
MUST = Unit((31,), 0, Rank.TASK, 30)
"""Something that must stay; without it the last that fits stays, whatever its rank."""


def made(*units: tuple[int, Rank]) -> list[Unit]:
    return [Unit((n,), tokens, rank, n) for n, (tokens, rank) in enumerate(units, 1)]


def cuts(units: list[Unit], shares: list[float]) -> list[Cut]:
    """A cut of each second unit that may be touched."""
    return [
        Cut(unit.names[0], "stub", int(unit.tokens * share), "stale result", place)
        for place, (unit, share) in enumerate(zip(units, shares, strict=False))
        if place % 2 and unit.rank < Rank.EDITED
    ]


def size(units: list[Unit], some: list[Cut], found: Plan) -> int:
    """Tokens of what a plan leaves, counted anew."""
    saved = {cut.name: cut.saves for cut in some}
    left = sum(unit.tokens for unit in units if unit.names[0] not in found.dropped)
    return left - sum(saved[name] for name in found.stubs)


@given(UNITS, SHARES, BUDGETS)
def test_it_fits_or_nothing_would(units: list[Unit], shares: list[float], budget: int) -> None:
    """Never over the budget; refused only where what is never given up is larger, or nothing would be left."""
    some = cuts(units, shares)
    found = plan(units, some, budget)
    never = sum(unit.tokens for unit in units if unit.rank >= Rank.TASK)
    if found is None:
        assert never > budget or (not never and _last_too_large(units, budget))
        return
    assert size(units, some, found) == found.tokens <= budget and len(found.dropped) < len(units)
    assert not set(found.dropped) & found.stubs.keys() and set(found.reasons) == {*found.dropped, *found.stubs}


def _last_too_large(units: list[Unit], budget: int) -> bool:
    """None of them fits alone: steps with what asked for them, where that goes with them."""
    return all(sum(units[place].tokens for place in run) > budget for run in order(units))


@given(UNITS, SHARES, BUDGETS)
def test_dropping_the_oldest_would_fit_too(units: list[Unit], shares: list[float], budget: int) -> None:
    """Whatever fits once the oldest of what may go are dropped, one by one, fits here: there is no other refusal."""
    left = list(units)
    for unit in units:
        if sum(one.tokens for one in left) <= budget:
            break
        if unit.rank < Rank.TASK:
            left.remove(unit)
    if sum(one.tokens for one in left) <= budget and any(unit.rank >= Rank.TASK or not unit.opens for unit in left):
        assert plan(units, cuts(units, shares), budget) is not None


@given(UNITS, BUDGETS)
def test_priorities(units: list[Unit], budget: int) -> None:
    """While anything of a lower rank is there, nothing of a higher one leaves; what must stay never does."""
    found = plan([*units, MUST], [], budget)
    if found is None:
        return
    gone = set(found.dropped)
    highest = max((unit.rank for unit in units if unit.names[0] in gone), default=Rank.EXCHANGE)
    assert highest < Rank.TASK and all(unit.names[0] in gone for unit in units if unit.rank < highest)


@given(UNITS, BUDGETS)
def test_the_oldest_first(units: list[Unit], budget: int) -> None:
    """Within a rank by age; what opened an exchange goes with the last of its steps."""
    found = plan([*units, MUST], [], budget)
    if found is None:
        return
    gone = set(found.dropped)
    for rank in (Y, X):
        of_rank = [unit.names[0] in gone for unit in units if unit.rank == rank]
        assert of_rank == sorted(of_rank, reverse=True)
    for rank in (E, L):
        of_rank = [unit.names[0] in gone for unit in units if unit.rank == rank and not unit.opens]
        assert of_rank == sorted(of_rank, reverse=True)
        for unit in units:
            if unit.rank == rank and unit.opens:
                steps = [u for u in units if (u.rank, u.exchange, u.opens) == (rank, unit.exchange, False)]
                assert unit.names[0] in gone or not steps or not all(u.names[0] in gone for u in steps)


@given(UNITS, SHARES, BUDGETS, BUDGETS)
def test_a_larger_budget_keeps_all_that_a_smaller_one_does(
    units: list[Unit], shares: list[float], one: int, other: int
) -> None:
    """In full what was kept in full, and at least shortened what was shortened."""
    less, more = (plan([*units, MUST], cuts(units, shares), budget) for budget in sorted((one, other)))
    if less is not None:
        assert more is not None and set(more.dropped) <= set(less.dropped)
        assert more.stubs.keys() <= less.stubs.keys() | set(less.dropped)


@given(UNITS, SHARES, BUDGETS)
def test_what_was_trimmed_fits(units: list[Unit], shares: list[float], budget: int) -> None:
    """A second time changes nothing, and the same is decided every time."""
    some = cuts(units, shares)
    found = plan(units, some, budget)
    assert found == plan(units, some, budget)
    if found is None:
        return
    saved = {cut.name: cut.saves for cut in some if cut.name in found.stubs}
    left = [u._replace(tokens=u.tokens - saved.get(u.names[0], 0)) for u in units if u.names[0] not in found.dropped]
    again = plan(left, [cut for cut in some if cut.name not in found.reasons], budget)
    assert again is not None and not again.reasons


def test_where_nothing_must_stay() -> None:
    """The last of the order that fits alone stays; an empty context is none."""
    units = made((10, E), (20, L), (50, Y))
    assert [found and found.dropped for found in (plan(units, [], budget) for budget in (70, 50, 49, 19, 9))] == [
        [1], [1, 2], [1, 3], [2, 3], None,
    ]  # fmt: skip


def test_what_fits_is_left_alone() -> None:
    """To the token."""
    units = made((10, E), (5, T))
    assert plan(units, [], 15) == Plan(15, [], {}, {})
    assert plan(units, [], 14) == Plan(5, [1], {}, {1: "oldest exchange"})
    assert plan(units, [], 4) is None


def test_results_are_shortened_first() -> None:
    """As many as it takes, in the order they come; `least` takes more, so that the lost cache pays."""
    units = made((100, L), (100, L), (100, L), (10, T))
    some = [Cut(n, "s", 50, "stale result", n - 1) for n in (1, 2, 3)]
    assert plan(units, some, 290) == Plan(260, [], {1: "s"}, {1: "stale result"})
    found = plan(units, some, 290, least=100)
    assert found is not None and list(found.stubs) == [1, 2]


def test_an_old_exchange_goes_whole_but_a_large_one_by_steps() -> None:
    """What opened the large one stays as long as steps of it can go."""
    small = [Unit((n,), 10, E, n // 3, n % 3 == 0) for n in range(3, 9)] + [Unit((9,), 100, T, 3, True)]
    found = plan(small, [], 155)
    assert found is not None and found.dropped == [3, 4, 5]
    large = [Unit((n,), 100, E, 1, n == 1) for n in range(1, 6)] + [Unit((6,), 10, T, 2, True)]
    found = plan(large, [], 330)
    assert found is not None and found.dropped == [2, 3]


def test_the_latest_exchanges_go_step_by_step() -> None:
    """And what asked for the last of its steps goes with it: nobody is left with a question alone."""
    units = [Unit((n,), 10, L, n // 3, n % 3 == 0) for n in range(3, 9)] + [Unit((9,), 10, T, 3, True)]
    gone = [found.dropped for budget in (65, 55, 40, 39) if (found := plan(units, [], budget)) is not None]
    assert gone == [[4], [3, 4, 5], [3, 4, 5], [3, 4, 5, 7]]


def test_a_summary_that_is_most_of_the_context_goes_before_the_newest_steps() -> None:
    units = made((60, Y), (10, E), (20, L), (10, L))
    found = plan(units, [], 40)
    assert found is not None and found.dropped == [1, 2]
    small = plan(made((20, Y), (10, E), (40, L), (30, L)), [], 40)
    assert small is not None and small.dropped == [2, 3, 4]
