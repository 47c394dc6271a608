"""truncate: a line in the place of messages."""

from __future__ import annotations

from ctxkit.core.item_names import Names
from ctxkit.cut.summarize.left_out import left_out, listed


def test_left_out() -> None:
    """The exact words of replay 42."""
    assert left_out(Names.parse("2-40,45")) == "[messages 2-40, 45 left out]"


def test_many_runs_are_named_by_the_first_and_the_last() -> None:
    """A line as long as a log is no summary."""
    assert listed(Names.parse("2,4,6-7,9,11,13,15,17")) == "2, 4, 6-7, 9, 11, 13, 15, 17"
    assert listed(Names.parse(",".join(map(str, range(2, 900, 2))))) == "2, 4, 6, 8, 10, 12, …, 898"
    assert listed(Names.parse("4,a1.2"), lambda name: "7.2") == "4, 7.2"
