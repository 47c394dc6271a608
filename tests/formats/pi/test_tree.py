"""The tree of a pi session; `test_reader.py` has the contexts that follow from it."""

from __future__ import annotations

import pytest

from ctxkit.formats.pi import tree as tree_
from ctxkit.formats.pi.tree import EntryTree, IdIndex, number, place_of


def tree(*parents: int) -> EntryTree:
    """Entries with a message each that hang on these."""
    found = EntryTree()
    rows = range(len(parents))
    found.extend([at + 1 for at in rows], rows, [at + 1 for at in rows], parents, [f"e{at}" for at in rows])
    return found


@pytest.mark.parametrize(
    ("parents", "path"),
    [((), []), ((-1, 0, 1), [0, 1, 2]), ((1, 0), [0, 1]), ((-1, 0, 0, 2), [0, 2, 3]), ((-1, -1, 1), [1, 2])],
)
def test_the_path(parents: tuple[int, ...], path: list[int]) -> None:
    """From the root to the last entry; parents that lead in a circle are followed once."""
    assert list(tree(*parents).path()) == path


def test_a_place_on_a_path() -> None:
    """Of an entry that is on it, and none of any other."""
    assert [place_of([1, 4, 6], at) for at in (-2, 1, 2, 6, 7)] == [-1, 0, -1, 2, -1]


def test_ids_are_found_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest place of each, whichever were put aside meanwhile, whatever their codes."""
    monkeypatch.setattr(tree_, "RECENT", 4)
    for code in (tree_._code, lambda _: 7):
        monkeypatch.setattr(tree_, "_code", code)
        index, known = IdIndex(), dict[str, int]()
        for at in range(300):
            key = None if at % 7 == 0 else f"id {at % 90}"
            if key is not None:
                known[key] = at
            index.extend(at, [key])
            assert index.get("none", -2) == -2
        assert {key: index.get(key, -1) for key in known} == known


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (0, 0), (-1, -1), (True, -1), ("3", -1), (None, -1)])
def test_numbers(value: object, expected: int) -> None:
    """A whole number that is none is -1."""
    assert number(value) == expected
