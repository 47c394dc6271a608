"""Which messages belong together."""

from __future__ import annotations

import pytest

from ctxkit.core.item_names import Names
from ctxkit.core.steps import Steps
from tests import build


def steps(spec: str) -> Steps:
    """The steps of a spec's log."""
    return Steps(build.transcript(build.log(spec)).messages)


PARALLEL = "1 | 2 call=x,y | 3 result=x | 4 | 5 result=y | 6"


@pytest.mark.parametrize(
    ("spec", "names", "closed"),
    [
        (PARALLEL, "3", "2-3,5"),
        (PARALLEL, "1,4,6", "1,4,6"),
        (PARALLEL, "5,a1.1", "2-3,5,a1.1"),
        ("1 call=x | 2 result=x | 3 call=x | 4 result=x", "4", "3-4"),
        ("1 call=x | 2 result=x | 3 result=x", "1", "1-2"),
        ("1 call=x | 2 call=x | 3 result=x", "3", "2-3"),
        ("1 result=x | 2 call=x", "1", "1"),
        ("1-3", "1-3", "1-3"),
    ],
)
def test_close(spec: str, names: str, closed: str) -> None:
    """A step is taken whole; a result belongs to the nearest earlier call with its id (replay 20)."""
    assert str(steps(spec).close(Names.parse(names))) == closed


def test_close_is_the_same_for_many_names() -> None:
    """Two ways through, by the names or by the steps, whichever are fewer."""
    assert str(steps(PARALLEL).close(Names.parse("3,6-99"))) == "2-3,5-99"


@pytest.mark.parametrize(("names", "whole"), [("1-5", "1-5"), ("2-4", "4"), ("1,5,a1.1", "1,a1.1"), ("", "")])
def test_whole(names: str, whole: str) -> None:
    """Steps that are held only in part are left."""
    assert str(steps(PARALLEL).whole(Names.parse(names))) == whole


def test_members() -> None:
    """The message that opened a step, all of it, and who made a call."""
    found = steps(PARALLEL + " | 7 call=z")
    assert (found.leader(5), found.leader(4), sorted(found.members(3)), found.members(1)) == (2, 4, [2, 3, 5], [1])
    callers = [found.caller(n, call) for n, call in ((3, "x"), (5, "y"), (1, "z"), (9, "z"))]
    assert callers == [2, 2, None, None]


def test_results_of_two_calls_in_one_message_join_them() -> None:
    """What shares a message cannot be split."""
    messages = build.transcript(build.log("1 call=x | 2 call=y | 3 result=x")).messages
    messages[2].results = ("x", "y")
    assert str(Steps(messages).close(Names.parse("1"))) == "1-3"
