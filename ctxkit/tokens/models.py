"""Models: which tokenizer a model has, how far it is from one that is public, and how many tokens the model takes.

Only names are read, no network and no package but litellm's table, as data, where it is installed. Limits are of
tokens that a request may have, the reply's among them where the provider counts them together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

TABLE = "model_prices_and_context_window_backup.json"
"""litellm's table, in its package."""
LARGEST = 64 << 20
"""Bytes of it, beyond which it is something else."""
DEAR = 200_000
"""Tokens beyond which some models cost more, as the table has it."""


class Model(NamedTuple):
    """What is known of the models whose names have `pattern` in them, where a word begins: small, with - for dots.

    `family`: its name beside a figure. `base`: the encoding that is counted by; `factor`: how many of its tokens one of
    these comes to, 1.0 where it is the model's own. `limit`: in tokens, None where they differ.
    """

    pattern: str
    family: str
    base: str
    factor: float
    limit: int | None


# Factors: Claude's are measured on recorded sessions, and raised until stretches of 10,000 tokens are hardly ever told
# too low, since that is what hurts; DeepSeek's likewise. The others' are published comparisons of vocabularies, rounded
# up. Limits: what the maker's own service took in November 2026; hosts differ. docs/tokens.md has figures and sources.
MODELS = (
    Model(r"claude-(instant|v?1\b|v?2(?![.:]1))", "claude", "o200k_base", 1.3, 100_000),
    Model(
        r"claude-(opus|sonnet|haiku|fable|mythos)-(5|preview)|^(opus|sonnet|haiku|fable|mythos)(plan)?$",
        "claude-5",
        "o200k_base",
        1.7,
        1_000_000,
    ),
    Model(r"claude-5", "claude-5", "o200k_base", 1.7, 1_000_000),
    Model(r"claude-opus-4-[78]", "claude-opus-4-7", "o200k_base", 1.7, 1_000_000),
    Model(r"claude-(opus|sonnet)-4-6", "claude", "o200k_base", 1.3, 1_000_000),
    Model(r"claude", "claude", "o200k_base", 1.3, 200_000),
    Model(r"gpt-5(-[1-9])?-chat", "gpt-5", "o200k_base", 1.0, 128_000),
    Model(r"gpt-5-[4-9](?!-(mini|nano))", "gpt-5", "o200k_base", 1.0, 922_000),
    Model(r"codex-mini", "codex-mini", "o200k_base", 1.0, 200_000),
    Model(r"gpt-5|codex", "gpt-5", "o200k_base", 1.0, 272_000),
    Model(r"gpt-4-1(?!\d)", "gpt-4.1", "o200k_base", 1.0, 1_047_576),
    Model(r"gpt-4o|chatgpt-4o|gpt-4-5", "gpt-4o", "o200k_base", 1.0, 128_000),
    Model(r"gpt-oss", "gpt-oss", "o200k_base", 1.0, 131_072),
    Model(r"o1-(mini|preview)", "o-series", "o200k_base", 1.0, 128_000),
    Model(r"o[134](-|$)", "o-series", "o200k_base", 1.0, 200_000),
    Model(r"gpt-4-(turbo|1106|0125|vision)", "gpt-4-turbo", "cl100k_base", 1.0, 128_000),
    Model(r"gpt-4-32k", "gpt-4", "cl100k_base", 1.0, 32_768),
    Model(r"gpt-4", "gpt-4", "cl100k_base", 1.0, 8_192),
    Model(r"gpt-3-?5-turbo-instruct", "gpt-3.5", "cl100k_base", 1.0, 4_096),
    Model(r"gpt-3-?5", "gpt-3.5", "cl100k_base", 1.0, 16_385),
    Model(r"text-embedding", "text-embedding", "cl100k_base", 1.0, 8_191),
    Model(r"gemini-1-5-pro", "gemini", "o200k_base", 1.15, 2_097_152),
    Model(r"gemini", "gemini", "o200k_base", 1.15, 1_048_576),
    Model(r"deepseek-(v[4-9]|flash|pro)", "deepseek", "o200k_base", 1.2, 1_000_000),
    Model(r"deepseek", "deepseek", "o200k_base", 1.2, 128_000),
    Model(r"qwen-?3-?[5-9]?-?(coder-)?(plus|flash)|qwen-?3-[78]-max", "qwen", "cl100k_base", 1.1, 991_808),
    Model(r"qwen-?3-([5-9]|max|next|vl|coder)", "qwen", "cl100k_base", 1.1, 262_144),
    Model(r"qwen|qwq", "qwen", "cl100k_base", 1.1, 131_072),
    Model(r"(meta-)?llama-?4", "llama", "cl100k_base", 1.1, 1_000_000),
    Model(r"(meta-)?llama-?3(?!-?[1-9](?!\d*b))", "llama", "cl100k_base", 1.1, 8_192),
    Model(r"(meta-)?llama-?3", "llama", "cl100k_base", 1.1, 131_072),
    Model(r"mistral-(7b|tiny)|(open-)?mixtral-8x7b", "mistral", "o200k_base", 1.3, 32_768),
    Model(r"(open-)?mixtral", "mistral", "o200k_base", 1.3, 65_536),
    Model(r"mistral-large-4", "mistral", "o200k_base", 1.3, 1_048_576),
    Model(r"mistral-(large|medium)-(3|25|26)|mistral-small-26|devstral", "mistral", "o200k_base", 1.3, 256_000),
    Model(r"mistral|ministral|codestral|magistral|open-mistral", "mistral", "o200k_base", 1.3, 128_000),
    Model(r"kimi-k[3-9]", "kimi", "o200k_base", 1.15, 1_048_576),
    Model(r"kimi-k2(-instruct|-0711|$)", "kimi", "o200k_base", 1.15, 131_072),
    Model(r"kimi", "kimi", "o200k_base", 1.15, 262_144),
    Model(r"glm-5-[2-9]", "glm", "o200k_base", 1.15, 1_000_000),
    Model(r"glm-(4-[67]|5)", "glm", "o200k_base", 1.15, 200_000),
    Model(r"glm", "glm", "o200k_base", 1.15, 128_000),
    Model(r"grok-4-(1-)?fast|grok-4-(20|3)", "grok", "o200k_base", 1.15, 1_000_000),
    Model(r"grok-(4-[5-9]|build)", "grok", "o200k_base", 1.15, 500_000),
    Model(r"grok-(4|code)", "grok", "o200k_base", 1.15, 256_000),
    Model(r"grok", "grok", "o200k_base", 1.15, 131_072),
)
"""The first that matches counts."""
TYPICAL = {"claude": 1.22, "claude-5": 1.55, "claude-opus-4-7": 1.55}
"""By family: the factor as it was measured, where MODELS has a higher one, so that hardly anything is told too low."""
UNKNOWN = Model("", "unknown model", "o200k_base", 1.25, None)
"""Conservative: no tokenizer in use is much coarser."""
PROGRAMS = {"claude-code": ("Claude Code", 200_000)}
"""Format -> its program, and the window that this gives a model, unless a larger one is named."""
CAUTIOUS = 32_000
"""Tokens that a model takes of which nobody knows it: most take more."""
MILLION = 1_000_000
LARGE = "[1m]"
"""Behind a name of a Claude model: with a window of a million, as Claude Code writes it."""


