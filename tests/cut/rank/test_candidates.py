"""Candidates: what a compact may replace, on units without a log; and which originals that is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.item_names import Names
from ctxkit.cut.rank.candidates import (
    LONG,
    SHORT,
    TAIL,
    CompactUnit,
    KeptTail,
    Units,
    guarded,
    originals,
    rooms,
    tail_start,
)
from tests import build


def units(spec: str) -> list[CompactUnit]:
    """`u10 s30! t5`: user messages, steps and summaries with their tokens; `!` stays, `*` but for its length, `-` was
    not chosen.
    """
    found: list[CompactUnit] = []
    exchange = 0
    for place, word in enumerate(spec.split(), start=1):
        exchange += word[0] == "u"
        size = int(word[1:].rstrip("!*-"))
        found.append(
            CompactUnit((place,), size, exchange, step=word[0] == "s", stays="!" in word or "*" in word,
                 chosen="-" not in word, is_summary=word[0] == "t", shrinks="*" in word)
        )  # fmt: skip
    return found


THREE = "u10 s10 u10 s10 s10 u10 s10"
RUN = "u10! s20 s20 s20 s20 s20"


@pytest.mark.parametrize(
    ("spec", "keep", "budget", "left"),
    [
        (THREE, KeptTail(1), 0, [1, 2, 3, 4, 5]),  # the newest exchange stays, whatever its size
        (THREE, KeptTail(2), 0, [1, 2]),
        (THREE, KeptTail(9), 0, []),
        (THREE, KeptTail(0), 0, [1, 2, 3, 4, 5, 6, 7]),
        (THREE, KeptTail(None, 1), 0, [1, 2, 3, 4, 5, 6]),  # what asked for the step may go
        (THREE, KeptTail(None, 2), 0, [1, 2, 3, 4]),
        (THREE, KeptTail(None, 9), 0, [1]),
        (THREE, KeptTail(1, 3), 0, [1, 2, 3]),  # both stay
        (THREE, KeptTail(), 150, [1, 2, 3, 4, 5, 6]),  # 18 tokens: not the whole exchange, so its newest step
        (THREE, KeptTail(), 175, [1, 2, 3, 4, 5]),  # 21 tokens: the newest exchange
        (THREE, KeptTail(), 350, [1, 2, 3]),  # 42: and the newest step of the one before, and one more
        (THREE, KeptTail(), 425, [1, 2]),  # 51: both
        (RUN, KeptTail(), 510, [2, 3]),  # one user message and many steps: 12 % of what is not protected, 60
        (RUN, KeptTail(), 0, [2, 3, 4, 5, 6]),  # a newest step that takes most of the budget is told, too
        (RUN, KeptTail(), 30, [2, 3, 4, 5, 6]),
        ("u10! s900 s900 s9", KeptTail(), 0, [2, 3]),  # but not a small one, wherever the budget is
        ("u10! t20", KeptTail(), 30, [2]),  # a summary of ours is told anew
        ("u10! t20 s20 t20 s5", KeptTail(), 90, [2, 3, 4]),
        ("u10! s20 s20 u20", KeptTail(), 30, [2, 3]),  # what somebody asked last always stays
        ("u10 s20! s20 s20- s20", KeptTail(0), 0, [1, 3, 5]),  # protected; not chosen
        ("s10 s10 u10", KeptTail(5), 0, [1, 2]),  # what stands before the first user message is in no exchange
        ("", KeptTail(), 100, []),
        ("", KeptTail(3, 3), 100, []),
    ],
)
def test_candidates(spec: str, keep: KeptTail, budget: int, left: list[int]) -> None:
    """Everything before the tail that is chosen and does not stay."""
    some = units(spec)
    begins = tail_start(some, keep, budget)
    places = [place for place, unit in enumerate(some[:begins]) if unit.chosen and not unit.stays]
    assert [place + 1 for place in places] == left
    assert all(place < begins for place in places)


@pytest.mark.parametrize(
    ("spec", "keep", "budget", "left"),
    [
        ("u9000* s20 s20", KeptTail(), 5000, {0: 4960}),  # the first message has what the others leave
        ("u9000* s20 s9000", KeptTail(), 5000, {0: 4000}),  # but four fifths of it, where they would have to be told
        ("u9000* s20 s9000", KeptTail(), 100, {0: LONG}),  # and so much in any case
        ("u1900* s20 s9000", KeptTail(), 100, {}),  # a shorter one is never shortened
        ("u9000! s20 s9000", KeptTail(), 100, {}),  # nor one that is protected
        ("u10* s9000 u9000", KeptTail(), 10_010, {2: 8000}),  # what was typed last, too
        ("u10* s9000 u9000", KeptTail(1), 10_010, {}),  # unless somebody says what is kept
        ("u10* s9000 s9000", KeptTail(), 10_010, {}),  # a step is told
        ("", KeptTail(), 100, {}),
    ],
)
def test_rooms(spec: str, keep: KeptTail, budget: int, left: dict[int, int]) -> None:
    """What stays and is too long for that, with the tokens that it may have."""
    assert rooms(units(spec), keep, budget) == left


@given(st.lists(st.integers(1, 9000), min_size=1, max_size=8), st.booleans(), st.integers(0, 30_000))
def test_a_larger_budget_has_no_less_room(sizes: list[int], typed: bool, budget: int) -> None:
    """For any message that is shortened; and all has room where all fits."""
    spec = units(" ".join([f"u{sizes[0]}*", *(f"s{size}" for size in sizes[1:]), *(["u5000"] * typed)]))
    one, more = rooms(spec, KeptTail(), budget), rooms(spec, KeptTail(), budget + 100)
    assert all(one[place] <= room for place, room in more.items() if place in one) and more.keys() <= one.keys()
    assert not rooms(spec, KeptTail(), sum(unit.tokens for unit in spec))


@given(st.lists(st.integers(1, 9000), min_size=1, max_size=8), st.integers(0, 80_000))
def test_the_tail_grows_by_degrees(sizes: list[int], budget: int) -> None:
    """No budget brings in a long newest step at once: a tail of steps has its share of it, or one short step."""
    some = units(" ".join(f"s{size}" for size in sizes))
    tail = sum(unit.tokens for unit in some[tail_start(some, KeptTail(), budget) :])
    assert tail <= max(TAIL * budget, SHORT * sum(sizes), LONG)


@pytest.mark.parametrize(
    ("spec", "stays"),
    [
        ("1 system | 2 user | 3-4", "1-2"),  # the preamble and the first message
        ("1 user | 2-4 | unprotect 1", ""),
        ("1 user | 2 assistant call=x | 3 tool result=x | 4 user | protect 3", "1-3"),  # its step with it
        ("1 user | 2-5 | compact 2-3 text=s | protect @1.1", "1,a1.1"),
    ],
)
def test_guarded(spec: str, stays: str) -> None:
    """replay 35, 56."""
    assert str(guarded(build.state(spec))) == stays


@pytest.mark.parametrize(
    ("spec", "seen", "told"),
    [
        ("1-9 | compact 2-5 text=s", "6-7,a1.1", "2-7"),  # of the messages, never of the summary
        ("1-9 | compact 2-5 text=s | protect 3", "6,a1.1", "2,4-6"),  # what is protected since is back
        ("1-9 | forget 4 | compact 2-3,5 text=s", "6,a2.1", "2-3,5-6"),
        ('1-9 | compact 2-5 text=s | forget 4 summaries=[{"op":"a1","keep":true}]', "a1.1", "2-3,5"),
        ("1-9 | edit 1-5,new:x", "3,a1.6", "3,a1.6"),  # what an edit brought in is an original
    ],
)
def test_originals(spec: str, seen: str, told: str) -> None:
    """replay 13: `ids` never name a summary, nor what is out of the context."""
    state = build.state(spec)
    assert str(originals(state, Names.parse(seen), guarded(state))) == told


FLAG = st.booleans()
UNITS = st.lists(
    st.builds(
        CompactUnit, st.tuples(st.integers(1, 9)), st.integers(0, 99), st.integers(0, 9), FLAG, FLAG, FLAG, FLAG, FLAG
    )
)


@given(UNITS, st.data())
def test_units_in_columns_are_the_units(some: list[CompactUnit], data: st.DataObject) -> None:
    """And one may be put in the place of another, of the same names and exchange."""
    found = Units([unit.names for unit in some], some)
    assert list(found) == some and found[1:] == some[1:]
    if some:
        place = data.draw(st.integers(0, len(some) - 1))
        some[place] = found[place]._replace(tokens=7, stays=True)
        found[place] = some[place]
    assert list(found) == some
    assert list(found.may_go(2)) == [at for at, unit in enumerate(some[:2]) if unit.chosen and not unit.stays]
