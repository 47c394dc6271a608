"""Bonds: what an op concerns, and what hangs on what; that nothing is missed is tested in tests/core/test_walk.py."""

from __future__ import annotations

import pytest

from ctxkit.core.sets.dependencies import OpDependencies, concerns
from ctxkit.core.transcript import ProgramCut
from tests import build

SPEC = "1-20 | forget 2-3 | compact 4-9 | compact 11-12 | forget 8 | recall 2 | trim 15 | compact 9-11 | mark | clear"


def bonds(spec: str) -> OpDependencies:
    """All ops of a log, by their numbers."""
    found = OpDependencies()
    for entry in build.state(spec).ledger.entries:
        found.add(entry.number, entry)
    return found


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, "2-3"), (2, "4-9,a2.1"), (4, "8"), (5, "2"), (6, "15"), (8, ""), (9, "None")],
)
def test_what_an_op_concerns(number: int, expected: str) -> None:
    """What it names, a compact its summary too; a clear everything."""
    assert str(concerns(build.state(SPEC).ledger.entries[number - 1])) == expected


def test_what_a_cut_concerns() -> None:
    """What it takes out, and moves, and where to."""
    assert str(concerns(ProgramCut(row=9, out=range(1, 5), label="", moved=[8], after=10))) == "1-4,8,10"


@pytest.mark.parametrize(
    ("place", "expected"),
    [(1, {1, 5}), (2, {2, 3, 4, 7}), (4, {4, 7}), (6, {6}), (7, {7}), (8, set())],
)
def test_what_hangs_on_an_op(place: int, expected: set[int]) -> None:
    """What came since and shares a name with it, or a summary's."""
    found = bonds(SPEC)
    found.drop(9)
    assert (found.hanging([place]) or set()) - {place} == expected - {place}


def test_what_concerns_everything() -> None:
    """Hangs on all before it; not on what comes later."""
    found = bonds(SPEC + " | forget 2 | forget 3")
    assert found.hanging([9]) is None and found.hanging([1]) is None
    assert found.hanging([10]) == {10}


def test_a_message_that_may_tell() -> None:
    """An edit's own message that stems from a summary ties up everything."""
    assert bonds("1-9 | compact 2-3 | edit @1.1:new | forget 4").hanging([3]) is None
    assert bonds("1-9 | compact 2-3 | edit 4:new | forget 4").hanging([3]) == {3}
