"""restore, decided on states and snapshots at hand."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.context import shown_names
from ctxkit.core.ops import LogPosition, Restore
from ctxkit.core.snapshot import Snapshot, SnapshotHead, SnapshotMessage, sealed
from ctxkit.core.state import State
from ctxkit.core.text.json_text import dumps
from ctxkit.snapshots.restore_decision import RestoreRequest, restore, summary_item
from tests import build

HERE = LogPosition(messages=8)


def kept(*held: int | str, summary: str = "", description: str = "", log: str | None = "old.jsonl") -> Snapshot:
    """A snapshot of these messages: numbers, or what copies were made from."""
    head = SnapshotHead(
        session_id="0123456789abcdef",
        timestamp="2026-02-01T12:30:00Z",
        message_count=len(held),
        at=LogPosition(messages=8),
        summary=summary,
        description=description,
        log=log,
    )
    records = [{"role": "user", "content": f"words of {one}"} for one in held]
    made = [
        SnapshotMessage(n=one) if isinstance(one, int) else SnapshotMessage(origin=one, ts="2026-02-01T10:00:00Z")
        for one in held
    ]
    return Snapshot(head, sealed(head), records, made)


def state(spec: str) -> State:
    """The state of a log of eight messages."""
    return build.state(f"1-8 | {spec}" if spec else "1-8")


def decided(spec: str, some: Snapshot, *, own: bool = True, steps: list[int] | None = None, **more: Any) -> Any:
    """The decision, and its items in short: numbers, and `copy of`."""
    found = state(spec)
    places = bytes(one.n is not None for one in some.held)
    wish = RestoreRequest(
        some, own, steps or list(range(len(some.held))), more.pop("as_it_is", places), list(shown_names(found)), **more
    )
    return restore(found, HERE, wish)


def items(decision: Any) -> list[Any]:
    """In short: numbers, and what copies were made from."""
    assert isinstance(decision.op, Restore)
    return [one.n if one.n is not None else one.origin for one in decision.op.items]


def test_what_is_not_visible() -> None:
    """Only that, in the snapshot's order; what is left is named."""
    found = decided("forget 2-3,7", kept(7, 1, 3, 2, 8))
    assert items(found) == [7, 3, 2] and found.op.skipped == "1,8" and (found.op.mode, found.op.v) == ("place", 2)
    assert found.said == "Restored 3 messages of snapshot 01234567."
    end = decided("forget 2-3,7", kept(7, 1, 3, 2, 8), append=True)
    assert items(end) == [7, 3, 2] and (end.op.mode, end.op.v) == ("append", 1)
    assert end.said == "Restored 3 messages of snapshot 01234567, at the end."
    assert found.notes == ["visible already, left where they are: 2 of 5"]
    assert found.op.snapshot == {"id": "0123456789abcdef", "at": {"messages": 8}}


def test_steps_come_whole() -> None:
    """What belongs together is not split: a part that is visible moves along."""
    assert items(decided("forget 3", kept(1, 2, 3, 4), steps=[0, 1, 1, 3])) == [2, 3]


def test_a_copy_stands_where_the_snapshot_has_it() -> None:
    """At the place of its number, so that a step stays whole; with --append all stay together."""
    some = kept(1, 2, 3, 4)
    for append, where in ((False, "copies, because"), (True, "copies, at the end, because they were shortened")):
        found = decided("forget 2-4", some, steps=[0, 1, 1, 3], as_it_is=bytes([1, 1, 0, 1]), append=append)
        assert [item.n for item in found.op.items] == [2, None, 4] and items(found) == [2, 3, 4]
        assert [item.after for item in found.op.items] == [None] * 3 and where in found.notes[0]


@pytest.mark.parametrize(
    ("spec", "held", "expected"),
    [
        ("edit 1-2,5-8", range(1, 9), "1-8"),
        ("edit 1-2,5-8 | forget 7", range(1, 9), "1-8"),
        ("edit 5-8", range(1, 9), "1-8"),
        ("edit 1-4 | 9", range(1, 9), "1-9"),
        ("edit 1,6-8,2", range(1, 9), "1,6-8,2-5"),  # beside what stood before it
        ("edit 1-2,4:changed,6-8", range(1, 9), "1-3,@1.3,4-8"),
        ("edit 1-2,4:changed,6-8", (1, 2, 3, 5, 6), "1-3,@1.3,5-8"),
        ("edit new:mine,2-8", range(1, 9), "1,@1.1,2-8"),
        ("compact 2-6 | clear", (1, "a1.1", 7, 8), "1,@3.2,7-8"),
        ("compact 2-6 | undo @1", (1, "a1.1", 7, 8), "1,@3.1,2-8"),
        ("edit 3,1,2 | clear", (3, 1, 2), "3,1-2"),
        ("edit 1,new:mine,2-8 | clear", (1, "a1.2", 2, 3), "1,@3.2,2-3"),
        ("edit new:mine,2-8 | clear", ("a1.1", 2, 3), "@3.1,2-3"),
        ("clear | 9 | restore 3:cut mode=place v=2", (1, 2, 3, 4), "1-3,@2.1,4,9"),
        ("edit 1-2,4:changed,6-8", (5,), "1-2,@1.3,5-8"),
        ("edit 4,new:mine", (5,), "4-5,@1.2"),
    ],
)
def test_order_of_the_snapshot(spec: str, held: Any, expected: str) -> None:
    """What comes back stands where it stood in the snapshot, between what comes back with it and what is there."""
    found = decided(spec, kept(*held))
    records = build.appended(build.log(f"1-8 | {spec}"), found.op)
    assert build.written(shown_names(build.state_of(records))) == expected


