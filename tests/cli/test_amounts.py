"""Amounts of tokens as people type them."""

from __future__ import annotations

import pytest

from ctxkit.cli.amounts import room, tokens
from ctxkit.errors import Usage


@pytest.mark.parametrize(("text", "expected"), [(None, None), ("128000", 128_000), ("128k", 128_000), ("1M", 10**6)])
def test_read(text: str | None, expected: int | None) -> None:
    """Plain, in thousands, in millions; none where the option was not given."""
    assert tokens("--max-tokens", text) == expected


@pytest.mark.parametrize(("text", "expected"), [(None, None), ("12k", 12_000), ("30%", "30%"), ("7.5 %", "7.5 %")])
def test_room(text: str | None, expected: int | str | None) -> None:
    """A percentage stays one: of what, is known later."""
    assert room("--max-tokens", text) == expected


@pytest.mark.parametrize("text", ["many", "130%", "%", "-3%"])
def test_refused(text: str) -> None:
    """With the option's name and what would do."""
    with pytest.raises(Usage, match=r"--limit '.*' is not a number of tokens") as plain:
        tokens("--limit", text)
    with pytest.raises(Usage, match=r"--limit '.*' is not a number of tokens") as either:
        room("--limit", text, "off")
    assert (plain.value.hint, either.value.hint) == ("128000, 128k, 1M", "128000, 128k, 1M, 30% (of the limit), off")
