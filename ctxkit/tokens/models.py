"""The table of models: by which encoding and factor a model's tokens are counted, and its limit of tokens.

A model is found by its name alone, without network. The only other source is litellm's table, read as data if litellm
is installed. A limit is that of a request; if the provider counts request and reply together, it includes the reply.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

TABLE = "model_prices_and_context_window_backup.json"
"""The file of litellm's table, in its package."""
LARGEST = 64 << 20
"""Bytes of the largest file that is read as this table."""
DEAR = 200_000
"""Tokens of a request beyond which some models cost more, by this table."""


class Model(NamedTuple):
    """What is known of models with names that `pattern` matches at the start of a word (lower case, with - for dots).

    `family`: the name printed beside a count; `base`: the encoding that counts; `factor`: tokens of the model per token
    of the base, 1.0 if the base is its own encoding; `limit`: in tokens, None if the models differ.
    """

    pattern: str
    family: str
    base: str
    factor: float
    limit: int | None


# Factors: those of Claude and DeepSeek are measured on recorded sessions, and raised until stretches of 10,000 tokens
# are hardly ever counted too low, the worse of the two errors. The others are published comparisons of vocabularies,
# rounded up. Limits: of the maker's own service in November 2026; hosts differ. docs/tokens.md has figures and sources.
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
"""The first match is taken."""
# A maker's next models, of which nothing is measured or published here: as its newest known ones.
NEWER = (
    Model(r"claude-(opus|sonnet|haiku|fable|mythos)-([6-9]|[12]\d)(?!\d)|claude-([6-9]|[12]\d)(?!\d)",
          "claude-6 or newer, as claude-5", "o200k_base", 1.7, 1_000_000),
    Model(r"gpt-([6-9]|[12]\d)(?![\da-z])", "gpt-6 or newer, as gpt-5", "o200k_base", 1.0, 922_000),
    Model(r"o[5-9](-|$)", "o5 or newer, as o4", "o200k_base", 1.0, 200_000),
    Model(r"qwen-?[4-9](?!\d)", "qwen4 or newer, as qwen3.6", "cl100k_base", 1.1, 262_144),
    Model(r"(meta-)?llama-?[5-9](?!\d)", "llama 5 or newer, as llama 4", "cl100k_base", 1.1, 1_000_000),
    Model(r"glm-[6-9](?!\d)", "glm-6 or newer, as glm-5.2", "o200k_base", 1.15, 1_000_000),
    Model(r"grok-[5-9](?!\d)", "grok-5 or newer, as grok-4.5", "o200k_base", 1.15, 500_000),
)  # fmt: skip
"""Before MODELS. What litellm's table says of the very name counts more than their limits. The `family` says that it
is none that was measured.
"""
TYPICAL = {"claude": 1.22, "claude-5": 1.55, "claude-opus-4-7": 1.55}
"""Family -> its measured factor, if MODELS has a raised one."""
UNKNOWN = Model("", "unknown model", "o200k_base", 1.25, None)
"""For other models. Conservative: no tokenizer in use is much coarser."""
PROGRAMS = {"claude-code": ("Claude Code", 200_000)}
"""Format -> its program, and the window in tokens that the program gives a model, unless LARGE is in the name."""
CAUTIOUS = 32_000
"""Limit in tokens of a model with an unknown limit: most models take more."""
MILLION = 1_000_000
LARGE = "[1m]"
"""What Claude Code writes behind the name of a model to give it a window of a million tokens."""


def named(model: str) -> Model:
    """Finds a model by its name; UNKNOWN for other names, and for "". `anthropic/claude-…` is `claude-…`."""
    name = bare(model)
    found = next(
        (known for known in (*NEWER, *MODELS) if re.search(rf"(?:^|[^a-z0-9])(?:{known.pattern})", name)), UNKNOWN
    )
    return found._replace(limit=MILLION) if model.lower().endswith(LARGE) and found is not UNKNOWN else found


