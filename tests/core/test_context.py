"""The projection: order, filters, windows, the newest N. Rules one by one: tests/core/test_rules.py."""

from __future__ import annotations

import pytest

from ctxkit.core.context import NO_PROJECTION, Projection, entries, listed, names, window_seconds
from ctxkit.core.item_names import ItemName
from ctxkit.core.times import written
from ctxkit.core.transcript import View
from ctxkit.errors import UnknownAgent
from tests import build

AGENTS = "1 | 2 agent=frodo thread=a | 3 agent=sam thread=a | 4 agent=frodo thread=b | 5"


def seen(spec: str, projection: Projection = NO_PROJECTION, view: View | None = None) -> str:
    """The names of the context through a projection."""
    return build.written(names(build.state(spec, view), projection))


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        (Projection(agent="frodo"), "1-2,4-5"),
        (Projection(thread="a"), "1-3,5"),
        (Projection(agent="frodo", thread="a"), "1-2,5"),
        (Projection(newest=2), "4-5"),
        (Projection(newest=0), ""),
        (Projection(newest=9), "1-5"),
        (Projection(agent="frodo", newest=2), "4-5"),
    ],
)
def test_filters(projection: Projection, expected: str) -> None:
    """Agent and thread, then the newest N."""
    assert seen(AGENTS, projection) == expected


STEP = "1 | 2 call=x agent=frodo | 3 tool result=x | 4 | 5 call=y,z | 6 tool result=y | 7 tool result=z | 8"


@pytest.mark.parametrize(
    ("spec", "projection", "expected"),
    [
        (STEP, Projection(newest=3), "8"),
        (STEP, Projection(newest=4), "5-8"),
        (f"{STEP} | 9 agent=sam", Projection(agent="sam"), "1,4-9"),
        (f"{STEP} | 9 agent=sam", Projection(agent="frodo"), "1-8"),
        (f"{STEP} | window 170", Projection(), "8"),
        (f"{STEP} | window 200", Projection(), "5-8"),
        (f"{STEP} | protect 6", Projection(newest=1), "5-8"),
        (f"{STEP} | forget 5", Projection(newest=2), "7-8"),
        ("1 | 2 tool result=lost | 3", Projection(newest=2), "2-3"),
        ("1 | 2 call=x | 3 tool result=x | 4 | compact 2-3 text=s", Projection(newest=2), "@1.1,4"),
    ],
)
def test_a_step_is_not_split(spec: str, projection: Projection, expected: str) -> None:
    """A result whose call is hidden by a window or a filter is hidden with it; one without any call is left alone."""
    assert seen(spec, projection) == expected


@pytest.mark.parametrize(
    ("projection", "words"),
    [(Projection(agent="gandalf"), "it has frodo, sam"), (Projection(thread="c"), "it has a, b")],
)
def test_unknown(projection: Projection, words: str) -> None:
    """An agent or thread that nobody has: the known ones are named."""
    with pytest.raises(UnknownAgent) as caught:
        seen(AGENTS, projection)
    assert words in caught.value.hint


def test_unknown_where_there_are_none() -> None:
    """And where there are none, that is said."""
    with pytest.raises(UnknownAgent) as caught:
        seen("1-3", Projection(agent="frodo"))
    assert caught.value.hint == "it has no agents"


def test_a_literal_has_an_agent_of_its_own() -> None:
    """As its message says."""
    records = build.log(AGENTS + " | edit 1,new:x,new:y")
    records[-1]["items"][1]["message"]["agent"] = "frodo"
    records[-1]["items"][2]["message"]["agent"] = "sam"
    assert build.written(names(build.state_of(records), Projection(agent="frodo"))) == "1,@1.2"


@pytest.mark.parametrize(
    ("windows", "config", "agent", "expected"),
    [
        ({}, {}, None, 0),
        ({}, {None: 5}, "frodo", 5),
        ({}, {None: 5, "frodo": 4}, "frodo", 4),
        ({None: 3}, {None: 5, "frodo": 4}, "frodo", 3),
        ({None: 3, "frodo": 2}, {None: 5, "frodo": 4}, "frodo", 2),
        ({None: 3, "frodo": 0}, {}, "frodo", 0),
        ({None: 3, "frodo": 2}, {}, "sam", 3),
        ({"frodo": 2}, {}, None, 0),
    ],
)
def test_which_window_holds(
    windows: dict[str | None, int], config: dict[str | None, int], agent: str | None, expected: int
) -> None:
    """The op for the agent, the op for all, the config's for the agent, the config's for all (replay 40)."""
    state = build.state("1")
    state.windows = windows
    assert window_seconds(state, Projection(windows=config), agent) == expected


@pytest.mark.parametrize(
    ("spec", "now", "expected"),
    [
        ("1-6 | window 120", None, "5-6"),
        ("1-6 | window 120", "10:07", "6"),
        ("1-6 | window 120", "10:09", ""),
        ("1-6 | window 120", "10:01", "1-6"),
        ("1-6 | window 0", "23:00", "1-6"),
        ("1-6 | compact 1-5 | window 120", "10:06", "@1.1,6"),
        ("1-6 | compact 1-4 | window 120", "10:06", "5-6"),
        ("1-6 | forget 5 | window 120", "10:06", "6"),
        ("1-3 ts=none | window 120", "10:06", "1-3"),
    ],
)
def test_window(spec: str, now: str | None, expected: str) -> None:
    """Later than now minus the window, strictly; now is the newest time unless another is given."""
    moment = written(f"2026-02-01T{now}:00Z") if now else None
    assert seen(spec, Projection(now=moment)) == expected


def test_order_of_a_program() -> None:
    """Its own order, with what ops put in behind the message that they followed; a stray number at its place."""
    view = View([1, 4, 2, 6], {3: "branch", 5: "branch"})
    assert seen("1-4 | restore new:x | 5-6 | restore 5", view=view) == "1,4,2,@1.1,6,5"


def test_entries() -> None:
    """An entry has its message or its item, its stub and its lock."""
    found = list(entries(build.state('1 system | 2-3 | compact 2 | trim ids= stubs={"3":"[cut]"}')))
    assert [(e.name, e.role, e.stub, e.protected) for e in found] == [
        (1, "system", None, True),
        (ItemName("a1", 1), "user", None, False),
        (3, "user", "[cut]", False),
    ]
    assert [e.message is None for e in found] == [e.item is not None for e in found] == [False, True, False]


def test_an_unbroken_run_is_listed_as_a_range() -> None:
    """What is listed is what is named, one by one; only where every message is shown is it a range."""
    whole, broken, windowed = build.state("1-6"), build.state("1-6 | forget 3"), build.state("1-6 | window 60")
    assert listed(whole) == range(1, 7)
    for state in (whole, broken, windowed):
        assert list(listed(state)) == list(names(state))
    assert isinstance(listed(broken), list) and isinstance(listed(windowed), list)
