"""A text that is parted at its runs of blanks has the tokens of the whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.tokens import runs
from tests.tokens.test_encodings import MADE, NAMES

BITS = st.sampled_from(
    [
        " ",
        "   ",
        " " * 11,
        "\n",
        "\r\n",
        "\t",
        "\u00a0",
        "\u3000",
        "word",
        "Ab",
        "\u0301",
        ".",
        "/",
        "12",
        "漢",
        "'s",
        " \n",
    ]
)


@pytest.mark.parametrize("name", NAMES)
@given(bits=st.lists(BITS, max_size=14), long=st.integers(2, 6))
def test_parting_changes_no_count(name: str, bits: list[str], long: int) -> None:
    """Wherever the runs stand, and however short those are that count as long."""
    made, text = MADE[name], "".join(bits)
    assert "".join(part for part, _ in runs.parts(text, long)) == text
    assert runs.count(text, made._ordinary, made._piece, long) == made._ordinary(text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u3000"])
@pytest.mark.parametrize("size", [4 * runs.PERIOD, 5 * runs.PERIOD + 1, 6 * runs.PERIOD + 777, 9 * runs.PERIOD - 1])
def test_folding_changes_no_count(name: str, blank: str, size: int) -> None:
    """A long run of one blank, alone, between words, and before a line break, twice."""
    made = MADE[name]
    for text in (blank * size, f"x{blank * size}y", f"{blank * size}\n{blank * (size + 3)}\r\nz"):
        assert runs.count(text, made._ordinary, made._piece, 4 * runs.PERIOD) == made._ordinary(text)


def test_short_text_is_not_looked_at() -> None:
    """One call, as it stands."""
    assert runs.count("a  b", lambda text: len(text), lambda text: 0) == 4
