"""Amounts as people type them: tokens as 128000, 128k or 1M, a share of the limit as 30%."""

from __future__ import annotations

from ctxkit.errors import Usage
from ctxkit.store.keys import amount, percent


def tokens(option: str, text: str | None, other: str = "") -> int | None:
    """How many tokens an option names; None where it was not given. `other`: what it takes too. Raises Usage."""
    found = None if text is None else amount(text)
    if isinstance(found, str):
        raise Usage(f"{option} {found!r} is not a number of tokens", f"128000, 128k, 1M{f', {other}' if other else ''}")
    if found is not None and found < 0:
        raise Usage(f"{option} {found:,}: it is at least 0")
    return found


def room(option: str, text: str | None, other: str = "") -> int | str | None:
    """The same where a percentage of the limit is taken, too: that stays as it was typed. Raises Usage."""
    if text is None or percent(text) is None:
        return tokens(option, text, f"30% (of the limit){f', {other}' if other else ''}")
    return text
