"""Which sets hold a name: the same as a look at each of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.item_names import ItemName, Names
from ctxkit.core.sets.membership import Membership, firsts
from ctxkit.core.sets.ranges import Ranges

PAIRS = st.tuples(st.integers(1, 900), st.integers(0, 400)).map(lambda pair: (pair[0], pair[0] + pair[1]))
ITEMS = st.builds(ItemName, st.sampled_from(["a", "b"]), st.integers(1, 3))
SETS = st.lists(st.builds(Names, st.lists(PAIRS, max_size=4).map(Ranges), st.lists(ITEMS, max_size=3)), max_size=7)
EVERY = [*range(1, 1301), *(ItemName(op, k) for op in "ab" for k in (1, 2, 3))]


@given(SETS)
def test_as_a_look_at_each(sets: list[Names]) -> None:
    """All that hold a name in their order, and the first of them."""
    holding = Membership(enumerate(sets))
    first = list(firsts(sets))
    assert [place for place, names in first] == sorted({place for place, names in first if names})
    told = {name: place for place, names in first for name in names}
    assert sum(len(names) for _, names in first) == len(told)
    for name in EVERY:
        found = [place for place, names in enumerate(sets) if name in names]
        assert holding.of(name) == found
        assert told.get(name) == (found[0] if found else None)


def test_many_sets() -> None:
    """A name is looked for in its block only: thousands of sets elsewhere are not asked."""

    class Counted(Ranges):
        """Counts its questions."""

        asked = 0

        def __contains__(self, n: int) -> bool:
            Counted.asked += 1
            return super().__contains__(n)

    holding = Membership((k, Names(Counted([(k * 1000, k * 1000)]))) for k in range(1, 2001))
    assert holding.of(5000) == [5]
    assert Counted.asked == 1
