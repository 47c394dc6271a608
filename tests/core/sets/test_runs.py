"""The names of a context as runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.context import Projection, names
from ctxkit.core.item_names import Names
from ctxkit.core.sets.runs import NameRuns, order
from ctxkit.core.transcript import View
from tests import build

OPS = ("forget 2", "forget 4-5", "compact 2-4 text=s", "compact 5-6", "trim 7", "clear", "undo @1", "recall 4",
       "edit 1-3,7,new:x,5:y", "edit 6-8,1", "restore 2-3,new:z")  # fmt: skip


@given(
    st.lists(st.sampled_from(OPS), max_size=5),
    st.sampled_from([Projection(), Projection(newest=3), Projection(windows={None: 200})]),
)
def test_the_same_names_in_the_same_order(ops: list[str], projection: Projection) -> None:
    """Whatever the ops: what `context.names` lists, with places, names and parts that agree."""
    state = build.state(" | ".join(["1-8", *ops]), force=True)
    found = order(state, projection)
    expected = list(names(state, projection))
    assert list(found) == expected == [found[i] for i in range(len(found))] == found[:]
    assert found.names == Names.of(expected)
    for start in range(len(expected)):
        part = NameRuns(found.part(start, min(2, len(found) - start)))
        assert list(part) == expected[start : start + 2]


def test_runs() -> None:
    """A run of any length is one entry."""
    state = build.state("1-60 | forget 10-20 | compact 30-40 text=s")
    assert [count for _, count in order(state).runs] == [9, 9, 1, 20]


def test_another_programs_order() -> None:
    """A view has an order of its own."""
    assert list(order(build.state("1-4", view=View([1, 3, 2], {4: "branch"})))) == [1, 3, 2]


def test_unknown_agent() -> None:
    """No error: a state may be older than an agent."""
    assert len(order(build.state("1 agent=a | 2"), Projection(agent="b"))) == 1


def test_ends() -> None:
    """Outside there is nothing."""
    with pytest.raises(IndexError):
        NameRuns([])[0]
