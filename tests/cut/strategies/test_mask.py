"""mask: a line in the place of results; messages stay, and there is no summary."""

from __future__ import annotations

from ctxkit.core.item_names import Names
from ctxkit.cut.strategies.mask import STRATEGY
from tests.cut.test_compact_plan import condensing, opened
from tests.cut.test_trim import run


def test_no_message_goes() -> None:
    """The same messages, shorter; nothing is made again, as nothing is told."""
    log = opened(run())
    made = condensing(log, strategy="mask", percent=10).carry_out()
    assert made.op.ids == "" and made.op.text is None and made.seen.names() == log.names()
    assert not STRATEGY.summarizes and STRATEGY.resummarize(log, made.op, made.replaced, Names()) is None
