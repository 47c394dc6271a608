"""Comparing contexts: by name within one log, by digest between two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.compare.contexts import CAME, CHANGED, GONE, MOVED, SAME, Hunk, compare
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.sets.runs import NameRuns

ALL = Names(Ranges.span(1, 99), [ItemName("a", k) for k in range(1, 9)])


def names(text: str) -> NameRuns:
    """`1-3,7,a.1` as an order."""
    found: list[tuple[Name, int]] = []
    for token in filter(None, text.split(",")):
        low, _, high = token.partition("-")
        if "." in token:
            found.append((ItemName("a", int(token[2:])), 1))
        else:
            found.append((int(low), int(high or low) - int(low) + 1))
    return NameRuns(found)


class Letters:
    """Messages that are letters; one may become of another where they differ in case only."""

    def __init__(self, a: str, b: str) -> None:
        self.sides = a, b

    def same(self, a: int, b: int) -> bool:
        return self.sides[0][a] == self.sides[1][b]

    def digest(self, side: int, place: int) -> bytes:
        return self.sides[side][place].encode()

    def alike(self, a: int, b: int) -> bool:
        return self.sides[0][a].lower() == self.sides[1][b].lower()


def letters(a: str, b: str) -> list[Hunk]:
    """The differences between two logs of letters."""
    sides = [NameRuns([(1, len(side))] if side else []) for side in (a, b)]
    return compare(sides[0], sides[1], Names(), digests=Letters(a, b))


def brief(hunks: list[Hunk]) -> list[tuple[str, int, int, int]]:
    """Hunks as tuples."""
    return [(hunk.kind, hunk.a, hunk.b, hunk.count) for hunk in hunks]


@pytest.mark.parametrize(
    ("a", "b", "changed", "expected"),
    [
        ("", "", "", []),
        ("1-9", "1-9", "", [(SAME, 0, 0, 9)]),
        ("1-9", "1-3,6-9", "", [(SAME, 0, 0, 3), (GONE, 3, 3, 2), (SAME, 5, 3, 4)]),
        ("1-3", "1-5", "", [(SAME, 0, 0, 3), (CAME, 3, 3, 2)]),
        ("1-9", "1-2,a.1,8-9", "", [(SAME, 0, 0, 2), (GONE, 2, 2, 5), (CAME, 7, 2, 1), (SAME, 7, 3, 2)]),
        ("1-9", "1-9", "4", [(SAME, 0, 0, 3), (CHANGED, 3, 3, 1), (SAME, 4, 4, 5)]),
        ("1-9", "1-2,6-9,3-5", "", [(SAME, 0, 0, 2), (SAME, 5, 2, 4), (MOVED, 2, 6, 3)]),
        ("1-4", "2-4,1", "1", [(SAME, 1, 0, 3), (CHANGED, 0, 3, 1)]),
        ("", "1-2", "", [(CAME, 0, 0, 2)]),
    ],
)
def test_one_log(a: str, b: str, changed: str, expected: list[tuple[str, int, int, int]]) -> None:
    """By name: run by run."""
    assert brief(compare(names(a), names(b), ALL, Names.parse(changed))) == expected


def test_what_became_of_a_message() -> None:
    """An edit puts an item in a message's place: changed, not gone and come; either way round."""
    a, b = names("1-4"), names("1,a.1,3-4")
    expected = [(SAME, 0, 0, 1), (CHANGED, 1, 1, 1), (SAME, 2, 2, 2)]
    assert brief(compare(a, b, ALL, became={2: ItemName("a", 1)})) == expected
    assert brief(compare(b, a, ALL, became={ItemName("a", 1): 2})) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("abc", "abc", [(SAME, 0, 0, 3)]),
        ("abcd", "abxcd", [(SAME, 0, 0, 2), (CAME, 2, 2, 1), (SAME, 2, 3, 2)]),
        ("abcd", "abCd", [(SAME, 0, 0, 2), (CHANGED, 2, 2, 1), (SAME, 3, 3, 1)]),
        ("abcde", "acdeb", [(SAME, 0, 0, 1), (SAME, 2, 1, 3), (MOVED, 1, 4, 1)]),
        ("xyz", "", [(GONE, 0, 0, 3)]),
        ("ab", "xAyB", [(CAME, 0, 0, 1), (CHANGED, 0, 1, 1), (CAME, 1, 2, 1), (CHANGED, 1, 3, 1)]),
    ],
)
def test_two_logs(a: str, b: str, expected: list[tuple[str, int, int, int]]) -> None:
    """By what they say."""
    assert brief(letters(a, b)) == expected


