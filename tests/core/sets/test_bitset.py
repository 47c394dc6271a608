"""A set that changes is what a set that never changes would be, each time made anew."""

from __future__ import annotations

import random

import pytest

from ctxkit.core.sets.bitset import Bits
from ctxkit.core.sets.ranges import Ranges

HIGHEST = 30


@pytest.mark.parametrize("seed", range(20))
def test_as_ranges_have_it(seed: int) -> None:
    """Whatever comes and goes, the ends included."""
    chosen = random.Random(seed)
    expected = Ranges.of(chosen.sample(range(1, HIGHEST + 1), 9))
    bits = Bits(HIGHEST, expected)
    for _ in range(30):
        some = Ranges.of(chosen.sample(range(1, HIGHEST + 1), chosen.randrange(12)))
        here = chosen.random() < 0.5
        bits.put(some, here)
        expected = expected | some if here else expected - some
        asked = Ranges.of(chosen.sample(range(1, HIGHEST + 1), 20))
        assert bits.within(asked) == asked & expected
        assert bits.within(Ranges.span(1, HIGHEST)) == expected
        assert [n in bits for n in range(1, HIGHEST + 1)] == [n in expected for n in range(1, HIGHEST + 1)]


def test_differs() -> None:
    """Within the ends, these included."""
    one, other = Bits(9), Bits(9, Ranges.of([4]))
    found = [one.differs(other, low, high) for low, high in ((1, 3), (1, 4), (4, 4), (4, 9), (5, 9))]
    assert found == [False, True, True, True, False]
