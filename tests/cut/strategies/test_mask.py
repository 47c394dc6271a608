"""mask: a line in the place of results; messages stay, and there is no summary."""

from __future__ import annotations

import pytest

from ctxkit.core.item_names import Names
from ctxkit.cut.compact_plan import CompactGoal, plan_compact, whole
from ctxkit.cut.strategies.mask import STRATEGY, Masked, mask, maskable
from tests.cut.test_compact_plan import condensing, opened
from tests.cut.test_trim import run


def test_no_message_goes() -> None:
    """The same messages, shorter; nothing is made again, as nothing is told."""
    log = opened(run())
    made = condensing(log, strategy="mask", percent=10).carry_out()
    assert made.op.ids == "" and made.op.text is None and made.seen.names() == log.names()
    assert not STRATEGY.summarizes and STRATEGY.resummarize(log, made.op, made.replaced, Names()) is None


def test_results_alone() -> None:
    """A message with results, each with what that saves; words, calls, and what is a stub already are none."""
    log = opened(run())
    found = plan_compact(log, whole(log), CompactGoal(30, strategy="mask"))
    going = [name for name in found.going if isinstance(name, int)]
    masks = list(maskable(found))
    assert [one.name for one in masks] == [n for n in going if log.messages[n - 1].results]
    assert all(0 < one.saves < found.tokens[one.name] for one in masks) and "left out]" in str(masks[0].stub)
    log.compact(target=30, strategy="mask", force=True)
    left = plan_compact(log, whole(log), CompactGoal(30, strategy="mask"))
    assert not {one.name for one in maskable(left)} & set(map(int, log.ledger.entries[-1].body["stubs"]))


@pytest.mark.parametrize(("need", "names"), [(0, []), (1, [2]), (10, [2]), (11, [2, 6]), (15, [2, 6]), (99, [2, 6, 8])])
def test_the_oldest_first(need: int, names: list[int]) -> None:
    """Until enough is saved; what would be longer is left alone."""
    some = [Masked(2, "a", 10), Masked(4, "b", -3), Masked(6, "c", 5), Masked(8, "d", 5)]
    assert list(mask(some, need)) == names
