"""forget and remember: what is decided, and what holds whatever was asked. Rules: tests/core/test_rules.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.changes.forget import ForgetRequest, forget, leaving, remember
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Forget, Remember
from ctxkit.errors import NothingChanges
from tests import build

LOG = "1 system | 2 | 3 call=x | 4 result=x | 5 | 6 call=y | 7 result=y | 8-9"
BEFORE = [
    "protect 4", "protect 8", "forget 2", "forget 5,8", "compact 2", "compact 5-8 strategy=truncate", "compact 2-5",
    "trim 8", "protect 5", "restore new:x", "edit 1-9", "clear", "mark", "recall 2,5",
]  # fmt: skip
SPECS = st.lists(st.sampled_from(BEFORE), max_size=4).map(lambda ops: " | ".join([LOG, *ops]))
CHOSEN = st.sets(st.integers(1, 9), min_size=1).map(Names.of)


def names(text: str) -> Names:
    """Short for Names.parse."""
    return Names.parse(text)


@given(SPECS, CHOSEN, st.booleans())
def test_what_is_forgotten_is_gone_and_nothing_else(spec: str, chosen: Names, include: bool) -> None:
    """What was asked leaves, steps whole; protected steps stay, unless included; no summary tells any of it."""
    records, state = build.log(spec), build.state(spec)
    try:
        decision = forget(state, build.here(records), ForgetRequest(chosen, include_protected=include))
    except NothingChanges:
        return
    assert isinstance(decision.op, Forget)
    left = names(decision.op.ids)
    after = build.state_of(build.appended(records, decision.op))
    present = after.present()
    assert not present.meets(left)
    assert not any(item.tells.meets(left) for name, item in after.board.items.items() if name in present)
    assert state.present().numbers - present.numbers == state.present().numbers & left.numbers
    assert state.steps.whole(left) == left
    protected = Names.of(n for n in range(1, 10) if state.protected(n))
    assert include or not left.meets(protected)
    assert not (chosen - left).meets(chosen - state.steps.close(names(decision.op.skipped)))


@given(SPECS, CHOSEN)
def test_what_is_remembered_stays_and_nothing_else(spec: str, chosen: Names) -> None:
    """What was asked stays in sight, with the system's and protected messages; the rest leaves."""
    records, state = build.log(spec), build.state(spec)
    try:
        decision = remember(state, build.here(records), ForgetRequest(chosen))
    except NothingChanges:
        return
    assert isinstance(decision.op, Remember)
    after = build.state_of(build.appended(records, decision.op))
    keep = state.steps.close(chosen) & state.present()
    assert not keep - after.present()
    told = names("").numbers
    for name in after.shown().items:
        told = told | after.board.items[name].tells.numbers
    hidden_before = state.present() - state.shown()
    assert not keep.numbers - after.shown().numbers - told - hidden_before.numbers
    allowed = state.steps.close(keep | Names.of(n for n in range(1, 10) if state.protected(n)))
    extra = after.present().numbers - allowed.numbers
    assert all(state.board.protected.items for _ in extra)


def test_remembering_what_is_out_already() -> None:
    """Nothing would be left, so nothing is done."""
    spec = "1-4 | forget 2"
    with pytest.raises(NothingChanges, match="2 is out of the context already"):
        remember(build.state(spec), build.here(build.log(spec)), ForgetRequest(names("2")))


def test_long_lists_are_cut_in_the_report() -> None:
    """The op holds all of them."""
    spec = "1-99"
    odd = ",".join(map(str, range(1, 99, 2)))
    decision = forget(build.state(spec), build.here(build.log(spec)), ForgetRequest(names(odd)))
    assert decision.said.endswith(",… (49 messages).")
    assert len(decision.said) < 100
    assert decision.op is not None and str(names(odd)) == decision.op.ids


@pytest.mark.parametrize("decide", [forget, remember])
def test_words(decide: object) -> None:
    """What was asked is recorded as typed, and said."""
    spec = "1-4"
    wish = ForgetRequest(names("2"), criteria="--grep x")
    decision = decide(build.state(spec), build.here(build.log(spec)), wish)
    assert decision.op.criteria == "--grep x"
    assert decision.said in (
        "Forgot 2 (1 message).",
        "Kept 1 message; everything else (3 messages) is forgotten.",
    )


def test_leaving() -> None:
    """The parts of a plan, for a preview."""
    state = build.state("1 | 2 call=x | 3 result=x | 4-6 | protect 5 | forget 4")
    plan = leaving(state, ForgetRequest(names("3-5"), planning=names("6")))
    parts = (plan.asked, plan.closed, plan.skipped, plan.planning, plan.now)
    assert tuple(map(str, parts)) == ("2-4", "2", "5", "6", "2-3,6")
