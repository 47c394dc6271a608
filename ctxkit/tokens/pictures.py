"""Pictures: how many tokens each provider counts for one, by its size and detail. One table, with sources.

`measure/count.py` counts pictures by it. What has no size (a URL, damaged data), or is for a model that is not in the
table, is UNKNOWN tokens.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from math import ceil, floor, inf, sqrt
from typing import Any, NamedTuple

from ctxkit.core.derive.image_size import Size, size_of_base64
from ctxkit.core.messages import Image
from ctxkit.tokens.models import bare

UNKNOWN = 1500
"""Tokens of a picture where no rule is known: about a megapixel with each provider."""
TILE, SQUARE, SHORT = 512, 2048, 768
"""OpenAI's tiles, in pixels: the side of one, the square that the picture is made to fit, then its shorter side."""
PATCH, LOW_SIDE = 32, 512
"""OpenAI's patches, in pixels: the side of one, the square of detail `low`."""
CLAUDE_PATCH = 28
GEMINI_TILE, GEMINI_SMALL, GEMINI_SHARE = 258, 384, 1.5
"""Gemini before 3: tokens of a tile; a picture of that many pixels is one; else a tile is the shorter side / 1.5."""
GEMINI_LEVELS = {"low": 280, "medium": 560, "high": 1120, "ultra_high": 2240}
"""Gemini 3 and newer: tokens of each resolution, whatever the size."""


class PictureRule(NamedTuple):
    """How a provider counts a picture.

    `kind`: tiles, patches, claude, gemini or levels. Tiles: `base` tokens, and `each` per tile. Patches: `most` of
    them and `side` pixels with detail high, `original` the same pair with detail original; `auto` is one of the two;
    `each` tokens per patch. Claude: `most` tokens, `side` pixels.
    """

    name: str
    kind: str
    base: int = 0
    each: float = 1.0
    most: float = inf
    side: float = inf
    original: tuple[float, float] | None = None
    auto: str = "high"


def _patches(name: str, each: float = 1.0) -> PictureRule:
    return PictureRule(name, "patches", each=each, most=1536, side=2048)


_FULL = (10_000.0, 6_000.0)
_GPT_5_4 = PictureRule("gpt-5.4", "patches", most=2_500, side=2_048, original=_FULL)
_CLAUDE = PictureRule("claude", "claude", most=1_568, side=1_568)
NONE = PictureRule("none", "unknown")
# Read in November 2026: platform.openai.com/docs/guides/images-vision (tiles, patches, detail by model),
# platform.claude.com/docs/en/build-with-claude/vision (patches of 28 pixels, two tiers: before, width x height / 750),
# ai.google.dev/gemini-api/docs/tokens and /media-resolution. OpenAI names no factor of the larger models since GPT-5.2.
RULES = (
    (r"claude-(opus|sonnet|haiku|fable|mythos)-([5-9]|preview|4-[7-9])|claude-[5-9]",
     _CLAUDE._replace(name="claude-high", most=4_784, side=2_576)),
    (r"claude|^(opus|sonnet|haiku)$", _CLAUDE),
    (r"gpt-4-1-mini|gpt-5(-[1-9])?-mini", _patches("mini", 1.62)),
    (r"gpt-4-1-nano|gpt-5(-[1-9])?-nano", _patches("nano", 2.46)),
    (r"o4-mini", _patches("o4-mini", 1.72)),
    (r"gpt-4o-mini", PictureRule("gpt-4o-mini", "tiles", 2_833, 5_667)),
    (r"gpt-4|chatgpt-4o", PictureRule("gpt-4o", "tiles", 85, 170)),
    (r"o[13](-|$)", PictureRule("o-series", "tiles", 75, 150)),
    (r"gpt-5-[23]|codex", _patches("gpt-5.2")),
    (r"gpt-5-4", _GPT_5_4),
    (r"gpt-5-5", _GPT_5_4._replace(name="gpt-5.5", auto="original")),
    (r"gpt-(5-[6-9]|[6-9])", _GPT_5_4._replace(name="gpt-5.6", original=(inf, inf), auto="original")),
    (r"gpt-5", PictureRule("gpt-5", "tiles", 70, 140)),
    (r"gemini-(1|2)", PictureRule("gemini-2", "gemini")),
    (r"gemini", PictureRule("gemini-3", "levels")),
)  # fmt: skip
"""Pattern of names, as `tokens/models.py` has them, and rule; the first match is taken."""