def test_two_logs_that_begin_alike() -> None:
    """Shared numbers are compared by name; above them the same number is another message."""
    a, b = "abcdX", "abcdYX"
    found = compare(NameRuns([(1, 5)]), NameRuns([(1, 6)]), Names(Ranges.span(1, 4)), digests=Letters(a, b))
    assert brief(found) == [(SAME, 0, 0, 4), (CAME, 4, 4, 1), (SAME, 4, 5, 1)]


def apply(hunks: list[Hunk], a: list[object], b: list[object]) -> list[object]:
    """The second context, made of the first and of what came or changed."""
    found: list[object] = []
    for hunk in hunks:
        if hunk.kind in (SAME, MOVED):
            found += a[hunk.a : hunk.a + hunk.count]
        elif hunk.kind != GONE:
            found += b[hunk.b : hunk.b + hunk.count]
    return found


def mirrored(hunks: list[Hunk]) -> list[tuple[object, ...]]:
    """What hunks say, seen from the other side."""
    turned = {GONE: CAME, CAME: GONE}
    found: list[tuple[object, ...]] = []
    for hunk in hunks:
        for k in range(hunk.count):
            a = None if hunk.kind == CAME else hunk.a + k
            b = None if hunk.kind == GONE else hunk.b + k
            found.append((turned.get(hunk.kind, hunk.kind), b, a))
    return sorted(found, key=str)


def said(hunks: list[Hunk]) -> list[tuple[object, ...]]:
    """The same from this side."""
    return mirrored([Hunk({GONE: CAME, CAME: GONE}.get(h.kind, h.kind), h.b, h.a, h.count) for h in hunks])


def check(hunks: list[Hunk], size_a: int, size_b: int) -> None:
    """Every place of both sides is in one hunk."""
    mine = [h.a + k for h in hunks if h.kind != CAME for k in range(h.count)]
    other = [h.b + k for h in hunks if h.kind != GONE for k in range(h.count)]
    assert sorted(mine) == list(range(size_a))
    assert other == list(range(size_b))


SUBSETS = st.lists(st.integers(1, 30), unique=True, max_size=20)


@given(SUBSETS, SUBSETS, st.sets(st.integers(1, 30), max_size=3))
def test_any_two_states(a: list[int], b: list[int], changed: set[int]) -> None:
    """Applied to the first the differences give the second; swapped they are mirrored; none between equals."""
    one, other = NameRuns((n, 1) for n in a), NameRuns((n, 1) for n in b)
    found = compare(one, other, ALL, Names.of(changed))
    check(found, len(a), len(b))
    assert apply(found, list(a), list(b)) == b
    assert mirrored(found) == said(compare(other, one, ALL, Names.of(changed)))
    assert {hunk.kind for hunk in compare(one, one, ALL)} <= {SAME}


@given(st.text("abcABC", max_size=25), st.text("abcABC", max_size=25))
def test_any_two_logs(a: str, b: str) -> None:
    """The same for two logs."""
    found = letters(a, b)
    check(found, len(a), len(b))
    assert apply(found, list(a), list(b)) == list(b)
    assert all(a[h.a : h.a + h.count] == b[h.b : h.b + h.count] for h in found if h.kind in (SAME, MOVED))
    assert mirrored(found) == said(letters(b, a))
    assert brief(letters(a, a)) == ([(SAME, 0, 0, len(a))] if a else [])
