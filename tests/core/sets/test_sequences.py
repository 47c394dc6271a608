"""Sequences whose values are made when they are asked for."""

from __future__ import annotations

import pytest

from ctxkit.core.sets.sequences import LazySequence


def test_a_value_is_made_when_it_is_asked_for() -> None:
    """And each time anew; a part of the sequence makes none by itself."""
    asked: list[int] = []
    found = LazySequence(5, lambda place: asked.append(place) or place * 10)
    assert len(found) == 5
    assert len(found[1:4]) == 3
    assert not asked
    assert found[-1] == 40
    assert list(found[1:4]) == [10, 20, 30]
    assert next(reversed(found)) == 40
    assert asked == [4, 1, 2, 3, 4]
    with pytest.raises(IndexError):
        found[5]


def test_it_is_compared_as_a_list() -> None:
    """Value by value."""
    found = LazySequence(3, str)
    assert found == ["0", "1", "2"]
    assert found != ["0", "1"]
    assert found != ["0", "1", "x"]
    assert LazySequence(0, str) == []
