"""The rule of each model for reasoning that is sent back, under every name that a host gives it."""

from __future__ import annotations

import re

import pytest

from ctxkit.tokens.reasoning import CHAT_FIELDS, CHUNK, GATEWAY, RULES, UNKNOWN, binds, has_gateway_name, reads, rule

BOUND = [
    "claude-fable-5-1", "claude-fable-5.1", "claude-fable-5-1-20260901", "claude-fable-5-2", "claude-mythos-5-1",
    "claude-mythos-5-2-20261001", "claude-opus-5-5", "claude-opus-5-5[1m]", "claude-sonnet-5-5", "claude-haiku-5-5",
    "anthropic/claude-opus-5.5", "us.anthropic.claude-opus-5-5-20260915-v1:0", "claude-opus-5-5@20260930",
    "openrouter/anthropic/claude-haiku-5.5", "claude-5.5-opus", "claude-5-5-sonnet-20260915", "claude-opus-6",
    "claude-sonnet-10-1", "Claude-Opus-5-5", "opus", "sonnet", "claude-fable-6-20270101", "gpt-6.2-sol",
    "gpt-6.2-astra-2026-11-18", "openai/gpt-6.2", "gpt-7", "gpt-10.1",
]  # fmt: skip
FREE = [
    "", "claude-fable-5", "claude-fable-5-20260401", "claude-mythos-preview", "claude-opus-5", "claude-opus-5-20260101",
    "claude-opus-5@20260101", "claude-opus-4-8", "claude-opus-4-5-20251101", "claude-sonnet-5", "claude-haiku-4-5",
    "claude-3-5-sonnet-20241022", "claude-3-opus-20240229", "claude-2.1", "claude-instant", "gpt-5.5", "gemini-5-5",
    "gpt-6", "gpt-6.1-codex", "gpt-4o", "gpt-35-turbo", "gpt-oss-120b", "o3",
    "anthropic.claude-sonnet-4-20250514-v1:0", "my-opus-5-5-clone", "<synthetic>", "opus-magnum",
]  # fmt: skip


@pytest.mark.parametrize("model", BOUND)
def test_bound(model: str) -> None:
    """Fable and Mythos from 5.1 on, Opus, Sonnet and Haiku from 5.5 on, GPT from 6.2 on."""
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
    assert reads("gpt-6.2-sol", "openai/gpt-6.2-sol-2026-11-18") and not reads("gpt-6.1", "gpt-6.2-sol")


WHOSE = {
    "GPT from 6.2 on": ["gpt-6.2-sol", "gpt-7-mini"],
    "GPT 5.6 to 6.1": ["gpt-5.6", "gpt-6", "gpt-6-2026-08-01", "gpt-6.1-codex-max"],
    "older GPT, o1 to o4": ["gpt-5", "gpt-5-2025-08-07", "gpt-5.5", "gpt-4o", "gpt-35-turbo", "codex-mini", "o4-mini"],
    "Gemini from 3 on": ["gemini-3-pro-preview", "models/gemini-4-argon", "gemini-flash-latest"],
    "older Gemini": ["gemini-2.5-pro", "google/gemini-1.5-flash"],
    "DeepSeek from V3.2 on": ["deepseek/deepseek-v4-pro", "deepseek-chat", "accounts/fireworks/models/deepseek-v3p2"],
    "older DeepSeek, such as R1": ["deepseek-r1", "deepseek-v3", "DeepSeek-V3.1", "deepseek-r1-distill-qwen-32b"],
    "Kimi K2 Thinking, K2.5 and later": [
        "kimi-k2.5", "kimi-k2-thinking-turbo", "moonshotai/kimi-k2.7-code", "kimi-k3", "kimi-for-coding/k2p5",
    ],
    "Xiaomi MiMo": ["mimo-v2.5-pro", "xiaomi/mimo-v2-flash", "xiaomi_mimo/mimo-v2-omni"],
    "GLM from 4.5 on": ["glm-4.5-air", "z-ai/glm-5.2"],
    "MiniMax from M2 on": ["MiniMax-M2", "minimax/minimax-m2.1"],
    "Qwen": ["qwen3-max", "qwq-32b"],
    "Mistral": ["magistral-medium-latest", "mistral-large-4-0"],
    "Grok": ["grok-4-fast"],
    "older Claude": ["claude-3-5-sonnet-20241022", "claude-opus-4-8"],
    UNKNOWN.whose: ["", "llama-4", "kimi-k2-0905-preview", "glm-4", "minimax-m1", "gpt-oss-120b", "<synthetic>"],
}  # fmt: skip


@pytest.mark.parametrize(("whose", "name"), [(whose, name) for whose, names in WHOSE.items() for name in names])
def test_whose(whose: str, name: str) -> None:
    """Each name has the rule of its maker and version."""
    assert rule(name).whose == whose


def test_the_table() -> None:
    """Every rule has a source, and says how reasoning goes back where it can."""
    for one in (*RULES, GATEWAY):
        assert one.source.startswith("https://") and one.whose
        assert set(one.fields) <= {*CHAT_FIELDS, CHUNK} and (not one.fields or one.need)
        assert re.compile(one.pattern).groups in (0, 2, 4) and (one.since == (0, 0) or re.compile(one.pattern).groups)
    assert len({one.whose for one in RULES}) == len(RULES)
    assert has_gateway_name("deepseek/deepseek-v4") and not has_gateway_name("gpt-6.2") and not has_gateway_name("")
