"""Statistics: macro means over cases, bootstrap intervals with a fixed seed, paired wins."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

DRAWS = 2000
SEED = 20260101


class Mean(NamedTuple):
    """A mean over `n` cases, with the 95 % interval of it."""

    mean: float
    low: float
    high: float
    n: int


class Wins(NamedTuple):
    """Cases in which one is better than another, as good, and worse."""

    better: int
    equal: int
    worse: int


def mean(values: Sequence[float | None]) -> Mean | None:
    """The mean of what there is, and what 95 % of the means of as many drawn from it lie between; None of nothing."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    n = len(known)
    drawn = sorted(sum(known[place] for place in draw) / n for draw in _draws(n))
    return Mean(sum(known) / n, drawn[int(0.025 * DRAWS)], drawn[int(0.975 * DRAWS) - 1], n)


@cache
def _draws(n: int) -> list[list[int]]:
    """The same for every measure of as many cases, so that figures that are equal have equal intervals."""
    dice = random.Random(SEED + n)
    return [[dice.randrange(n) for _ in range(n)] for _ in range(DRAWS)]


def wins(one: Sequence[float | None], other: Sequence[float | None]) -> Wins:
    """Case by case; a case that one of them has no value for does not count."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return Wins(sum(a > b for a, b in pairs), sum(a == b for a, b in pairs), sum(a < b for a, b in pairs))