def test_shorter_than_in_the_snapshot() -> None:
    """What is visible, but shortened since, is not all there."""
    found = decided("", kept(1, 2, 3), shorter=frozenset({2}))
    assert found.op is None and "visible already, 1 shorter than in the snapshot (--replace brings" in found.said
    found = decided("forget 3", kept(1, 2, 3), shorter=frozenset({2, 3}))
    assert found.notes[-1].endswith(
        "left where they are: 2 of 3, 1 shorter than in the snapshot (--replace brings the long ones)"
    )


def test_nothing_to_bring() -> None:
    """All of it is visible: no op."""
    found = decided("", kept(2, 3, description="x"))
    assert found.op is None and found.said == "All of snapshot 01234567 (x) is visible already: nothing appended."


def test_replace() -> None:
    """All of it, whatever is visible, in its order; always an op."""
    found = decided("", kept(8, 1, "a1.1"), replace=True)
    assert items(found) == [8, 1, "a1.1"] and found.op.mode == "replace" and found.op.skipped == ""
    assert found.said == "The context is snapshot 01234567 again: 3 messages."
    assert found.notes == ["brought back as copies, because they were shortened, summarized or written differently: 1"]


def test_a_number_that_says_something_else_now() -> None:
    """Comes as a copy, which is visible where the number is, or another copy of it."""
    some = kept(2, 3)
    assert items(decided("forget 2", some, as_it_is=bytes([0, 1]))) == [2]
    assert decided("forget 2", some, as_it_is=bytes([0, 1])).op.items[0].message["content"] == "words of 2"
    assert decided("", some, as_it_is=bytes(2)).op is None


@pytest.mark.parametrize(
    "spec",
    [
        "compact 2-4",
        "compact 2-4 | restore 1,@1.1:s mode=replace",
        "compact 2-4 | restore 1,@1.1:s mode=replace | undo @1",
        "compact 2-4 | restore 1,@1.1:s mode=replace | restore @2.2:s mode=replace | undo @1",
    ],
)
def test_a_summary_is_there_already(spec: str) -> None:
    """By its name, or as a copy that an earlier restore made, whatever became of its compact."""
    name = "a2.2" if spec.count("restore") == 2 else "a1.1"
    assert decided(spec, kept(name)).op is None
    assert items(decided(f"{spec} | clear", kept(name))) == [name]


def test_beside_a_summary() -> None:
    """What a summary tells comes back beside it, and that is said."""
    found = decided("compact 2-4 text=s", kept(1, 3, 4))
    assert items(found) == [3, 4]
    assert "3-4 stands beside the summary 1.1, which contains it too" in found.notes


def test_into_another_log() -> None:
    """Copies, with where they are from; protection goes along."""
    some = kept(2, "a1.1")
    held = [SnapshotMessage(n=2, ts="2026-02-01T10:01:00Z", protected=True), some.held[1]]
    some = Snapshot(some.head, some.body, some.messages, held)
    found = decided("", some, own=False)
    assert items(found) == [{"log": "old.jsonl", "n": 2}, {"log": "old.jsonl", "n": "a1.1"}]
    assert [(one.ts, one.protected) for one in found.op.items] == [
        ("2026-02-01T10:01:00Z", True),
        ("2026-02-01T10:00:00Z", False),
    ]
    assert [one.message for one in found.op.items] == list(some.messages)
    assert items(decided("", kept(2, log=None), own=False)) == [{"log": "-", "n": 2}]


@pytest.mark.parametrize("replace", [False, True])
def test_the_summary_alone(replace: bool) -> None:
    """One user message, quoted, that says what it is of."""
    some = kept(1, 2, summary="Done: a.\x1b Decided: b.", description="the night")
    found = decided("", some, summary=True, replace=replace)
    [item] = found.op.items
    assert item.message["role"] == "user" and found.op.mode == ("replace" if replace else "append")
    assert item.message["content"] == (
        '[Summary of snapshot 01234567 "the night" of old.jsonl, 2026-02-01T12:30:00Z, 2 messages]\n\n'
        "> Done: a.\x1b Decided: b."
    )
    assert summary_item(kept(1)).message["content"].endswith("> (no summary)")  # type: ignore[index]
    assert dumps(item.origin) == '{"snapshot":"0123456789abcdef"}'
