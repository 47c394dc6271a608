"""The plan of a trim: it fits, it gives up what it should first, and it never refuses where dropping would do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.policies.trim import Cut, Plan, Rank, Unit, plan

E, S, T, X, I, K, N = Rank  # noqa: E741  # the order in which they are given up
UNITS = st.lists(st.tuples(st.integers(1, 500), st.sampled_from(list(Rank))), min_size=1, max_size=30).map(
    lambda found: [Unit((n,), tokens, rank, n // 4) for n, (tokens, rank) in enumerate(found, 1)]
)
SHARES = st.lists(st.floats(0, 1), min_size=30, max_size=30)


def made(*units: tuple[int, Rank]) -> list[Unit]:
    return [Unit((n,), tokens, rank, n) for n, (tokens, rank) in enumerate(units, 1)]


def cuts(units: list[Unit], shares: list[float]) -> list[Cut]:
    """A cut of each second unit that may be touched."""
    return [
        Cut(unit.names[0], "stub", int(unit.tokens * share), "stale result", place)
        for place, (unit, share) in enumerate(zip(units, shares, strict=False))
        if place % 2 and unit.rank < Rank.NEVER
    ]


@given(UNITS, SHARES, st.integers(0, 9000))
def test_it_fits_or_nothing_would(units: list[Unit], shares: list[float], budget: int) -> None:
    """Never over the budget; refused only where what is never given up is larger, or nothing would be left."""
    found = plan(units, cuts(units, shares), budget)
    never = sum(unit.tokens for unit in units if unit.rank == Rank.NEVER)
    if found is None:
        assert never > budget or (not never and _last_too_large(units, budget))
        return
    left = [unit for unit in units if unit.names[0] not in found.dropped]
    saved = {cut.name: cut.saves for cut in cuts(units, shares)}
    size = sum(unit.tokens for unit in left) - sum(saved[name] for name in found.stubs)
    assert size == found.tokens <= budget and left
    assert not set(found.dropped) & found.stubs.keys() and set(found.reasons) == {*found.dropped, *found.stubs}


def _last_too_large(units: list[Unit], budget: int) -> bool:
    """The unit that is given up last does not fit alone."""
    return max(units, key=lambda unit: (unit.rank, unit.names)).tokens > budget


@given(UNITS, st.integers(0, 9000))
def test_priorities(units: list[Unit], budget: int) -> None:
    """While anything of a lower rank is there, nothing of a higher one leaves; within steps the oldest leave first."""
    found = plan(units, [], budget)
    if found is None:
        return
    gone = set(found.dropped)
    highest = max((unit.rank for unit in units if unit.names[0] in gone), default=Rank.EXCHANGE)
    assert all(unit.names[0] in gone for unit in units if unit.rank < highest)
    for rank in (S, T, X, I, K):
        of_rank = [unit.names[0] in gone for unit in units if unit.rank == rank]
        assert of_rank == sorted(of_rank, reverse=True)
    assert not any(unit.names[0] in gone for unit in units if unit.rank == N)


def test_what_fits_is_left_alone() -> None:
    """To the token."""
    units = made((10, E), (5, K))
    assert plan(units, [], 15) == Plan(15, [], {}, {})
    assert plan(units, [], 14) == Plan(5, [1], {}, {1: "oldest exchange"})


def test_results_are_shortened_first() -> None:
    """As many as it takes, in the order they come; `least` takes more, so that the lost cache pays."""
    units = made((100, S), (100, S), (100, S), (10, K))
    some = [Cut(n, "s", 50, "stale result", n - 1) for n in (1, 2, 3)]
    assert plan(units, some, 290) == Plan(260, [], {1: "s"}, {1: "stale result"})
    found = plan(units, some, 290, least=100)
    assert found is not None and list(found.stubs) == [1, 2]


def test_an_old_exchange_goes_whole_but_a_large_one_by_steps() -> None:
    """What opened the large one stays as long as steps of it can go."""
    small = [Unit((n,), 10, E, n // 3) for n in range(3, 9)] + [Unit((9,), 100, K, 3)]
    found = plan(small, [], 155)
    assert found is not None and found.dropped == [3, 4, 5]
    large = [Unit((n,), 100, E, 1) for n in range(1, 6)] + [Unit((6,), 10, K, 2)]
    found = plan(large, [], 330)
    assert found is not None and found.dropped == [2, 3]
