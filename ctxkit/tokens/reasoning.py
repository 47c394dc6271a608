"""What each model's provider does with reasoning (thinking) that is sent back to it: the one table of it.

A model is found by its name alone. `content/thinking.py` chooses by this table what of a context's thinking is sent,
`measure/` what of it counts; `docs/formats.md` shows it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from ctxkit.tokens.models import bare

Need = Literal["demanded", "wanted", "taken", ""]
Version = tuple[int, int]

DETAILS = "reasoning_details"
CHAT_FIELDS = ("reasoning_content", "reasoning", DETAILS, "thinking_blocks")
"""Keys of a chat completion's message that hold reasoning: text, text, and lists of blocks: OpenRouter's, litellm's."""
CHUNK = "content"
"""The field of a provider that has reasoning as a part of the content: Mistral's `thinking`."""


class ReasoningRule(NamedTuple):
    """What a provider does with the reasoning of models whose names `pattern` matches at the start of a word (lower
    case, with - for dots). Groups 1 and 2 of it are the version: of `since` or later, as is a name without a version.

    `whose`: the models in words. `fields`: where a chat completion's message holds it; none: nowhere. `need`: without
    it a request is refused ("demanded"), or answered worse as the provider says ("wanted"), or just as well ("taken");
    "" where there is no field. `bound`: what happens to reasoning behind a changed prefix: the request is "refused",
    the reasoning is "dropped" unseen, or "": nothing is published. `turn`: only reasoning since the last message of a
    person counts. `source`: the address of the page that says so, read in November 2026.
    """

    pattern: str
    since: Version
    whose: str
    fields: tuple[str, ...] = ()
    need: Need = ""
    bound: Literal["refused", "dropped", ""] = ""
    turn: bool = False
    source: str = ""

    @property
    def signs_calls(self) -> bool:
        """Whether the models sign their calls instead, as Gemini does."""
        return bool(self.need) and not self.fields


_VERSION = r"-?(\d{1,2})(?:-(\d{1,2})(?!\d))?(?!\d)"
_PRESERVED = "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking"
_PREFIX = "https://developers.openai.com/api/docs/guides/keep-prefix-unchanged"
_TURNS = "https://openrouter.ai/docs/client-sdks/typescript/models/reasoningcontext"
_SIGNATURES = "https://ai.google.dev/gemini-api/docs/thought-signatures"
_DEEPSEEK = "https://api-docs.deepseek.com/guides/thinking_mode"
_TEXT, _BLOCKS = CHAT_FIELDS[:1], (DETAILS,)

