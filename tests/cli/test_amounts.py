"""Amounts of tokens as people type them."""

from __future__ import annotations

import pytest

from ctxkit.cli.amounts import tokens
from ctxkit.errors import Usage


@pytest.mark.parametrize(("text", "expected"), [(None, None), ("128000", 128_000), ("128k", 128_000), ("1M", 10**6)])
def test_read(text: str | None, expected: int | None) -> None:
    """Plain, in thousands, in millions; none where the option was not given."""
    assert tokens("--max-tokens", text) == expected


def test_refused() -> None:
    """With the option's name and what would do."""
    with pytest.raises(Usage, match="--limit 'many' is no number of tokens"):
        tokens("--limit", "many")