def limit(model: str, program: str = "") -> int | None:
    """The limit of a model in tokens, by MODELS, else by litellm's table, else by NEWER; None if unknown.

    `program`: the format of a program, which may have a smaller limit.
    """
    known = named(model)
    if known is UNKNOWN and model:
        return _litellm(model)
    if known in NEWER and (listed := _litellm(model)) is not None:
        return listed
    if known.limit is None or program not in PROGRAMS or model.lower().endswith(LARGE):
        return known.limit
    return min(known.limit, PROGRAMS[program][1])


def room_of(model: str) -> int:
    """The limit in tokens for a request to a model: the known one, else CAUTIOUS."""
    return limit(model) or CAUTIOUS


def windows(model: str) -> Sequence[int]:
    """The windows in tokens that hosts give a model, the smallest first."""
    known = named(model)
    if known.limit is None:
        return ()
    smaller = PROGRAMS["claude-code"][1]
    if known.family.startswith("claude") and known.limit >= smaller:
        return smaller, MILLION
    return (known.limit,)


def bare(model: str) -> str:
    """Normalizes a name: lower case, - for dots, no host, folder or region, `claude-3-opus` as `claude-opus-3`."""
    name = model.lower().removesuffix(LARGE).rpartition("/")[2].strip()
    name = re.sub(r"(?<=\d)p(?=\d)|[._ ]", "-", name)
    return re.sub(r"claude-([3-9](?:-\d)?)-(opus|sonnet|haiku)", r"claude-\2-\1", name)


class Price(NamedTuple):
    """Dollars per token of a request. `new`: uncached; `cached`: read from the cache; `kept`: written to it."""

    new: float
    cached: float
    kept: float


class _Row(msgspec.Struct):
    """A model in litellm's table. `max_tokens`, an older key, is the input's limit if the row has no output limit."""

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
        """The price per token in a request of `tokens` tokens; None if the row has none."""
        end = "_above_200k_tokens" if tokens > DEAR and self.input_cost_per_token_above_200k_tokens else ""
        names = ("input_cost_per_token", "cache_read_input_token_cost", "cache_creation_input_token_cost")
        new, cached, kept = (getattr(self, name + end) or getattr(self, name) for name in names)
        if not isinstance(new, float) or new <= 0:
            return None
        # Gemini's price of writing is for an hour of storage, and comes on top of the input's: never below `new`
        kept = max(new, kept) if isinstance(kept, float) else new
        return Price(new, cached if isinstance(cached, float) else new, kept)

    @property
    def limit(self) -> int | None:
        tokens = self.max_input_tokens or (None if self.max_output_tokens else self.max_tokens)
        return int(tokens) if isinstance(tokens, (int, float)) and tokens > 0 else None


def price(model: str, tokens: int) -> Price | None:
    """The list price of a model in a request of `tokens` tokens, by litellm's table.

    None if litellm is not installed, or its table does not have the name.
    """
    table = _table()
    found = table.get(model) or table.get(model.lower()) or table.get(bare(model))
    return None if found is None else found.price(tokens)


def _table() -> dict[str, _Row]:
    """Reads litellm's table as data: importing the package takes seconds and uses the network."""
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
    """The limit of a model in litellm's table: of this very name, else the smallest of all hosts of the model."""
    table = _table()
    found = table.get(model) or table.get(model.lower())
    if found is not None:
        return found.limit
    name = _served(model)
    return min(
        (row.limit for key, row in table.items() if row.limit is not None and _served(key) == name), default=None
    )


def _served(name: str) -> str:
    """The name without host, region and version tag: `bedrock/us.amazon.nova-pro-v1:0` is `nova-pro-v1`."""
    last = name.lower().rpartition("/")[2].partition(":")[0]
    return re.sub(r"^(?:(?:us|eu|apac|global|us-gov)\.)?(?:[a-z]\w*\.(?=[a-z]))?|-latest$", "", last)
