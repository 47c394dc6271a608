"""Statistics: what a table of figures must give."""

from __future__ import annotations

from tests.bench.compaction.intervals import Wins, mean, wins


def test_mean() -> None:
    """Over the cases that have a value; the interval holds it, narrows with more cases, and is the same again."""
    found = mean([0.0, 1.0, None, 0.5])
    assert found is not None and (found.mean, found.n) == (0.5, 3) and found.low <= 0.5 <= found.high
    many = mean([0.0, 1.0] * 50)
    few = mean([0.0, 1.0] * 3)
    assert many is not None and few is not None
    assert many.high - many.low < few.high - few.low
    assert 0.38 < many.low < 0.43 and 0.57 < many.high < 0.62  # 0.5 ± 1.96 * 0.5 / 10
    assert mean([0.0, 1.0] * 50) == many
    assert mean([None]) is None and mean([]) is None
    assert mean([0.75]) == (0.75, 0.75, 0.75, 1)


def test_wins() -> None:
    """Pair by pair; without a value on one side it is no pair."""
    assert wins([1, 0.5, 0.2, None, 0.3], [0.5, 0.5, 0.4, 0.1, None]) == Wins(1, 1, 1)
