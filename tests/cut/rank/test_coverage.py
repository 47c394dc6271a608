"""The lines that keep most for their tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.cut.rank.coverage import Line, cover


def taken(lines: list[Line], budget: int, worth: float = 1.0, heading: int = 0) -> list[int]:
    return cover(lines, lambda _: worth, lambda _: heading, budget)


def test_the_most_for_its_tokens_comes_first_and_nothing_twice() -> None:
    lines = [Line(("a", "b"), 0, 10, 1), Line(("a",), 0, 1, 1), Line(("b",), 0, 4, 1), Line((), 0, 1, 1)]
    assert taken(lines, 100) == [1, 2]
    assert taken(lines, 4) == [1]


def test_own_words_count_beside_what_is_kept() -> None:
    assert taken([Line((), 0.5, 10, 1), Line(("a",), 0.1, 10, 1)], 10) == [1]


def test_lines_below_one_heading_share_it() -> None:
    lines = [Line(("a",), 0, 2, 1), Line(("b",), 0, 2, 1), Line(("c",), 0, 3, 2)]
    assert taken(lines, 14, heading=10) == [0, 1]


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 9), max_size=4), st.integers(1, 9), st.integers(0, 3)),
        max_size=25,
    ),
    st.integers(0, 60),
)
def test_it_is_the_plain_greedy_choice(some: list[tuple[set[int], int, int]], budget: int) -> None:
    lines = [Line(tuple(sorted(keeps)), 0, tokens, group) for keeps, tokens, group in some]
    left, seen, opened, found = budget, set[object](), set[object](), list[int]()
    open_ = set(range(len(lines)))
    while open_:
        sized = {place: lines[place].tokens + (lines[place].group not in opened) for place in open_}
        gains = {place: sum(one not in seen for one in lines[place].keeps) / sized[place] for place in open_}
        best = min(open_, key=lambda place: (-gains[place], place, sized[place]))
        open_.discard(best)
        if gains[best] > 0 and sized[best] <= left:
            left -= sized[best]
            found.append(best)
            seen.update(lines[best].keeps)
            opened.add(lines[best].group)
    assert taken(lines, budget, heading=1) == found
