"""The state: what is there, where it stands, what protects it, which time it has. Rules: tests/core/test_rules.py."""

from __future__ import annotations

from unittest import mock

import pytest

from ctxkit.core.item_names import ItemName, Names
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.core.transcript import View
from tests import build

CHANGED = "1 system | 2-6 | compact 3-4 | edit 1:system,2:first,6:changed,new:more,@1.1:retold"


def test_present_and_shown() -> None:
    """Forgotten is absent; compacted and trimmed is hidden; a branch is neither."""
    state = build.state(
        "1-9 | forget 1 | compact 2-3 | trim 4", View([1, 2, 3, 4, 5, 6, 7], {8: "branch", 9: "branch"})
    )
    assert str(state.present()) == "2-7,a2.1"
    assert str(state.shown()) == "5-7,a2.1"
    assert build.taken_by(state, 2) == ["compact"]
    assert build.taken_by(state, 8) == ["branch"]


def test_what_an_edit_put_in_is_no_branch() -> None:
    """Items are exact, wherever they came from."""
    state = build.state("1-4 | edit 4", View([1, 2], {3: "branch", 4: "sidechain"}))
    assert (str(state.shown()), str(state.away), build.taken_by(state, 4)) == ("4", "3", [])


def test_inherited_flags() -> None:
    """A literal is preamble or first where its `from` is; a person's flag wins over both."""
    state = build.state(CHANGED)
    one, two, three = (ItemName("a2", k) for k in (1, 2, 3))
    assert [state.is_preamble(name) for name in (1, 2, one, two)] == [True, False, True, False]
    assert [state.is_first(name) for name in (2, 3, two, three)] == [True, False, True, False]
    assert [state.protected(name) for name in (1, 2, one, two)] == [True, False, True, False]
    assert [state.guarded(name) for name in (1, 2, 3, one, two, three)] == [True, True, False, True, True, False]
    state = build.state(CHANGED + " | unprotect @2.1,@2.2 | protect @2.3")
    assert [state.guarded(name) for name in (one, two, three)] == [False, False, True]


@pytest.mark.parametrize(
    ("name", "original", "effective"),
    [
        (3, "10:03", "10:03"),
        (ItemName("a2", 3), "10:06", "20:00"),
        (ItemName("a2", 4), "20:00", "20:00"),
        (ItemName("a1", 1), None, None),
        (ItemName("zz", 1), None, None),
    ],
)
def test_times(name: int | ItemName, original: str | None, effective: str | None) -> None:
    """The original time for display and --since, the effective one for windows."""
    state = build.state(CHANGED)
    assert [moment and iso(moment)[11:16] for moment in (state.original(name), state.effective(name))] == [
        original,
        effective,
    ]


def test_a_literal_keeps_the_time_that_its_item_states() -> None:
    """`ts` of an item is its original time."""
    records = build.log("1-2 | edit 1:changed")
    records[-1]["items"][0]["ts"] = "2026-01-31T09:00:00Z"
    assert build.state_of(records).original(ItemName("a1", 1)) == 1769850000


def test_labels() -> None:
    """Items by the number of their op; an op that is not there by its id."""
    state = build.state("1-3 | mark | edit 1:x")
    assert [state.label(name) for name in (3, ItemName("a2", 1), ItemName("zz", 2))] == ["3", "2.1", "zz.2"]
    assert state.say(Names.parse("1-2,a2.1")) == "1-2,2.1"


def test_keys_of_a_view() -> None:
    """A program's order, in which an op stands behind the highest number so far."""
    state = build.state("1-5 | restore new:x", View([1, 4, 2, 5], {3: "branch"}))
    assert build.shown(state) == "1,4,2,5,@1.1"
    assert sorted([1, 2, 4, 5, ItemName("a1", 1)], key=state.key) == [1, 4, 2, 5, ItemName("a1", 1)]


def test_the_turn_of_an_interrupted_line_is_found_without_a_look_at_each_message() -> None:
    """300 such lines behind 10,000 replies: the messages are gone through once, not once for each line."""
    state = build.state("1 user | 2-51 assistant")
    assert [state.turn(at) for at in (0, 1, 2, 51)] == [0, 1, 1, 1]
    with mock.patch.object(State, "messages", None):
        assert {state.turn(51) for _ in range(300)} == {1}