UNSIGNED = ReasoningRule("gemini", (0, 0), "older Gemini", need="taken", source=_SIGNATURES)
"""Gemini before it refused calls without a signature."""
# Anthropic: the pages name Fable 5.1 and 5.2, Mythos 5.1 and 5.2, Opus, Sonnet and Haiku 5.5, and say "starting with
# Claude Fable 5.1". We assume that later versions of a family bind too, and that a bare `opus` is its newest.
RULES = (
    ReasoningRule(
        rf"claude-(?:fable|mythos){_VERSION}|^(?:fable|mythos)(?:plan)?$", (5, 1),
        "Claude Fable and Mythos from 5.1 on", bound="refused", source=_PRESERVED,
    ),
    ReasoningRule(
        rf"claude-(?:opus|sonnet|haiku){_VERSION}|^(?:opus|sonnet|haiku)(?:plan)?$", (5, 5),
        "Claude Opus, Sonnet and Haiku from 5.5 on", bound="refused", source=_PRESERVED,
    ),
    ReasoningRule("claude", (0, 0), "older Claude", source=_PRESERVED),
    ReasoningRule(rf"gpt(?!-?35){_VERSION}", (6, 2), "GPT from 6.2 on", bound="dropped", source=_PREFIX),
    ReasoningRule(rf"gpt(?!-?35){_VERSION}", (5, 6), "GPT 5.6 to 6.1", source=_TURNS),
    ReasoningRule(r"gpt-?\d|chatgpt|codex|o[134](?![a-z0-9])", (0, 0), "older GPT, o1 to o4", turn=True, source=_TURNS),
    ReasoningRule(rf"gemini(?:{_VERSION})?", (3, 0), "Gemini from 3 on", need="demanded", source=_SIGNATURES),
    UNSIGNED,
    ReasoningRule(
        rf"deepseek-(?:v{_VERSION}|chat|reasoner|flash|pro)", (3, 2), "DeepSeek from V3.2 on", _TEXT, "demanded",
        source=_DEEPSEEK,
    ),
    ReasoningRule(
        "deepseek", (0, 0), "older DeepSeek, such as R1", source="https://api-docs.deepseek.com/guides/reasoning_model"
    ),
    ReasoningRule(
        r"(?:kimi-)?k(?:2-(?:thinking|[5-9])|[3-9](?!\d))|kimi-for-coding", (0, 0),
        "Kimi K2 Thinking, K2.5 and later", _TEXT, "demanded",
        source="https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model",
    ),
    ReasoningRule(
        "mimo", (0, 0), "Xiaomi MiMo", _TEXT, "demanded",
        source="https://platform.xiaomimimo.com/docs/en-US/usage-guide/passing-back-reasoning_content",
    ),
    ReasoningRule(
        rf"glm{_VERSION}", (4, 5), "GLM from 4.5 on", _TEXT, "wanted",
        source="https://docs.z.ai/guides/capabilities/thinking-mode",
    ),
    ReasoningRule(
        rf"minimax-m{_VERSION}", (2, 0), "MiniMax from M2 on", _BLOCKS, "wanted",
        source="https://platform.minimax.io/docs/api-reference/text-openai-api",
    ),
    ReasoningRule(
        "qwen|qwq", (0, 0), "Qwen", _TEXT, "taken", source="https://www.alibabacloud.com/help/en/model-studio/deep-thinking"
    ),
    ReasoningRule(
        "mistral|magistral|ministral|devstral", (0, 0), "Mistral", (CHUNK,), "taken",
        source="https://docs.mistral.ai/inference/conversations/reasoning",
    ),
    ReasoningRule(
        "grok", (0, 0), "Grok", source="https://docs.x.ai/developers/model-capabilities/text/best-practices"
    ),
)  # fmt: skip
"""The first match is taken."""
UNKNOWN = ReasoningRule("", (0, 0), "any other model", CHAT_FIELDS, "taken")
"""A model of which nothing is known: it gets what the log's own provider wrote, under its own keys."""
GATEWAY = ReasoningRule(
    r"[^/]+/", (0, 0), "`vendor/model`, as OpenRouter and litellm name them", CHAT_FIELDS[1:], "wanted",
    source="https://openrouter.ai/docs/use-cases/reasoning-tokens",
)  # fmt: skip
"""Beside the model's own rule: a gateway takes back what it wrote."""
# Source: the vendor's pages on preserved thinking: "Fable 5.1 reads blocks from Claude Opus 5 and, on the Claude API,
# from Claude Opus 5.5; neither reads blocks from Claude Fable 5.1." For other pairs nothing is published: a model reads
# its own.
READS = {("fable", (5, 1)): {("opus", (5, 0)), ("opus", (5, 5))}}
"""Model -> the other models that wrote thinking which it reads."""
_NAME = re.compile(rf"(?:^|[^a-z0-9])claude-(fable|mythos|opus|sonnet|haiku){_VERSION}")
_DATE = re.compile(r"-20\d\d-?\d\d-?\d\d$")


@lru_cache
def rule(model: str) -> ReasoningRule:
    """Finds the rule of a model by its name; UNKNOWN for other names, and for ""."""
    name = bare(model)
    for one in RULES:
        found = re.search(rf"(?:^|[^a-z0-9])(?:{one.pattern})", name)
        if found is not None and (not found.re.groups or _version(found) >= one.since):
            return one
    return UNKNOWN


def binds(model: str) -> bool:
    """Whether the model's provider takes no thinking behind a changed prefix."""
    return bool(rule(model).bound)


def has_gateway_name(model: str) -> bool:
    """Whether it is a model's name with a vendor before it."""
    return re.match(GATEWAY.pattern, model) is not None


def reads(model: str, other: str) -> bool:
    """Whether `model` is known to read the thinking of `other`; it reads its own, under any of its names."""
    one, two = _NAME.search(bare(model)), _NAME.search(bare(other))
    if one is None or two is None:
        return _DATE.sub("", bare(model)) == _DATE.sub("", bare(other))
    first, second = ((found[1], (int(found[2]), int(found[3] or 0))) for found in (one, two))
    return first == second or second in READS.get(first, ())


def _version(found: re.Match[str]) -> Version:
    """The version in a name; the highest for a name without one, which is that of the newest."""
    major, minor = found[1], found[2]
    return (99, 0) if major is None else (int(major), int(minor or 0))
