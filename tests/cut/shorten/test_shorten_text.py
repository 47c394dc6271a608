"""Abridge: a text in so many tokens, by a count that needs no model's vocabulary."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.cut.shorten.shorten_text import GAP, LEFT_OUT, NOTE, abridged
from ctxkit.cut.units.text_segments import SegmentKind


def count(texts: Sequence[str]) -> list[int]:
    """Words and signs."""
    return [len(re.findall(r"\w{1,6}|[^\w\s]", text)) for text in texts]


LINES = "\n".join(f"line {n} of cart_{n % 7}.py says nothing new" for n in range(400))
LONG = f"{LINES}\nERROR: the port 8080 is taken, see /etc/shop/ports.yaml\n{LINES[::-1]}"


@pytest.mark.parametrize("tokens", [48, 100, 500, 2000, 5000])
def test_full_and_no_more(tokens: int) -> None:
    """The head and the tail, to the letter, and nearly all of the tokens used."""
    made = abridged(LONG, tokens, count)
    assert made is not None and 0.97 * tokens < count([made])[0] <= tokens
    head, _, rest = made.partition("\n[shortened: ")
    assert head and LONG.startswith(head) and LONG.endswith(rest.rpartition(GAP)[2].strip("\n"))
    assert "characters are left out" in rest


@pytest.mark.parametrize("tokens", [6, 24, 30, 47])
def test_a_few_tokens_are_the_beginning(tokens: int) -> None:
    """The line that says how much is left out would take most of them."""
    made = abridged(LONG, tokens, count)
    assert made is not None and 0.8 * tokens < count([made])[0] <= tokens
    assert made.endswith(" […]") and LONG.startswith(made.removesuffix(" […]"))


def test_the_lines_that_keep_most() -> None:
    """What is worth more than its neighbours is kept from between."""
    same = "\n".join(f"nothing new here, says step {n}" for n in range(400))
    text = f"{same}\nValueError: the port 8080 is taken, see /etc/shop/ports.yaml\n{same} once more"
    made = abridged(text, 400, count, SegmentKind.RESULT)
    assert made is not None and "the port 8080 is taken" in made


def test_nothing_to_shorten() -> None:
    """A text that fits, and room for nothing but the mark."""
    assert abridged("short", 100, count) is None
    assert abridged(LONG, 2, count) is None
    assert abridged("", 0, count) is None


def test_room_for_less_than_the_note() -> None:
    """The beginning, and a mark that something is left out."""
    made = abridged(LONG, NOTE - 1, count)
    assert made is not None and made.endswith(f" {LEFT_OUT}") and LONG.startswith(made.removesuffix(f" {LEFT_OUT}"))
    assert 0.8 * NOTE < count([made])[0] < NOTE


@given(st.text(max_size=400), st.integers(0, 120))
def test_any_text(text: str, tokens: int) -> None:
    """Never more than was asked for, whatever it is made of."""
    made = abridged(text, tokens, count)
    assert made is None or count([made])[0] <= tokens < count([text])[0]
