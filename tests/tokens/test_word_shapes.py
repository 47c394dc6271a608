"""Pieces: near enough to say so, linear, no data."""

from __future__ import annotations

import pytest

from ctxkit.tokens import word_shapes


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("hello", 1), ("hello world", 2), ("internationalisation", 3), ("1234567", 3), ("漢字", 2),
     ("a\n\nb", 3), ("    x", 2), ("-----", 2), ("\ud800abc", 2),
     ("camelCaseName", 3), ("für", 2), ("😀", 2), ("aGVsbG8" * 20, 102), ("=" * 160, 12), ("\x0b" * 99, 89)],
)  # fmt: skip
def test_counts(text: str, expected: int) -> None:
    """Words by their capitals, digits by three, signs, what is repeated, indentation, line breaks, noise."""
    assert word_shapes.counts([text]) == [expected]


def test_near_the_real_thing() -> None:
    """This very file is within a tenth of what o200k_base counts."""
    from tests.tokens.test_encodings import MADE

    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    [real] = MADE["o200k_base"].counts([text])
    assert abs(word_shapes.counts([text])[0] - real) < real / 5
