"""Edits of a text: by words and by lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.compare.text_diff import CAME, GONE, SAME, alike, lines, words


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("same", "same", [(SAME, "same")]),
        ("a small test", "a large test", [(SAME, "a "), (GONE, "small"), (CAME, "large"), (SAME, " test")]),
        ("one two", "three four", [(GONE, "one two"), (CAME, "three four")]),
        ("all of it", "", [(GONE, "all of it")]),
        ("it", "it all", [(SAME, "it"), (CAME, " all")]),
    ],
)
def test_words(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    """What is gone and what came; blanks between two changes belong to them."""
    assert words(old, new) == expected


@given(st.text("ab c\n.", max_size=40), st.text("ab c\n.", max_size=40))
def test_words_spell_both(old: str, new: str) -> None:
    """Nothing is lost on either side."""
    found = words(old, new)
    assert "".join(text for kind, text in found if kind != CAME) == old
    assert "".join(text for kind, text in found if kind != GONE) == new


def test_lines() -> None:
    """A line an edit."""
    assert lines(["a", "b", "c"], ["a", "x", "c"]) == [(SAME, "a"), (GONE, "b"), (CAME, "x"), (SAME, "c")]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("a b c d", "a b x y", True), ("a b c d", "a x y z", False), ("", "", False), ("a", "a", True), ("a", "", False)],
)
def test_alike(old: str, new: str, expected: bool) -> None:
    """Half of the words."""
    assert alike(old, new) is expected
