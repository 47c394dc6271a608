"""shellwords: bash's lines taken apart without running anything, and candidates quoted to fit behind them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.cli.help.shell_words import ShellWord, insertion, split


def taken_apart(line: str) -> tuple[list[str], ShellWord]:
    """A line without an open quote."""
    parts = split(line)
    assert parts is not None
    return parts


@pytest.mark.parametrize(
    ("line", "words", "text"),
    [
        ("", [], ""),
        ("ctxkit", [], "ctxkit"),
        ("ctxkit ", ["ctxkit"], ""),
        ("ctxkit  show a", ["ctxkit", "show"], "a"),
        ("x 'a b' c\\ d", ["x", "a b"], "c d"),
        ('x "a \\"b\\" \\c" y', ["x", 'a "b" \\c'], "y"),
        ("x $(id) `id`", ["x", "$(id)"], "`id`"),
        ("x <in 2>err y", ["x", "2"], "y"),
        ("x a'b'\"c\"d e", ["x", "abcd"], "e"),
        ("x a ", ["x", "a"], ""),
    ],
)
def test_split(line: str, words: list[str], text: str) -> None:
    """Words lose their quotes, redirections are none of them."""
    complete, word = taken_apart(line)
    assert (complete, word.text) == (words, text)


@pytest.mark.parametrize("line", ['x "a b', "x '", "x a\\", 'x a"'])
def test_open_quotes(line: str) -> None:
    """Inside them nothing is known."""
    assert split(line) is None


@pytest.mark.parametrize(("line", "redirects"), [("x <in", True), ("x > ", True), ("x <in y", False), ("x y", False)])
def test_redirections(line: str, redirects: bool) -> None:
    """A file after < or > is known as one."""
    assert taken_apart(line)[1].redirects is redirects


@pytest.mark.parametrize(
    ("line", "value", "inserted"),
    [
        ("x bef", "before", "before"),
        ("x ", "two words", "two\\ words"),
        ("x two\\ ", "two words", "two\\ words"),
        ("x ", "wow!", "wow\\!"),
        ("x ", "~root", "\\~root"),
        ("x a:", "a:b", "b"),
        ("x --to=op", "--to=openai", "openai"),
        ("x after", "before", None),
    ],
)
def test_insertion(line: str, value: str, inserted: str | None) -> None:
    """What is inserted stands for the value, behind what bash keeps of the word."""
    assert insertion(value, taken_apart(line)[1]) == inserted


@given(st.text(st.characters(blacklist_categories=("Cc", "Cs")), min_size=1), st.integers(0, 5))
def test_what_is_inserted_means_the_value(value: str, typed: int) -> None:
    """Any label, typed to any length and completed, is one word again: by our reading and by the standard library's."""
    begun = shlex.quote(value[:typed]) if value[:typed] else ""
    line = f"x {begun}"
    word = taken_apart(line)[1]
    inserted = insertion(value, word)
    assert inserted is not None
    completed = "x " + word.typed + inserted
    assert taken_apart(completed + " ")[0] == ["x", value]
    if "\u2028" not in value:
        assert shlex.split(completed) == ["x", value]
