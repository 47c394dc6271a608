"""Calls: who makes and answers them, and what they touch."""

from __future__ import annotations

from ctxkit.content.calls import Calls
from ctxkit.core.derive.files import FileTouch
from tests.measure.test_shares import edited


def test_calls() -> None:
    """A call and its result stand for the same call; what is neither stands for none."""
    log = edited()
    calls = Calls(log, log.names())
    assert [calls.callers(n) for n in (1, 2, 3)] == [[], [2], [2]]
    assert (calls.tools(7), calls.tools(1)) == ({"Edit"}, set())
    assert calls.files(7) == calls.files(6) == [FileTouch("a.py", "edit")]
    assert calls.files(11) == [] and list(calls.touched) == [2, 4, 6, 8]


def test_outdated() -> None:
    """By the newest that shows it again or changes it; not by what came before, nor what is no read."""
    calls = Calls(log := edited(), log.names())
    assert [calls.outdated(n, FileTouch("a.py", "read")) for n in (2, 6, 8)] == [8, 8, None]
    assert calls.outdated(2, FileTouch("a.py", "read", "1-9")) == 8
    assert calls.outdated(4, FileTouch("b.py", "read")) is calls.outdated(2, FileTouch("c.py", "read")) is None
    assert (
        calls.outdated(2, FileTouch("a.py", "edit")) is calls.outdated(2, FileTouch("a.py", "read", mixed=True)) is None
    )