def named(model: str) -> Model:
    """What is known of a model; UNKNOWN for other names, "" among them. `anthropic/claude-…` is `claude-…`."""
    name = bare(model)
    found = next((known for known in MODELS if re.search(rf"(?:^|[^a-z0-9])(?:{known.pattern})", name)), UNKNOWN)
    return found._replace(limit=MILLION) if model.lower().endswith(LARGE) and found is not UNKNOWN else found


def limit(model: str, program: str = "") -> int | None:
    """The model's limit in tokens, in the program of a format: ours, else litellm's; None where nobody knows it."""
    known = named(model)
    if known is UNKNOWN and model:
        return _litellm(model)
    if known.limit is None or program not in PROGRAMS or model.lower().endswith(LARGE):
        return known.limit
    return min(known.limit, PROGRAMS[program][1])


def room_of(model: str) -> int:
    """Tokens that a model which is to be asked takes, cautious where nobody knows it."""
    return limit(model) or CAUTIOUS


def windows(model: str) -> Sequence[int]:
    """The windows that hosts give a model, the smallest first."""
    known = named(model)
    if known.limit is None:
        return ()
    smaller = PROGRAMS["claude-code"][1]
    if known.family.startswith("claude") and known.limit >= smaller:
        return smaller, MILLION
    return (known.limit,)


