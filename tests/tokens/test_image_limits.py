"""The table of what providers take of pictures."""

from __future__ import annotations

import pytest

from ctxkit.tokens.image_limits import TABLE, image_limits, maker


@pytest.mark.parametrize(
    ("provider", "model", "most"),
    [
        ("anthropic", "", 100),
        ("anthropic", "claude-sonnet-4-5", 100),
        ("anthropic", "claude-sonnet-4-5[1m]", 600),
        ("anthropic", "claude-opus-5-5", 600),
        ("anthropic", "my-model", 100),
        ("openai", "gpt-5", 500),
        ("gemini", "gemini-3-pro", 3000),
        ("gemini", "gemini-1.0-pro-vision", 16),
        ("elsewhere", "", None),
    ],
)
def test_number(provider: str, model: str, most: int | None) -> None:
    """By provider and model; the stricter figure for a model that nobody knows."""
    found = image_limits(provider, model)
    assert (found.most if found else None) == most


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-4-6", "anthropic"), ("us.anthropic.claude-sonnet-4-5", "anthropic"), ("gpt-5.1-codex", "openai"),
        ("openai/o3-mini", "openai"), ("models/gemini-2.5-pro", "gemini"), ("llama-4", ""), ("", ""),
    ],
)  # fmt: skip
def test_maker(model: str, provider: str) -> None:
    """Whose model a name is."""
    assert maker(model) == provider


def test_sources() -> None:
    """Each row names the page that it is from, and when it was read."""
    assert all("2026-" in row.source and "." in row.source for row in TABLE.values())
