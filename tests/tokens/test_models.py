"""Models are told by their names, whoever serves them."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxkit.tokens import models
from ctxkit.tokens.counter import counter
from ctxkit.tokens.models import MODELS, TYPICAL
from ctxkit.tokens.ranks import NAMES
from tests.shared import shared


@pytest.mark.parametrize(
    ("name", "family", "limit"),
    [
        ("claude-opus-5", "claude-5", 1_000_000), ("claude-haiku-4-5-20251001", "claude", 200_000),
        ("anthropic/claude-sonnet-4", "claude", 200_000), ("us.anthropic.claude-opus-4-v1:0", "claude", 200_000),
        ("bedrock/global.anthropic.claude-sonnet-4-6-v1:0", "claude", 1_000_000),
        ("claude-opus-4.6", "claude", 1_000_000),
        ("vertex_ai/claude-opus-4-5@20251101", "claude", 200_000), ("claude-3-opus-20240229", "claude", 200_000),
        ("claude-sonnet-4-5-20250929[1m]", "claude", 1_000_000), ("claude-opus-4.8", "claude-opus-4-7", 1_000_000),
        ("claude-3.7-sonnet:thinking", "claude", 200_000), ("claude-4.5-haiku", "claude", 200_000),
        ("claude-haiku-5.5", "claude-5", 1_000_000), ("claude-mythos-preview", "claude-5", 1_000_000),
        ("sonnet", "claude-5", 1_000_000), ("opusplan", "claude-5", 1_000_000), ("magnum-opus", "unknown model", None),
        ("claude-instant-1.2", "claude", 100_000), ("claude-v2:1", "claude", 200_000),
        ("gpt-5.1-codex", "gpt-5", 272_000), ("gpt-5.5", "gpt-5", 922_000), ("gpt-5.4-mini", "gpt-5", 272_000),
        ("gpt-5-chat-latest", "gpt-5", 128_000), ("gpt-5.2-chat-latest", "gpt-5", 128_000), ("gpt-5", "gpt-5", 272_000),
        ("gpt-4o-mini", "gpt-4o", 128_000), ("ft:gpt-4o-2024-08-06:acme::x", "gpt-4o", 128_000),
        ("o3", "o-series", 200_000), ("o1-mini", "o-series", 128_000), ("azure/gpt-35-turbo", "gpt-3.5", 16_385),
        ("gpt-4", "gpt-4", 8_192), ("gpt-4.1-nano", "gpt-4.1", 1_047_576), ("GPT-3.5-turbo", "gpt-3.5", 16_385),
        ("models/gemini-2.5-pro", "gemini", 1_048_576), ("gemini-3-pro-preview", "gemini", 1_048_576),
        ("openrouter/deepseek/deepseek-chat", "deepseek", 128_000), ("deepseek-v4-pro", "deepseek", 1_000_000),
        ("llama3.1:70b", "llama", 131_072), ("llama3:8b", "llama", 8_192), ("llama-3-70b", "llama", 8_192),
        ("openai/openrouter-llama-4-maverick", "llama", 1_000_000),
        ("meta.llama3-3-70b-instruct-v1:0", "llama", 131_072),
        ("Qwen/Qwen3.6-35B-A3B", "qwen", 262_144), ("qwen3-coder-plus", "qwen", 991_808), ("qwen3:8b", "qwen", 131_072),
        ("moonshotai/Kimi-K2-Instruct", "kimi", 131_072), ("kimi-k2.5", "kimi", 262_144),
        ("kimi-k3", "kimi", 1_048_576),
        ("z-ai/glm-4.6", "glm", 200_000), ("fireworks_ai/glm-5p2", "glm", 1_000_000), ("glm-4.5-air", "glm", 128_000),
        ("x-ai/grok-4", "grok", 256_000), ("grok-4.3", "grok", 1_000_000), ("grok-3-mini", "grok", 131_072),
        ("devstral-medium-latest", "mistral", 256_000), ("mixtral-8x7b-instruct", "mistral", 32_768),
        ("codestral-latest", "mistral", 128_000), ("deepseek-r1-distill-llama-70b", "deepseek", 128_000),
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


LITELLM = os.environ.get("CTXKIT_LITELLM")
ROWS = {
    "acme/brain-1": {"max_input_tokens": 64_000, "max_tokens": 8_000, "mode": "chat"},
    "other/acme/brain-1": {"max_input_tokens": 32_000},
    "us.acme.brain-2-v1:0": {"max_input_tokens": 50_000},
    "brain-3": {"max_tokens": 8_000, "max_output_tokens": 8_000},
    "brain-4": {"max_tokens": 9_000},
    "gpt-5": {"max_input_tokens": 1},
    "odd": {"max_tokens": "x"},
}


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("acme/brain-1", 64_000), ("brain-1", 32_000), ("openrouter/acme/brain-1", 32_000), ("Brain-1-latest", 32_000),
        ("bedrock/eu.acme.brain-2-v1:0", 50_000), ("brain-3", None), ("brain-4", 9_000), ("gpt-5", 272_000),
        ("odd", None),
        ("brain-9", None), ("", None),
    ],
)  # fmt: skip
def test_litellm_is_read_as_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, limit: int | None
) -> None:
    """For models that are not in our table: the very name, else the least that any host takes."""
    (tmp_path / models.TABLE).write_text(json.dumps(ROWS))
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(models, "find_spec", lambda name: spec)
    assert models.limit(model) == limit


@pytest.mark.parametrize("damage", ["{", "[]", '{"acme/brain-1": 3}', "", None])
def test_a_damaged_table_is_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str | None) -> None:
    """And neither is a missing one, or one of any size."""
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(models, "find_spec", lambda name: spec)
    if damage is not None:
        (tmp_path / models.TABLE).write_text(damage)
    assert models.limit("acme/brain-1") is None
    (tmp_path / models.TABLE).write_text(json.dumps(ROWS))
    monkeypatch.setattr(models, "LARGEST", 10)
    assert models.limit("acme/brain-1") is None
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    assert models.limit("acme/brain-1") is None


def test_models_of_real_sessions() -> None:
    """Each model that a recorded session names is known."""
    folder = shared("transcripts")
    found = set()
    for path in sorted(folder.rglob("*.json*")):
        text = path.read_text(encoding="utf-8", errors="replace")
        found |= set(re.findall(r'"(?:model|modelID)": ?"([\w./:-]*\d[\w./:-]*)"', text))
    assert len(found) > 15
    assert {name for name in found if models.named(name) is models.UNKNOWN} == set()


@pytest.mark.parametrize(
    ("name", "family", "tokens"),
    [
        ("gpt-6.2-sol", "gpt-6 or newer, as gpt-5", 922_000),
        ("openai/gpt-7", "gpt-6 or newer, as gpt-5", 922_000),
        ("claude-opus-6", "claude-6 or newer, as claude-5", 1_000_000),
        ("claude-opus-6-1", "claude-6 or newer, as claude-5", 1_000_000),
        ("claude-6-sonnet", "claude-6 or newer, as claude-5", 1_000_000),
        ("claude-opus-4-20250514", "claude", 200_000),
        ("qwen4-max", "qwen4 or newer, as qwen3.6", 262_144),
        ("grok-5", "grok-5 or newer, as grok-4.5", 500_000),
        ("glm-6", "glm-6 or newer, as glm-5.2", 1_000_000),
    ],
)
def test_newer_models(monkeypatch: pytest.MonkeyPatch, name: str, family: str, tokens: int) -> None:
    """A model that is newer than the table is counted as the newest known one of its maker, and the counter says so."""
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    assert (models.named(name).family, models.limit(name)) == (family, tokens)
    if family != "claude":
        assert not counter("auto", name).plain and family in counter("auto", name).name


def test_the_table_of_litellm_counts_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a newer model: its own row."""
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(models, "find_spec", lambda name: spec)
    (tmp_path / models.TABLE).write_text(json.dumps({"gpt-6": {"max_input_tokens": 400_000}}))
    assert (models.limit("gpt-6"), models.limit("gpt-6.2"), models.limit("gpt-5")) == (400_000, 922_000, 272_000)


