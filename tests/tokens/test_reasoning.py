"""Which models bind thinking to what stood before it, under every name that a host gives them."""

from __future__ import annotations

import pytest

from ctxkit.tokens.reasoning import binds, reads

BOUND = [
    "claude-fable-5-1", "claude-fable-5.1", "claude-fable-5-1-20260901", "claude-fable-5-2", "claude-mythos-5-1",
    "claude-mythos-5-2-20261001", "claude-opus-5-5", "claude-opus-5-5[1m]", "claude-sonnet-5-5", "claude-haiku-5-5",
    "anthropic/claude-opus-5.5", "us.anthropic.claude-opus-5-5-20260915-v1:0", "claude-opus-5-5@20260930",
    "openrouter/anthropic/claude-haiku-5.5", "claude-5.5-opus", "claude-5-5-sonnet-20260915", "claude-opus-6",
    "claude-sonnet-10-1", "Claude-Opus-5-5", "opus", "sonnet", "claude-fable-6-20270101",
]  # fmt: skip
FREE = [
    "", "claude-fable-5", "claude-fable-5-20260401", "claude-mythos-preview", "claude-opus-5", "claude-opus-5-20260101",
    "claude-opus-5@20260101", "claude-opus-4-8", "claude-opus-4-5-20251101", "claude-sonnet-5", "claude-haiku-4-5",
    "claude-3-5-sonnet-20241022", "claude-3-opus-20240229", "claude-2.1", "claude-instant", "gpt-5.5", "gemini-5-5",
    "anthropic.claude-sonnet-4-20250514-v1:0", "my-opus-5-5-clone", "<synthetic>", "opus-magnum",
]  # fmt: skip


@pytest.mark.parametrize("model", BOUND)
def test_bound(model: str) -> None:
    """Fable and Mythos from 5.1 on, Opus, Sonnet and Haiku from 5.5 on."""
    assert binds(model)


@pytest.mark.parametrize("model", FREE)
def test_free(model: str) -> None:
    """All before, and all that are no such models."""
    assert not binds(model)


def test_reads() -> None:
    """Its own under any name, and those that are published; nothing is guessed."""
    assert reads("claude-opus-5-5", "anthropic/claude-opus-5.5-20260915")
    assert reads("claude-fable-5-1", "claude-opus-5") and reads("claude-fable-5-1", "claude-opus-5-5")
    assert not reads("claude-opus-5-5", "claude-fable-5-1") and not reads("claude-opus-5", "claude-fable-5-1")
    assert not reads("gpt-5.5", "claude-opus-5") and reads("local", "local")
