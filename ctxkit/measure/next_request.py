"""What the next request of a session costs: its tokens, what of them the provider has in its cache, list price.

Pipeline: a context -> `measure/size.py` counts it; the time of its newest message says whether a cache lives.
"""

from __future__ import annotations

import msgspec

from ctxkit.content.thinking import first_change
from ctxkit.core.times import spoken
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.size import Measuring
from ctxkit.tokens.models import price

SHORT, LONG, LONGEST = 300.0, 3600.0, 86400.0
"""Seconds that a prompt is kept in a cache: Anthropic's five minutes, or its hour where that is asked for; no provider
keeps one longer than a day."""


class NextRequest(msgspec.Struct, frozen=True):
    """`tokens`: of the context, by `counter`; `cached`: how many of them the provider has kept from the last request,
    None where nobody knows; `idle`: seconds since the newest message, None without a time; `lives`: seconds that the
    cache is kept, None where nobody knows. `dollars`: list price of `tokens` for `model`, None where it is unknown.
    """

    tokens: int
    counter: str
    cached: int | None
    idle: float | None
    lives: float | None
    dollars: float | None
    model: str

    @property
    def said(self) -> str:
        """The same in words."""
        cached = "nobody knows how many cached"
        if self.cached is not None:
            cached = f"{self.cached:,} cached" if self.cached else "none cached"
        since = "" if self.idle is None else f"; the newest message is {_spoken(self.idle)} old"
        return f"next request: {self.tokens:,} tokens ({self.counter}), {cached}{since}{self._cost}"

    @property
    def _cost(self) -> str:
        if self.dollars is None:
            return ""
        amount = "less than $0.01" if self.dollars < 0.01 else f"about ${self.dollars:.2f}"
        return f"; {amount} at the list price of {self.model}"


def next_request(log: OpenLog, *, own: bool, stays: bool) -> NextRequest:
    """The next request of the context of `log`. `own`: its own program makes it; else nobody knows which model is
    asked. `stays`: what that program puts before the messages is what it was; else nothing is cached.
    """
    measuring, names = Measuring(Counting(log)), log.listed()
    found = measuring.of(names)
    last = log.state().last
    idle = None if last is None else max(0.0, log.clock() - last)
    lives = _lives(log) if stays else None
    cached: int | None = None
    if not stays or idle is None or idle > (lives or LONGEST):
        cached = 0
    elif lives is not None:
        change = first_change(log)
        behind = 0 if change is None else round(sum(measuring.each(names[change.place :])))
        cached = max(0, found.tokens - behind)
    model = log.model if own else ""
    each = price(model, found.tokens) if model else None
    held = cached or 0
    dollars = None if each is None else held * each.cached + (found.tokens - held) * each.kept
    return NextRequest(found.tokens, found.counter, cached, idle, lives, dollars, model)


def _lives(log: OpenLog) -> float | None:
    """Seconds that the provider keeps the newest request; None where nobody knows."""
    if log.opening.format.name != "claude-code":
        return None
    newest = next((n for n in reversed(log.own()) if log.messages[n - 1].role == "assistant"), None)
    for row in log.content(newest).rows if newest is not None else ():
        message = row.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        made = usage.get("cache_creation") if isinstance(usage, dict) else None
        if isinstance(made, dict) and made.get("ephemeral_1h_input_tokens"):
            return LONG
    return SHORT


def _spoken(seconds: float) -> str:
    """How old something is: in days from two on, without seconds from five minutes on."""
    whole = int(seconds)
    if whole >= 2 * LONGEST:
        return f"{whole // int(LONGEST):,} days"
    return spoken(whole - whole % 60 if whole >= SHORT else whole)