MAKERS = frozenset({"openai", "anthropic", "gemini", "deepseek", "mistral", "xai", "moonshot", "dashscope", "zai"})
"""Providers of litellm's table whose own models are counted here."""


ASIDE = re.compile(
    r"audio|lyria|voxtral|deep-research|gemma-|learnlm|moonshot-v1|computer-use|daybreak|rosalind-(discovery|research)"
    r"|leanstral|pixtral|^chat-latest$|container$"
)
"""Models of theirs for sound, research and single tasks: litellm's own limit counts for these."""


@pytest.mark.full("another release of litellm may list more models")
def test_each_model_of_litellm_has_a_row() -> None:
    """The chat models of these makers in the newest table of litellm: those without a row here are listed."""
    spec = find_spec("litellm")
    folder = LITELLM or (spec and spec.origin and str(Path(spec.origin).parent))
    if not folder:
        pytest.skip("litellm is not installed (set CTXKIT_LITELLM to the folder of its package)")
    rows = json.loads((Path(folder) / models.TABLE).read_text())
    chat = {name for name, row in rows.items() if row.get("mode") == "chat" and row.get("litellm_provider") in MAKERS}
    missing = sorted(name for name in chat if models.named(name) is models.UNKNOWN)
    assert len(chat) > 100 and [name for name in missing if not ASIDE.search(name)] == []


def test_the_real_litellm() -> None:
    """Where it is installed (or `CTXKIT_LITELLM` names its folder): the names that our table lacks have a limit."""
    spec = find_spec("litellm")
    folder = LITELLM or (spec and spec.origin and str(Path(spec.origin).parent))
    if not folder:
        pytest.skip("litellm is not installed (set CTXKIT_LITELLM to the folder of its package)")
    before = "litellm" in sys.modules  # another test of this worker may have asked a model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "find_spec", lambda name: SimpleNamespace(origin=str(Path(folder) / "__init__.py")))
        assert (models.limit("amazon.nova-pro-v1:0"), models.limit("openrouter/x/nova-pro-v1")) == (300_000, 300_000)
        assert models.limit("command-r-plus-latest") == 128_000 and models.limit("no-such-model") is None
    assert ("litellm" in sys.modules) is before


@pytest.mark.parametrize("family", TYPICAL)
def test_what_was_measured_is_below_the_factor(family: str) -> None:
    """It is what a session's calibration begins with; the factor is raised, so that little is told too low."""
    factors = {known.factor for known in MODELS if known.family == family}
    assert len(factors) == 1 and 1 < TYPICAL[family] < factors.pop()
    assert counter("auto", "claude-opus-4-5").typical == 1.22 and counter("auto", "gpt-5.5").typical == 1.0
