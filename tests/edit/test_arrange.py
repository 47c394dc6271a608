"""The order of a draft: the context as it is, and what is out of it beside its neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given

from ctxkit.core.sets.runs import order
from ctxkit.edit.arrange import arranged
from tests import build
from tests.edit.test_edit import SPECS


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("1-5 | forget 2,4", "1 2 3 4 5"), ("1-5 | clear", "1 2 3 4 5"), ("1-5 | edit 1,3-5", "1 2 3 4 5"),
        ("1-5 | edit 4,1", "4 5 1 2 3"), ("1-3 | edit 1-3 | clear | 4", "1 2 3 4"),
        ("1-5 | compact 2-3 text=x", "1 2 3 1.1 4 5"), ("1-5 | compact 2-3 text=x | clear", "1 1.1 2 3 4 5"),
        ("1-3 | edit 1,new:x,3 | clear", "1 1.2 2 3"), ("1-3 | edit 1,new:x,new:y,3 | forget @1.2", "1 1.2 2 1.3 3"),
    ],
)  # fmt: skip
def test_order(spec: str, expected: str) -> None:
    """Where who reads it looks for it."""
    state = build.state(spec)
    found = arranged(state, list(order(state)), state.everything())
    assert " ".join(map(state.label, found)) == expected


@given(SPECS)
def test_all_and_each_once(spec: str) -> None:
    """Whatever the ops did."""
    state = build.state(spec, force=True)
    context = list(order(state))
    found = arranged(state, context, state.everything())
    assert len(found) == len(set(found)) == len(state.everything())
    assert [name for name in found if name in set(context)] == context
