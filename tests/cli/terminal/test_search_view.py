"""Hits for people: a line around what was found, at any width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.search_view import excerpt
from ctxkit.cli.terminal.style import Styled
from ctxkit.search.full_search import Excerpt


def line(text: str, spans: list[tuple[int, int]], width: int, **more: bool) -> str:
    """The excerpt, what was found in brackets."""
    one = Excerpt("text", "", 1, text, spans, **more)
    return "".join(f"[{span.text}]" if isinstance(span, Styled) else span for span in excerpt(one, width))


@pytest.mark.parametrize(
    ("text", "spans", "width", "expected"),
    [
        ("one two three", [(4, 7)], 80, "one [two] three"),
        ("    one two", [(8, 11)], 80, "one [two]"),
        ("aaaaaaaaaaaaaaaaaaaa two bbbbbbbbbbbbbbbbbbbb", [(21, 24)], 20, "…aaa [two] bbbbbbbbbb…"),
        ("two two", [(0, 3), (4, 7)], 80, "[two] [two]"),
        ("aaaaaaaaaaaaaaaaaaaa two", [(21, 24)], 20, "…aaaaaaaaaaaaaaa [two]"),
        ("two\nthree", [(0, 5)], 80, "[two␊t]hree"),
        ("a\x1bb", [(1, 2)], 80, "a[␛]b"),
        ("x" * 50, [(0, 50)], 10, "[xxxxxxxxx…]"),
    ],
)
def test_excerpt(text: str, spans: list[tuple[int, int]], width: int, expected: str) -> None:
    """What was found is in sight; where something is cut, an ellipsis says so."""
    assert line(text, spans, width) == expected


@given(
    text=st.text(st.sampled_from("ab 日é\u0301\t\x1b\n😀"), min_size=1, max_size=60), data=st.data(),
    width=st.integers(4, 40), cut=st.booleans(),
)  # fmt: skip
def test_never_wider(text: str, data: st.DataObject, width: int, cut: bool) -> None:
    """Whatever it holds."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start, len(text)))
    one = Excerpt("call", "Bash command", 1, text, [(start, end)], cut, cut)
    made = "".join(span.text if isinstance(span, Styled) else span for span in excerpt(one, width))
    assert cells(made) <= width