def picture_rule(model: str) -> PictureRule:
    """The rule of a model, by its name; NONE for others."""
    name = bare(model)
    return next((rule for pattern, rule in RULES if re.search(rf"(?:^|[^a-z0-9])(?:{pattern})", name)), NONE)


def picture_tokens(image: Image, rule: PictureRule) -> int:
    """Tokens of a picture by the rule of its model."""
    if rule is NONE:
        return UNKNOWN
    return tokens_of(rule, size_of_base64(image.data) if image.data else None, detail_of(image.raw))


def detail_of(raw: Any) -> str:
    """What a request says of the detail or resolution of a picture: low, medium, high, ultra_high, original, auto."""
    if not isinstance(raw, dict):
        return "auto"
    resolution = raw.get("mediaResolution") or raw.get("media_resolution")
    said = [held.get("detail") for held in (raw, raw.get("image_url")) if isinstance(held, dict)]
    said += [resolution.get("level")] if isinstance(resolution, dict) else []
    found = next((one for one in said if isinstance(one, str)), "auto")
    return found.lower().removeprefix("media_resolution_")


def tokens_of(rule: PictureRule, size: Size | None, detail: str = "auto") -> int:
    """Tokens of a picture of that size in pixels; None if it is unknown."""
    if rule.kind == "tiles" and detail == "low":
        return rule.base
    if rule.kind == "levels":
        return GEMINI_LEVELS.get(detail, GEMINI_LEVELS["high"])
    if size is None or rule.kind == "unknown":
        return UNKNOWN
    width, height = size
    if rule.kind == "tiles":
        return _tiles(rule, width, height)
    if rule.kind == "claude":
        return _claude(rule, width, height)
    if rule.kind == "gemini":
        return _gemini(width, height)
    return ceil(_patched(rule, width, height, detail) * rule.each)


def _tiles(rule: PictureRule, width: float, height: float) -> int:
    for most, side in ((SQUARE, max(width, height)), (SHORT, min(width, height) * min(1, SQUARE / max(width, height)))):
        share = min(1.0, most / side)
        width, height = width * share, height * share
    return rule.base + round(rule.each) * ceil(round(width, 6) / TILE) * ceil(round(height, 6) / TILE)


def _patched(rule: PictureRule, width: float, height: float, detail: str) -> int:
    if detail == "low":
        share = LOW_SIDE / max(width, height)
        return ceil(round(width * share, 6) / PATCH) * ceil(round(height * share, 6) / PATCH)
    asked = rule.auto if detail == "auto" else detail
    most, side = rule.original if asked == "original" and rule.original is not None else (rule.most, rule.side)
    share = min(1.0, side / max(width, height))
    width, height = width * share, height * share
    if ceil(width / PATCH) * ceil(height / PATCH) > most:
        share = sqrt(PATCH * PATCH * most / (width * height))
        across, down = width * share / PATCH, height * share / PATCH
        share *= min(floor(across) / across, floor(down) / down) if min(across, down) >= 1 else 1.0
        width, height = width * share, height * share
    return ceil(round(width, 6) / PATCH) * ceil(round(height, 6) / PATCH)


def _claude(rule: PictureRule, width: int, height: int) -> int:
    """Patches of the largest picture of this shape that is within both limits."""
    long, short = max(width, height), min(width, height)

    def patches(side: int) -> int:
        return ceil(side / CLAUDE_PATCH) * ceil(max(1, round(short * side / long)) / CLAUDE_PATCH)

    fits = range(1, min(long, floor(rule.side)) + 1)
    return patches(max(1, bisect_right(fits, rule.most, key=patches)))


def _gemini(width: int, height: int) -> int:
    if max(width, height) <= GEMINI_SMALL:
        return GEMINI_TILE
    side = max(1, floor(min(width, height) / GEMINI_SHARE))
    return GEMINI_TILE * ceil(width / side) * ceil(height / side)
