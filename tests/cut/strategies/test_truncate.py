"""truncate: a line in the place of the oldest messages."""

from __future__ import annotations

from ctxkit.core.item_names import Names
from ctxkit.cut.strategies.truncate import STRATEGY
from tests.cut.test_compact_plan import condensing, opened
from tests.cut.test_trim import run


def test_the_oldest_go() -> None:
    """As many as it takes, and no more; the line is made again for the others."""
    log = opened(run())
    made = condensing(log, percent=50).carry_out()
    last = made.replaced.numbers.last()
    assert made.op.text == f"[messages 3-{last} left out]" and 0.4 * made.before < made.after <= 0.5 * made.before
    assert STRATEGY.resummarize(log, made.op, Names.parse("5-6"), Names()).text == "[messages 5-6 left out]"
