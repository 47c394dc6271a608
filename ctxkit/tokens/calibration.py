"""Calibration: what a session's own usage says of the counter, so that what follows is counted better.

Each recorded request gives the true size of the context at that point; the difference to the next one is what the
messages between them came to. Pure. Figures in, figures out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

STEPS = 60
"""The newest steps that count: models, tools and languages change within a session."""
PRIOR = 3000
"""Tokens of the base that the family's factor weighs: fewer than a few steps have, more than one."""
LEAST, MOST = 0.5, 2.5
"""How far a session may be from its family's factor; beyond, something else was counted."""
PARTIAL = 0.4
"""A reply recorded below this share of what its words come to was written while it streamed."""


class CountedRequest(NamedTuple):
    """A request that a provider counted. `request`, `reply`: its tokens (`core/derive/usage.py`).

    By the counter's base: `own`, the reply as the log has it; `since`: what came between it and the next step, or the
    end. `left`: of the replies, reasoning that was gone again before the next step. `beside`: of `since`, results that
    stand in the reply itself.
    """

    request: int
    reply: int
    own: int
    since: int
    left: int = 0
    beside: int = 0


class Calibration(NamedTuple):
    """`inwards`: tokens to one of the base, of what is not the model's; `outwards`: of its replies, hidden thinking
    included. `error`: of the size of a context that was predicted one request ahead, the median of these steps; None
    where there are fewer than two.
    """

    inwards: float
    outwards: float
    error: float | None = None

    def whole(self, step: CountedRequest) -> bool:
        """Whether the reply was counted as it is, not while it was still written."""
        return step.reply >= PARTIAL * step.own * self.inwards

    def after(self, step: CountedRequest) -> float:
        """Tokens of the context right after a reply."""
        return step.request + (step.reply if self.whole(step) else step.own * self.outwards)

    def next(self, step: CountedRequest) -> float:
        """Tokens of the request that follows a step."""
        return self.after(step) - step.left + step.since * self.inwards


def calibrate(runs: Sequence[Sequence[CountedRequest]], factor: float) -> Calibration:
    """What the newest STEPS of all runs say, oldest first; `factor` is that of the model's family.

    What lies between two runs, a compaction, teaches nothing.
    """
    taken = [pair for steps in runs for pair in pairwise(steps)][-STEPS:]
    true_in = true_out = PRIOR * factor
    base_in = base_out = float(PRIOR)
    for step, following in taken:
        grown = following.request - step.request + step.left
        if grown <= 0:
            continue  # something left the context
        if step.reply >= PARTIAL * step.own * factor:
            if 0 <= grown - step.reply <= MOST * factor * step.since + PRIOR:
                true_in, base_in = true_in + grown - step.reply, base_in + step.since
            true_out, base_out = true_out + step.reply, base_out + step.own
        elif grown <= MOST * factor * (step.own + step.since) + PRIOR:
            true_in, base_in = true_in + grown, base_in + step.own + step.since
            true_out, base_out = true_out + grown, base_out + step.own + step.since
    found = Calibration(_bound(true_in / base_in, factor), max(factor, true_out / base_out))
    errors = sorted(
        abs(found.next(step) - following.request) / following.request
        for step, following in taken
        if following.request > step.request
    )
    return found._replace(error=errors[len(errors) // 2]) if errors else found


def _bound(found: float, factor: float) -> float:
    return min(max(found, LEAST * factor), MOST * factor)
