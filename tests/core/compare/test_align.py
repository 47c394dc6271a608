"""Alignment: blocks that two sequences share, ascending, the same from either side, in linear time."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.compare.align import align, common, heaviest, joined


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("", "", []),
        ("abc", "abc", [(0, 0, 3)]),
        ("abc", "", []),
        ("abcd", "abXcd", [(0, 0, 2), (2, 3, 2)]),
        ("XabcY", "abc", [(1, 0, 3)]),
        ("aXbYc", "abc", [(0, 0, 1), (2, 1, 1), (4, 2, 1)]),
        ("abab", "XaYbZaWb", [(0, 1, 1), (1, 3, 1), (2, 5, 1), (3, 7, 1)]),
        ("abcX", "Xabc", [(0, 1, 3)]),
    ],
)
def test_blocks(a: str, b: str, expected: list[tuple[int, int, int]]) -> None:
    """What is common, as few blocks as can be."""
    assert align(a, b) == expected


@given(st.text("abcdef", max_size=30), st.text("abcdef", max_size=30))
def test_blocks_hold(a: str, b: str) -> None:
    """Each block is equal on both sides, they ascend, and the other way round they are mirrored."""
    found = align(a, b)
    assert all(count and a[i : i + count] == b[j : j + count] for i, j, count in found)
    assert all(i + count <= k and j + count <= m for (i, j, count), (k, m, _) in pairwise(found))
    assert align(b, a) == [(j, i, count) for i, j, count in found]
    assert align(a, a) == ([(0, 0, len(a))] if a else [])


@given(st.permutations(range(12)), st.lists(st.integers(1, 9), min_size=12, max_size=12))
def test_heaviest(places: list[int], weights: list[int]) -> None:
    """No other ascending subsequence weighs more."""
    found = heaviest(places, weights)
    assert all(places[i] < places[j] and i < j for i, j in pairwise(found))
    best = [0] * 12
    for i in range(12):
        best[i] = weights[i] + max((best[k] for k in range(i) if places[k] < places[i]), default=0)
    assert sum(weights[i] for i in found) == max(best)


def test_common_and_joined() -> None:
    """The same at the start and at the end; neighbours are one block."""
    assert common("abcx", "abcy", 0, 4, 0, 4) == 3
    assert common("xabc", "yyabc", 0, 4, 0, 5, back=True) == 3
    assert list(joined([(0, 0, 1), (1, 1, 2), (3, 4, 1), (4, 5, 0)])) == [(0, 0, 3), (3, 4, 1)]


def test_long_sequences() -> None:
    """Two long ones with hardly anything in common, and with nothing but repetitions (a guard, not a measurement)."""
    start = time.monotonic()
    size = 100_000
    assert align(range(size), range(size, 2 * size)) == []
    align([k % 7 for k in range(size)], [k % 5 for k in range(size)])
    assert sum(count for *_, count in align(range(size), [k for k in range(size) if k % 3])) == size - size // 3 - 1
    assert time.monotonic() - start < 30
