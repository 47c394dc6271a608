"""Ranges are sets of numbers: everything is compared with Python's own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.sets.ranges import EMPTY, Ranges

NUMBERS = st.sets(st.integers(1, 40))
PAIRS = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)))


@given(NUMBERS, NUMBERS)
@pytest.mark.parametrize("op", [operator.or_, operator.and_, operator.sub])
def test_as_sets(op: Callable[[Any, Any], Any], one: set[int], other: set[int]) -> None:
    """Union, intersection and difference, in one canonical form."""
    found = op(Ranges.of(one), Ranges.of(other))
    assert list(found) == sorted(op(one, other))
    assert found == Ranges.of(op(one, other))
    assert hash(found) == hash(Ranges.of(op(one, other)))


@given(NUMBERS, NUMBERS)
def test_questions(one: set[int], other: set[int]) -> None:
    """Size, truth, membership, and whether two meet."""
    ranges = Ranges.of(one)
    assert (len(ranges), bool(ranges)) == (len(one), bool(one))
    assert [n for n in range(45) if n in ranges] == sorted(one)
    assert ranges.meets(Ranges.of(other)) == bool(one & other)
    if one:
        assert (ranges.first(), ranges.last()) == (min(one), max(one))


@given(PAIRS)
def test_pairs(pairs: list[tuple[int, int]]) -> None:
    """Given in any order, overlapping or empty: ascending, and never two that touch."""
    ranges = Ranges(pairs)
    assert set(ranges) == {n for low, high in pairs for n in range(low, high + 1)}
    found = list(ranges.pairs())
    assert all(later[0] > earlier[1] + 1 for earlier, later in pairwise(found))


@given(NUMBERS)
def test_text(numbers: set[int]) -> None:
    """What is printed is read again."""
    assert Ranges.parse(str(Ranges.of(numbers))) == Ranges.of(numbers)


@pytest.mark.parametrize(
    ("text", "printed"),
    [("", ""), ("5", "5"), ("5-7,1", "1,5-7"), ("1,2,3", "1-3"), ("1-4,3-9", "1-9"), ("5-3", ""), (",7,", "7")],
)
def test_parse(text: str, printed: str) -> None:
    """The wire form, loose in, canonical out."""
    assert str(Ranges.parse(text)) == printed


@pytest.mark.parametrize("text", ["x", "1-", "-1", "1-2-3", "1 2", "٣", "1.5", "9" * 5000])
def test_parse_refuses(text: str) -> None:
    """Anything else is a ValueError, other alphabets' digits too."""
    with pytest.raises(ValueError):
        Ranges.parse(text)


def test_edges() -> None:
    """Touching ranges join; an empty span is empty; half a million numbers are one pair."""
    assert str(Ranges.span(1, 3) | Ranges.span(4, 6)) == "1-6"
    assert Ranges.span(3, 2) == EMPTY
    assert len(Ranges.span(1, 500_000)) == 500_000
    assert Ranges.span(1, 3) != "1-3"
    assert repr(Ranges.of([1, 2])) == "Ranges('1-2')"
    with pytest.raises(IndexError):
        EMPTY.first()
