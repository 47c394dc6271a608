"""Masked results: which results a compact may replace by a line, how many it takes, and what the line says."""

from __future__ import annotations

import io

import pytest

from ctxkit import Log
from ctxkit.cut.compact_plan import CompactGoal, CompactionPlan, whole
from ctxkit.cut.shorten.masked_results import Masked, mask, maskable, masked
from tests.cut.test_trim import run


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


@pytest.mark.parametrize(("need", "names"), [(0, []), (1, [2]), (10, [2]), (11, [2, 6]), (15, [2, 6]), (99, [2, 6, 8])])
def test_the_oldest_first(need: int, names: list[int]) -> None:
    """Until enough is saved; what would be longer is left alone."""
    some = [Masked(2, "a", 10), Masked(4, "b", -3), Masked(6, "c", 5), Masked(8, "d", 5)]
    assert list(mask(some, need)) == names


@pytest.mark.parametrize(
    ("words", "tool", "text", "pictures", "failed"),
    [
        ("[Read: 2 lines left out]", "Read", "a\nb", 0, False),
        ("[Read: 2 lines left out]", "Read", "a\nb\n", 0, False),
        ("[Bash failed: 1 line left out]", "Bash", "no", 0, True),
        ("[result: 0 lines left out]", "", "", 0, False),
        ("[shot: 1 picture left out]", "shot", "", 1, False),
        ("[shot: 1 line and 2 pictures left out]", "shot", "x", 2, False),
        ("[Read: 1,200 lines left out]", "Read", "x\n" * 1200, 0, False),
    ],
)
def test_words(words: str, tool: str, text: str, pictures: int, failed: bool) -> None:
    """Which tool, how much there was, and whether it had failed."""
    assert masked(tool, text, pictures, failed=failed) == words
