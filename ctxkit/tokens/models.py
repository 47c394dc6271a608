"""Models: which tokenizer a model has, how far it is from one that is public, and how many tokens the model takes.

Only names are read, no network and no package but litellm's table, as data, where it is installed. Limits are of
tokens that a request may have, the reply's among them where the provider counts them together.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

TABLE = "model_prices_and_context_window_backup.json"
"""litellm's table, in its package."""


class Model(NamedTuple):
    """What is known of the models whose names `pattern` matches, after a provider's prefix and in lower case.

    `family`: its name beside a figure. `base`: the encoding that is counted by; `factor`: how many of its tokens one of
    these comes to, 1.0 where it is the model's own. `limit`: in tokens, None where they differ. `typical`: the factor
    that was measured, where `factor` is above it so that hardly anything is told too low; None: the same.
    """

    pattern: str
    family: str
    base: str
    factor: float
    limit: int | None
    typical: float | None = None


# Factors: Claude's are measured on recorded sessions, and raised until stretches of 10,000 tokens are hardly ever told
# too low, since that is what hurts; DeepSeek's likewise. The others' are published comparisons of vocabularies, rounded
# up. docs/tokens.md has the figures.
MODELS = (
    Model(r"claude-(opus|sonnet|haiku|fable)-5", "claude-5", "o200k_base", 1.7, 1_000_000, 1.55),
    Model(r"claude", "claude", "o200k_base", 1.3, 200_000, 1.22),
    Model(r"gpt-5|codex", "gpt-5", "o200k_base", 1.0, 272_000),
    Model(r"gpt-4\.1", "gpt-4.1", "o200k_base", 1.0, 1_047_576),
    Model(r"gpt-4o|chatgpt-4o|gpt-4\.5", "gpt-4o", "o200k_base", 1.0, 128_000),
    Model(r"gpt-oss", "gpt-oss", "o200k_base", 1.0, 131_072),
    Model(r"o[134](-|$)", "o-series", "o200k_base", 1.0, 200_000),
    Model(r"gpt-4-(turbo|1106|0125|vision)", "gpt-4-turbo", "cl100k_base", 1.0, 128_000),
    Model(r"gpt-4-32k", "gpt-4", "cl100k_base", 1.0, 32_768),
    Model(r"gpt-4", "gpt-4", "cl100k_base", 1.0, 8_192),
    Model(r"gpt-3\.5", "gpt-3.5", "cl100k_base", 1.0, 16_385),
    Model(r"text-embedding", "text-embedding", "cl100k_base", 1.0, 8_191),
    Model(r"gemini-1\.5-pro", "gemini", "o200k_base", 1.15, 2_097_152),
    Model(r"gemini", "gemini", "o200k_base", 1.15, 1_048_576),
    Model(r"deepseek", "deepseek", "o200k_base", 1.2, 128_000),
    Model(r"qwen", "qwen", "cl100k_base", 1.1, 131_072),
    Model(r"(meta-)?llama-?[34]", "llama", "cl100k_base", 1.1, 131_072),
    Model(r"mi[sx]tral|codestral|devstral|magistral", "mistral", "o200k_base", 1.3, 131_072),
    Model(r"kimi", "kimi", "o200k_base", 1.15, 262_144),
    Model(r"glm", "glm", "o200k_base", 1.15, 131_072),
    Model(r"grok", "grok", "o200k_base", 1.15, 131_072),
)
"""The first that matches counts."""
UNKNOWN = Model("", "unknown model", "o200k_base", 1.25, None)
"""Conservative: no tokenizer in use is much coarser."""


def named(model: str) -> Model:
    """What is known of a model; UNKNOWN for other names, "" among them. `anthropic/claude-…` is `claude-…`."""
    name = _bare(model)
    return next((known for known in MODELS if re.match(known.pattern, name)), UNKNOWN)


def limit(model: str) -> int | None:
    """The model's limit in tokens: ours, else litellm's; None where nobody knows it."""
    known = named(model)
    return known.limit if known is not UNKNOWN or not model else _litellm(model)


def _bare(model: str) -> str:
    return model.rpartition("/")[2].rpartition("anthropic.")[2].lower()


def _litellm(model: str) -> int | None:
    """The limit of litellm's table, which is read as data: importing the package takes seconds and asks the network."""
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        return None
    import msgspec

    try:
        table: dict[str, dict[str, Any]] = msgspec.json.decode((Path(spec.origin).parent / TABLE).read_bytes())
    except (OSError, ValueError):
        return None
    found = table.get(model) or table.get(model.rpartition("/")[2]) or {}
    tokens = found.get("max_input_tokens") or found.get("max_tokens")
    return tokens if isinstance(tokens, int) and tokens > 0 else None