def bare(model: str) -> str:
    """A name as makers write it, small, with - for each dot: without host, folder and region; Claude's kind first."""
    name = model.lower().removesuffix(LARGE).rpartition("/")[2].strip()
    name = re.sub(r"(?<=\d)p(?=\d)|[._ ]", "-", name)
    return re.sub(r"claude-([3-9](?:-\d)?)-(opus|sonnet|haiku)", r"claude-\2-\1", name)


class Price(NamedTuple):
    """Dollars for a token of a request: one that is new, one that the prompt cache has, one that is put into it."""

    new: float
    cached: float
    kept: float


class _Row(msgspec.Struct):
    """A model in litellm's table. `max_tokens` is older: the output's where that is told, else the input's."""

    max_input_tokens: Any = None
    max_output_tokens: Any = None
    max_tokens: Any = None
    input_cost_per_token: Any = None
    cache_read_input_token_cost: Any = None
    cache_creation_input_token_cost: Any = None
    input_cost_per_token_above_200k_tokens: Any = None
    cache_read_input_token_cost_above_200k_tokens: Any = None
    cache_creation_input_token_cost_above_200k_tokens: Any = None

    def price(self, tokens: int) -> Price | None:
        """What a token of a request of so many costs."""
        end = "_above_200k_tokens" if tokens > DEAR and self.input_cost_per_token_above_200k_tokens else ""
        names = ("input_cost_per_token", "cache_read_input_token_cost", "cache_creation_input_token_cost")
        new, cached, kept = (getattr(self, name + end) or getattr(self, name) for name in names)
        if not isinstance(new, float) or new <= 0:
            return None
        kept = (
            max(new, kept) if isinstance(kept, float) else new
        )  # Gemini's is for an hour of keeping, beside the input
        return Price(new, cached if isinstance(cached, float) else new, kept)

    @property
    def limit(self) -> int | None:
        tokens = self.max_input_tokens or (None if self.max_output_tokens else self.max_tokens)
        return int(tokens) if isinstance(tokens, (int, float)) and tokens > 0 else None


def price(model: str, tokens: int) -> Price | None:
    """List prices of the model in a request of so many tokens, by litellm's table; None where that is not installed,
    or does not have the name as it is.
    """
    table = _table()
    found = table.get(model) or table.get(model.lower()) or table.get(bare(model))
    return None if found is None else found.price(tokens)


def _table() -> dict[str, _Row]:
    """litellm's table, which is read as data: importing the package takes seconds and asks the network."""
    try:
        spec = find_spec("litellm")
        if spec is None or spec.origin is None:
            return {}
        path = Path(spec.origin).parent / TABLE
        if path.stat().st_size > LARGEST:
            return {}
        return msgspec.json.decode(path.read_bytes(), type=dict[str, _Row])
    except (OSError, ValueError, ImportError):
        return {}


def _litellm(model: str) -> int | None:
    """The limit of litellm's table: of the name as it is, else as others serve it, the smallest that any has."""
    table = _table()
    found = table.get(model) or table.get(model.lower())
    if found is not None:
        return found.limit
    name = _served(model)
    return min(
        (row.limit for key, row in table.items() if row.limit is not None and _served(key) == name), default=None
    )


def _served(name: str) -> str:
    """A name without who serves it, and where: `bedrock/us.amazon.nova-pro-v1:0` is `nova-pro-v1`."""
    last = name.lower().rpartition("/")[2].partition(":")[0]
    return re.sub(r"^(?:(?:us|eu|apac|global|us-gov)\.)?(?:[a-z]\w*\.(?=[a-z]))?|-latest$", "", last)
