"""truncate: a line in the place of the oldest messages."""

from __future__ import annotations

from tests.test_condensing import condensing, opened
from tests.test_trimming import run

from ctxkit.core.names import Names
from ctxkit.strategies.truncate import STRATEGY


def test_the_oldest_go() -> None:
    """As many as it takes, and no more; the line is made again for the others."""
    log = opened(run())
    made = condensing(log, percent=50).condensed()
    last = made.replaced.numbers.last()
    assert made.op.text == f"[messages 3-{last} left out]" and 0.4 * made.before < made.after <= 0.5 * made.before
    assert STRATEGY.again(log, made.op, Names.parse("5-6"), Names()) == "[messages 5-6 left out]"
