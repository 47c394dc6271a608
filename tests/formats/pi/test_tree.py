"""The tree of a pi session; `test_reader.py` has the contexts that follow from it."""

from __future__ import annotations

import pytest

from ctxkit.formats.pi.tree import TreeEntry, number, path_of


def test_a_loop_ends() -> None:
    """Parents that lead in a circle are followed once."""
    assert path_of([TreeEntry(1, 0, 1, 1), TreeEntry(2, 1, 2, 0)]) == [0, 1]
    assert path_of([]) == []


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (0, 0), (-1, -1), (True, -1), ("3", -1), (None, -1)])
def test_numbers(value: object, expected: int) -> None:
    """A whole number that is none is -1."""
    assert number(value) == expected
