"""Tokens of pictures, beside what the providers publish."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.messages import Image
from ctxkit.tokens.pictures import NONE, RULES, UNKNOWN, detail_of, picture_rule, picture_tokens, tokens_of

MODELS = ["gpt-4o", "gpt-4o-mini", "gpt-5", "gpt-5.2", "gpt-5.4", "gpt-5.6", "o4-mini", "claude-opus-4-6",
          "claude-opus-4-7", "gemini-2.5-pro", "gemini-3-pro", "someone's"]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        # OpenAI's guide: examples of tiles, and of patches
        ("gpt-4o", (1024, 1024), "high", 765),
        ("gpt-4o", (2048, 4096), "high", 1105),
        ("gpt-4o", (4096, 8192), "low", 85),
        ("gpt-4o", (800, 600), "high", 765),
        ("gpt-4o-mini", (1024, 1024), "high", 2_833 + 4 * 5_667),
        ("gpt-4.1-mini", (1024, 1024), "high", 1_659),
        ("o4-mini", (1024, 1024), "auto", 1_762),
        ("gpt-5.2", (1024, 1024), "auto", 1_024),
        ("gpt-5.2", (1800, 2400), "auto", 1_452),
        ("gpt-5", (1024, 1024), "auto", 70 + 4 * 140),
        # Claude's guide: its table of sizes in both tiers
        ("claude-sonnet-4-6", (1920, 1080), "auto", 1_560),
        ("claude-opus-4-7", (1920, 1080), "auto", 2_691),
        ("claude-opus-4-7", (3840, 2160), "auto", 4_784),
        ("claude-sonnet-5", (3024, 1964), "auto", 4_760),
        ("claude-sonnet-4-6", (1000, 1000), "auto", 1_296),
        # Gemini's guide: 258 for a small one, 960 x 540 is 3 x 2 tiles
        ("gemini-2.5-flash", (384, 384), "auto", 258),
        ("gemini-2.5-flash", (960, 540), "auto", 6 * 258),
        ("gemini-3-pro", (960, 540), "auto", 1_120),
        ("gemini-3-pro", None, "low", 280),
        ("gpt-4o", None, "low", 85),
        ("gpt-4o", None, "high", UNKNOWN),
        ("unknown", (10, 10), "high", UNKNOWN),
    ],
)
def test_published_examples(model: str, size: Any, detail: str, tokens: int) -> None:
    """The provider's own figure."""
    assert tokens_of(picture_rule(model), size, detail) == tokens


@given(st.sampled_from(MODELS), st.integers(1, 9000), st.integers(1, 9000), st.sampled_from(["low", "high", "auto"]))
def test_bounds(model: str, width: int, height: int, detail: str) -> None:
    """Turned, a picture costs as much; it costs something, and no more than the rule's most."""
    rule = picture_rule(model)
    found = tokens_of(rule, (width, height), detail)
    assert found == tokens_of(rule, (height, width), detail) and found > 0
    if rule.kind == "claude" or (rule.kind == "patches" and rule.auto == "high"):
        assert found <= rule.most * rule.each + 1


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        ({"type": "image_url", "image_url": {"url": "u", "detail": "low"}}, "low"),
        ({"type": "input_image", "detail": "original"}, "original"),
        ({"inlineData": {}, "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"}}, "low"),
        ({"image_url": "u"}, "auto"),
        (None, "auto"),
    ],
)
def test_detail(raw: Any, detail: str) -> None:
    """Where requests say it."""
    assert detail_of(raw) == detail


def test_no_rule_and_no_size() -> None:
    """The old figure stands where nothing is known; every rule has its own name, which is part of a cache key."""
    assert picture_tokens(Image("image/png", "aGk=", ""), picture_rule("gpt-4o")) == UNKNOWN
    assert picture_tokens(Image(url="https://x/y.png"), NONE) == UNKNOWN
    assert len({rule.name for _, rule in RULES}) == len(RULES)
