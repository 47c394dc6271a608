"""Models are told by their names, whoever serves them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxkit.tokens import models
from ctxkit.tokens.ranks import NAMES


@pytest.mark.parametrize(
    ("name", "family", "limit"),
    [
        ("claude-opus-5", "claude-5", 1_000_000), ("claude-haiku-4-5-20251001", "claude", 200_000),
        ("anthropic/claude-sonnet-4", "claude", 200_000), ("us.anthropic.claude-opus-4-v1:0", "claude", 200_000),
        ("gpt-5.1-codex", "gpt-5", 272_000), ("gpt-4o-mini", "gpt-4o", 128_000), ("o3", "o-series", 200_000),
        ("o1-mini", "o-series", 200_000), ("gpt-4", "gpt-4", 8_192), ("gpt-4.1-nano", "gpt-4.1", 1_047_576),
        ("GPT-3.5-turbo", "gpt-3.5", 16_385), ("models/gemini-2.5-pro", "gemini", 1_048_576),
        ("openrouter/deepseek/deepseek-chat", "deepseek", 128_000), ("llama3.1:70b", "llama", 131_072),
        ("openai-model", "unknown model", None), ("o5000", "unknown model", None), ("", "unknown model", None),
    ],
)  # fmt: skip
def test_named(name: str, family: str, limit: int | None) -> None:
    """The provider's prefix and the case do not count."""
    assert models.named(name).family == family
    assert models.named(name).limit == limit


def test_the_table() -> None:
    """Each row can be reached, counts by an encoding we have, and no estimate is below its base."""
    for at, known in enumerate(models.MODELS):
        re.compile(known.pattern)
        assert known.base in NAMES and known.factor >= 1
        assert known not in models.MODELS[:at]


def test_litellm_is_read_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is installed, for models that are not in our table; a damaged file is no limit."""
    table = {"acme/brain-1": {"max_input_tokens": 64_000}, "gpt-5": {"max_input_tokens": 1}, "odd": {"max_tokens": "x"}}
    (tmp_path / models.TABLE).write_text(json.dumps(table))
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(models, "find_spec", lambda name: spec)
    assert models.limit("acme/brain-1") == 64_000 and models.limit("gpt-5") == 272_000
    assert models.limit("odd") is None and models.limit("") is None
    (tmp_path / models.TABLE).write_text("{")
    assert models.limit("acme/brain-1") is None
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    assert models.limit("acme/brain-1") is None
