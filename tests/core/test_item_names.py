"""Names are sets of message numbers and items."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.item_names import NOTHING, ItemName, Name, Names, Sizes, column
from ctxkit.core.sets.ranges import Ranges

ITEMS = st.builds(ItemName, st.sampled_from(["a1", "b2", "7", "x.y", "c-3"]), st.integers(1, 4))
SETS = st.sets(st.one_of(st.integers(1, 20), ITEMS))


@given(SETS, SETS)
@pytest.mark.parametrize("op", [operator.or_, operator.and_, operator.sub])
def test_as_sets(op: Callable[[Any, Any], Any], one: set[Name], other: set[Name]) -> None:
    """Union, intersection and difference, as Python's sets have them."""
    found = op(Names.of(one), Names.of(other))
    assert set(found) == op(one, other)
    assert found == Names.of(op(one, other))
    assert hash(found) == hash(Names.of(op(one, other)))


@given(SETS, SETS)
def test_questions(one: set[Name], other: set[Name]) -> None:
    """Size, truth, membership, and whether two meet."""
    names = Names.of(one)
    assert (len(names), bool(names)) == (len(one), bool(one))
    assert all((name in names) == (name in one) for name in one | other)
    assert names.meets(Names.of(other)) == bool(one & other)
    assert names.single == (next(iter(one)) if len(one) == 1 else None)


@given(SETS)
def test_text(names: set[Name]) -> None:
    """What is printed is read again."""
    assert Names.parse(str(Names.of(names))) == Names.of(names)


@pytest.mark.parametrize(
    ("text", "numbers", "items"),
    [
        ("45-67,80", "45-67,80", []),
        ("a1.2,3,a1.1", "3", [("a1", 1), ("a1", 2)]),
        ("x.y.3", "", [("x.y", 3)]),
        ("7.1", "", [("7", 1)]),
        ("", "", []),
    ],
)
def test_parse(text: str, numbers: str, items: list[tuple[str, int]]) -> None:
    """Numbers and ranges, and `<op id>.K`."""
    assert Names.parse(text) == Names(Ranges.parse(numbers), [ItemName(*item) for item in items])


@pytest.mark.parametrize("text", ["a1", "a1.", ".1", "a1.0", "a1.x", "a1.²", "1;2"])
def test_parse_refuses(text: str) -> None:
    """What is neither is a ValueError."""
    with pytest.raises(ValueError):
        Names.parse(text)


def test_order_and_words() -> None:
    """Numbers first, then items; it says what it is."""
    names = Names.parse("b1.2,b1.10,5,a9.1")
    assert [str(name) for name in names] == ["5", "a9.1", "b1.2", "b1.10"]
    assert repr(names) == "Names('5,a9.1,b1.2,b1.10')"
    assert names != "5"
    assert not NOTHING


@pytest.mark.parametrize("a", ["", "1", "1-3", "2,a.1", "a.1"])
@pytest.mark.parametrize("b", ["", "1-2", "1-9,a.1", "7", "a.1"])
def test_within(a: str, b: str) -> None:
    """As the difference says."""
    assert Names.parse(a).within(Names.parse(b)) == (not Names.parse(a) - Names.parse(b))


@given(st.lists(st.one_of(st.integers(1, 30), ITEMS), unique=True), st.booleans())
def test_sizes_are_a_mapping(names: list[Name], copied: bool) -> None:
    """Of numbers and items, in whatever order they come; of a range, too."""
    plain = {name: place - 3 for place, name in enumerate(names)}
    sizes = Sizes(names, plain.values())
    if copied:
        sizes, other = sizes.copy(), sizes
        other[1] = 77
    assert dict(sizes) == plain and len(sizes) == len(plain) and sizes.total == sum(plain.values())
    assert all((name in sizes) == (name in plain) for name in [*range(-2, 33), ItemName("a1", 1)])
    assert dict(Sizes(range(5, 8), [1, 2, 3])) == {5: 1, 6: 2, 7: 3}


@given(st.lists(st.one_of(st.integers(1, 30), ITEMS)))
def test_a_column_is_its_names(names: list[Name]) -> None:
    assert list(column(names)) == names
