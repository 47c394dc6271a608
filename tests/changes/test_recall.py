"""recall: what is decided. Rules one by one: tests/core/test_rules.py."""

from __future__ import annotations

import pytest

from ctxkit.changes.recall import recall
from ctxkit.core.context import Projection
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Names
from ctxkit.core.transcript import View
from ctxkit.errors import NothingChanges
from tests import build


def decided(spec: str, chosen: str, *, named: bool = True, projection: Projection | None = None) -> Decision:
    """The decision on the log of `spec`."""
    state = build.state(spec)
    return recall(state, build.here(build.log(spec)), Names.parse(chosen), projection or Projection(), named=named)


@pytest.mark.parametrize(
    ("spec", "chosen", "ids", "then", "notes"),
    [
        ("1-6 | forget 2-3", "2", "2", "1-2,4-6", []),
        ("1-6 | remember 1,4-6", "5", "5", "2-3,5", []),
        ("1-6 | mark | 7-8 | rewind", "7", "7", "1-7", []),
        ("1-6 | trim 2-3", "3", "3", "1,3-6", []),
        ('1-6 | trim 2 stubs={"5":"[cut]"}', "5", "5", "1,3-6", []),
        ("1-6 | restore new:x | forget @1.1", "a1.1", "a1.1", "1-6,@1.1", []),
        ("1-6 | forget 2 | forget 2-3", "2", "2", "1-2,4-6", []),
        (
            "1-6 | clear | 7-8 | forget 7",
            "2,7",
            "7",
            "7-8",
            ["not brought back: message 2 was left out by the clear (op 1)"],
        ),
    ],
)
def test_recall(spec: str, chosen: str, ids: str, then: str, notes: list[str]) -> None:
    """It is back at its place; what cannot come back is named."""
    decision = decided(spec, chosen)
    assert decision.op is not None
    assert (getattr(decision.op, "ids", ""), decision.notes) == (ids, notes)
    assert build.shown(build.state_of(build.appended(build.log(spec), decision.op))) == then


def test_criteria_record_what_is_out() -> None:
    """Numbers are recorded as typed, what was found only where it is out (replay 34)."""
    assert getattr(decided("1-6 | forget 2", "1-6").op, "ids", "") == "1-6"
    assert getattr(decided("1-6 | forget 2", "1-6", named=False).op, "ids", "") == "2"


@pytest.mark.parametrize(
    ("spec", "chosen", "words", "hint"),
    [
        ("1-4", "2", "2 is in the context already", "ctxkit why"),
        (
            "1-4 | clear | 5",
            "2-3",
            "messages 2-3 were left out by the clear (op 1): nothing was changed",
            "undo that first: ctxkit undo LOG 1",
        ),
        ("1-4 | edit 1 | 5 | clear | 6", "2,5", "messages 2,5 were left out by the clear (op 2)", "ctxkit undo LOG 2"),
        (
            "1-4 | forget 2 | restore 3 mode=replace | 5",
            "2",
            "message 2 was left out by the restore (op 2)",
            "ctxkit undo LOG 2",
        ),
    ],
)
def test_nothing_comes_back(spec: str, chosen: str, words: str, hint: str) -> None:
    """And why."""
    with pytest.raises(NothingChanges) as caught:
        decided(spec, chosen)
    assert words in caught.value.message and "nothing was changed" in caught.value.message
    assert hint in caught.value.hint


def test_a_branch_stays_away() -> None:
    """No op took it out, so no op brings it back."""
    spec, view = "1-4", View([1, 2, 4], {3: "branch"})
    with pytest.raises(NothingChanges, match="branch"):
        recall(build.state(spec, view), build.here(build.log(spec)), Names.parse("3"), Projection())


def test_the_newest_only() -> None:
    """`window.messages` hides too, and no window command shows it."""
    decision = decided("1-6 | forget 2", "2", projection=Projection(newest=2))
    assert decision.notes == ["2 is beyond the newest 2 that window.messages allows"]


@pytest.mark.parametrize(
    ("spec", "projection", "hint"),
    [
        (
            "1-6 | window 90",
            Projection(),
            "the window hides 2, which keeps its time: use `ctxkit window LOG off` or --now TIME",
        ),
        ("1-6", Projection(windows={None: 90}), "the window hides 2, which keeps its time"),
        ("1-6", Projection(newest=2), "2 is beyond the newest 2 that window.messages allows"),
    ],
)
def test_out_by_no_op(spec: str, projection: Projection, hint: str) -> None:
    """What only the window hides is not in the context, and no recall can change that."""
    with pytest.raises(NothingChanges) as caught:
        decided(spec, "2", projection=projection)
    assert caught.value.message == "no op keeps 2 out: nothing was changed"
    assert hint in caught.value.hint


ASIDE = View([1, 4], {2: "sidechain", 3: "sidechain"}, threads={"s": View([2, 3], {})})


def test_a_message_of_a_sidechain() -> None:
    """What an op took out of a sidechain comes back into it."""
    records = build.log("1 | 2-3 thread=s | 4 | forget 3")
    state = build.state_of(records, ASIDE)
    decision = recall(state, build.here(records), Names.parse("3"), Projection())
    assert decision.notes == ["3 is in a sidechain: `ctxkit show LOG --thread s` shows it"]
    assert decision.op is not None
    after = build.state_of(build.appended(records, decision.op), ASIDE)
    assert [str(after.shown(thread)) for thread in (None, "s")] == ["1,4", "2-3"]
    with pytest.raises(NothingChanges, match="no op keeps 2 out"):
        recall(state, build.here(records), Names.parse("2"), Projection())


def test_each_boundary_is_looked_at_once() -> None:
    """A recall of everything after many clears."""
    decision = decided(" | ".join(["1-4", *["clear"] * 3, "5-6", "forget 5"]), "1-5")
    assert decision.notes == ["not brought back: messages 1-4 were left out by the clear (op 3)"]
