"""What the next request of a session costs: its tokens, how many the provider has in its cache, the list price.

`measure/size.py` counts the context. The time of its newest message says whether the cache has expired.
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
"""Seconds that a prompt stays in a cache: Anthropic's five minutes, or the hour that a request can ask for. No provider
keeps a prompt longer than a day."""


class NextRequest(msgspec.Struct, frozen=True):
    """The cost of the next request.

    `tokens`: of the context, by `counter`; `cached`: how many of these the provider has cached, None if unknown;
    `idle`: seconds since the newest message, None without a time; `lives`: seconds that the cache is kept, None if
    unknown; `dollars`: list price of `tokens` for `model`, None if unknown.
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
        """The cost in words, on one line."""
        cached = "it is not known how many are cached"
        if self.cached is not None:
            cached = f"{self.cached:,} of them cached" if self.cached else "none of them cached"
        since = "" if self.idle is None else f"; the newest message is {_spoken(self.idle)} old"
        return f"the next request sends {self.tokens:,} tokens ({self.counter}), {cached}{since}{self._cost}"

    @property
    def _cost(self) -> str:
        if self.dollars is None:
            return ""
        amount = "less than $0.01" if self.dollars < 0.01 else f"about ${self.dollars:.2f}"
        return f"; {amount} at the list price of {self.model}"


def next_request(log: OpenLog, *, own: bool, stays: bool) -> NextRequest:
    """Computes the cost of the next request with the context of `log`.

    `own`: the log's own program makes the request; else its model is unknown. `stays`: what the program puts before the
    messages is unchanged; else nothing is cached.
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
        rest = names if found.once else [] if change is None else names[change.place :]
        cached = max(0, found.resumed - round(sum(measuring.each(rest)) - measuring.bound(rest)))
    model = log.model if own else ""
    each = price(model, found.resumed) if model else None
    held = cached or 0
    dollars = None if each is None else held * each.cached + (found.resumed - held) * each.kept
    return NextRequest(found.resumed, found.counter, cached, idle, lives, dollars, model)


def _lives(log: OpenLog) -> float | None:
    """Seconds that the provider caches the newest request; None if unknown."""
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
    """An age in words: in days from two days on, without seconds from five minutes on."""
    whole = int(seconds)
    if whole >= 2 * LONGEST:
        return f"{whole // int(LONGEST):,} days"
    return spoken(whole - whole % 60 if whole >= SHORT else whole)
