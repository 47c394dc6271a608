"""masking: which results a compact may replace by a line."""

from __future__ import annotations

import io

from ctxkit import Log
from ctxkit.compact.mask_results import maskable
from ctxkit.compact.plan import CompactGoal, CompactionPlan, whole
from tests.trim.test_trim import run


def test_results_alone() -> None:
    """A message with results, each with what that saves; words, calls, and what is a stub already are none."""
    log = Log.open(io.BytesIO(run()))
    found = CompactionPlan(log, whole(log), CompactGoal(30, strategy="mask"))
    going = [name for name in found.going if isinstance(name, int)]
    masks = list(maskable(found._ranking, found.base.measuring, going, found.tokens))
    assert [one.name for one in masks] == [n for n in going if log.messages[n - 1].results]
    assert all(0 < one.saves < found.tokens[one.name] for one in masks) and "left out]" in str(masks[0].stub)
    log.compact(target=30, strategy="mask", force=True)
    left = CompactionPlan(log, whole(log), CompactGoal(30, strategy="mask"))
    again = maskable(left._ranking, left.base.measuring, going, left.tokens)
    assert not {one.name for one in again} & set(map(int, log.ledger.entries[-1].body["stubs"]))
