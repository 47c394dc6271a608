"""How much of a long search the tests run: a part of it on every push, all of it at night (`just night`).

Between the two stands `pytest --times 8`: eight times what a push runs, as `.ci/full` does with kills.

The numbers of the whole search stand where it is; what a push runs of it is decided here, and nowhere else. Which tests
and which cases of a table a push runs is told by their marks (`tests/cases.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Thing = TypeVar("Thing")

WHOLE = False
"""Whether all of every search is run, with files on a disk: `pytest --whole`, which sets it before tests are read."""
TIMES = 1
"""How many times what a push runs: `pytest --times N`."""
PART = 10
"""A push runs one of so many examples of a search."""
USUAL = 25
"""Examples that a push runs of a law that does not say how many; 100 at night."""
LEAST = 15
"""Examples that a push runs at least, where there are so many."""


def examples(whole: int) -> int:
    """How many of `whole` examples are drawn. The first ones are the same in both."""
    return whole if WHOLE else min(whole, TIMES * max(LEAST, whole // PART))


def part(whole: int) -> int:
    """How many of `whole` things are done that are not examples: writes of a process, sequences on whole sessions."""
    return whole if WHOLE else min(whole, TIMES * max(1, whole // PART))


def one_of(many: int) -> int:
    """The stride through a search of which a push takes one of `many` points, evenly."""
    return 1 if WHOLE else max(1, many // TIMES)


def some(things: Sequence[Thing], many: int, case: int = 0) -> Sequence[Thing]:
    """One of so many things; the next case takes the next ones, so that many cases together take all."""
    many = one_of(many)
    return things[case % many :: many]
