"""Amounts as people type them: tokens as 128000, 128k or 1M, a share of the limit as 30%."""

from __future__ import annotations

import re

from ctxkit.errors import Usage
from ctxkit.settings.keys import amount, percent


def tokens(option: str, text: str | None, other: str = "") -> int | None:
    """The number of tokens in an option, None without it. `other`: its other values, for the hint. Raises Usage."""
    found = None if text is None else amount(text)
    if isinstance(found, str):
        raise Usage(f"{option} {found!r} is not a number of tokens", f"128000, 128k, 1M{f', {other}' if other else ''}")
    if found is not None and found < 0:
        raise Usage(f"{option} {found:,}: it is at least 0")
    return found


def room(option: str, text: str | None, other: str = "") -> int | str | None:
    """The number of tokens in an option, or a percentage of the limit as it was typed. Raises Usage."""
    if text is None or percent(text) is None:
        return tokens(option, text, f"30% (of the limit){f', {other}' if other else ''}")
    return text


def share_or_tokens(option: str, text: str | None) -> tuple[str | None, int | None]:
    """A percentage as it was typed (30%, 30), or a number of tokens (40k; any number above 100). Raises Usage."""
    if text is None or re.fullmatch(r"\d{1,2}(\.\d+)?|100|.*%", text.strip(), re.ASCII):
        return text, None
    if isinstance(amount(text), str):
        raise Usage(f"{option} {text!r} is neither a percentage nor a number of tokens", "30%, or 40k")
    return None, tokens(option, text)


def rows(text: str) -> int:
    """The number of rows in `--limit`: 20, or 1k. Raises Usage."""
    found = amount(text)
    if isinstance(found, str):
        raise Usage(f"--limit {found!r} is not a number", "20, or 1k")
    if found < 1:
        raise Usage(f"--limit {found}: it is at least 1")
    return found
