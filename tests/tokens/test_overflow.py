"""What providers say of a request that is too large, as they say it."""

from __future__ import annotations

import pytest

from ctxkit.tokens.overflow import Overflow, overflow


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("prompt is too long: 210345 tokens > 200000 maximum", (210_345, 200_000)),
        ('{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1,210,345 tokens > '
         '1,000,000 maximum"}}', (1_210_345, 1_000_000)),
        ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130456 tokens.",
         (130_456, 128_000)),
        ("This model's maximum context length is 8192 tokens, however you requested 9001 tokens (8001 in your prompt)",
         (9001, 8192)),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
         (1_200_000, 1_048_576)),
        ("input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000", (199_000, 200_000)),
        ('{"code":"context_length_exceeded"}', (None, None)),
        ("Your input exceeds the context window of this model.", (None, None)),
        ("prompt is\n  too long: 5 tokens > 4 maximum", (5, 4)),
    ],
)  # fmt: skip
def test_refusals(text: str, expected: tuple[int | None, int | None]) -> None:
    """The figures, where there are any."""
    assert overflow(text) == Overflow(*expected)


@pytest.mark.parametrize("text", ["", "rate limit exceeded", "401 unauthorized", "12 tokens", "5 > 4"])
def test_other_words(text: str) -> None:
    """No refusal of that kind."""
    assert overflow(text) is None
