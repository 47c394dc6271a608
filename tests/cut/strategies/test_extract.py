"""extract: a summary of lines, and the same without what is forgotten."""

from __future__ import annotations

from ctxkit.core.item_names import Names
from ctxkit.core.ops import Compact, LogPosition
from ctxkit.cut.strategies.extract import STRATEGY
from tests.cut.test_compact_plan import condensing, opened
from tests.cut.test_trim import run


def test_a_summary_is_made_again() -> None:
    """Within the tokens that it was made for, of the messages that are left; a model's words are not."""
    log = opened(run())
    made = condensing(log, strategy="extract").carry_out()
    ids = Names.parse(made.op.ids)
    less = ids - Names.parse("3-4")
    text = STRATEGY.resummarize(log, made.op, less, Names.parse("3-4"))
    assert text is not None and text != made.op.text
    by_model = Compact(at=LogPosition(messages=9), ids=str(ids), text="x", strategy="extract", model="m", budget=200)
    assert STRATEGY.resummarize(log, by_model, less, Names()) is None
