"""Overlaps: sets that come, shrink and go, and which of them meet another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.item_names import ItemName, Names
from ctxkit.core.sets.interval_index import IntervalIndex
from ctxkit.core.sets.ranges import Ranges

ITEMS = st.builds(ItemName, st.sampled_from("ab"), st.integers(1, 2))
SETS = st.builds(
    lambda spans, items: Names(Ranges((low, low + more) for low, more in spans), items),
    st.lists(st.tuples(st.integers(1, 90), st.sampled_from([0, 0, 1, 3, 20, 5000])), max_size=4),
    st.lists(ITEMS, max_size=2),
)


@given(st.lists(st.tuples(st.integers(0, 5), SETS | st.none())), SETS)
def test_whatever_meets_is_found(steps: list[tuple[int, Names | None]], asked: Names) -> None:
    """As a look at each set finds it; what is found besides lies near."""
    found, expected = IntervalIndex[int](), dict[int, Names]()
    for key, names in steps:
        if names is None:
            found.drop(key)
            expected.pop(key, None)
        else:
            found.put(key, names)
            expected[key] = names
        assert found.meeting(asked) >= {key for key, names in expected.items() if names.meets(asked)}
        assert found.meeting(asked) <= expected.keys()
    for key in expected:
        found.drop(key)
    assert found.meeting(Names(Ranges.span(1, 10**9))) == set()


def test_what_lies_apart_is_not_found() -> None:
    """However many there are."""
    found = IntervalIndex[int]()
    for n in range(1, 1000):
        found.put(n, Names(Ranges.span(8 * n, 8 * n + 7)))
    found.put(0, Names(Ranges.span(1, 10**18)))
    assert len(found.meeting(Names(Ranges.span(800, 807)))) <= 4
