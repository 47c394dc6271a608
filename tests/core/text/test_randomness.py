"""What looks random, and what does not."""

from __future__ import annotations

import hashlib
import random
import string
import uuid

import pytest

from ctxkit.core.text.randomness import goes_on, is_mixed, looks_random, mixes

ALNUM = string.ascii_letters + string.digits


def test_random_values_look_random() -> None:
    """Of 12 to 40 letters and digits, 97 in 100; of those with a digit, 99."""
    chance = random.Random(34)
    values = ["".join(chance.choices(ALNUM, k=chance.randint(12, 40))) for _ in range(2000)]
    with_digit = [value for value in values if any(map(str.isdigit, value))]
    assert sum(map(looks_random, values)) > 0.97 * len(values)
    assert sum(map(looks_random, with_digit)) > 0.99 * len(with_digit)


@pytest.mark.parametrize(
    "value",
    [
        "", "password", "correct-horse-battery", "text-embedding-3-small", "claude-3-5-sonnet-20241022",
        "src/app2/main.py",
        "gpt-4o-mini-2024-07-18", "Release-2.14.0", "aaaaaaaa11111111", "user@example2.com", "11-" * 60,
        hashlib.sha256(b"x").hexdigest(), str(uuid.UUID(int=34)), "2026-11-28T13:33:04",
    ],
)  # fmt: skip
def test_words_digests_and_ids_do_not(value: str) -> None:
    """Words with numbers, names of models, paths, digests, UUIDs and times."""
    assert not looks_random(value)


def test_mixed() -> None:
    """A digit or capital letters make a word none; signs between capital letters are a name."""
    assert is_mixed("abc1") and is_mixed("aBc") and not is_mixed("abc") and not is_mixed("Some-Name")
    assert goes_on("abc1") and goes_on("aBcD") and not goes_on("Then") and not goes_on("words") and not goes_on("THEN")
    assert mixes("aBcD12") == 4 and mixes("words") == 0
