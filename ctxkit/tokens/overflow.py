"""What providers say when a request is too large: how many tokens it had, and how many they take."""

from __future__ import annotations

import re
from typing import NamedTuple

_N = r"(\d[\d,_.]*)"
PATTERNS = (
    rf"prompt is too long: (?P<sent>{_N}) tokens > (?P<limit>{_N})",  # Anthropic
    rf"maximum context length is (?P<limit>{_N}) tokens\W.*?(?:requested|resulted in|contains?) (?P<sent>{_N})",
    rf"maximum context length is (?P<limit>{_N}) tokens",  # OpenAI, and those that speak its protocol
    # Gemini
    rf"input token count \(?(?P<sent>{_N})\)? exceeds the maximum number of tokens allowed \(?(?P<limit>{_N})",
    rf"input length and `max_tokens` exceed context limit: (?P<sent>{_N}) \+ {_N} > (?P<limit>{_N})",
    rf"(?P<sent>{_N}) tokens? (?:exceeds?|>) .{{0,60}}?(?P<limit>{_N})",
)
UNTOLD = r"context_length_exceeded|exceeds? the context window|input is too long|prompt is too long"
"""A refusal without figures."""


class Overflow(NamedTuple):
    """A refusal. `sent`: tokens of the request, None where it does not say; `limit`, `reply` (asked for) likewise."""

    sent: int | None
    limit: int | None
    reply: int | None = None


def overflow(text: str) -> Overflow | None:
    """What a provider's words say; None where they speak of no request that is too large."""
    flat = " ".join(text.split())
    for pattern in PATTERNS:
        found = re.search(pattern, flat, re.I)
        if found is not None:
            told = found.groupdict()
            return Overflow(_number(told.get("sent")), _number(told.get("limit")))
    return Overflow(None, None) if re.search(UNTOLD, flat, re.I) else None


def _number(text: str | None) -> int | None:
    return int(re.sub(r"\D", "", text)) if text else None
