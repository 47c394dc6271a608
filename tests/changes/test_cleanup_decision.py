"""What is left of a conversation about forgetting, by small logs in a line; `tests/changes/test_cleanup.py` runs it."""

from __future__ import annotations

import pytest

from ctxkit.changes import cleanup_decision, undo
from ctxkit.core.item_names import Name
from ctxkit.core.ops import Forget, LogPosition, to_body
from ctxkit.core.state import State
from ctxkit.errors import NothingChanges
from tests import build

BEFORE = "1-4 | 5 | 6 call=f | forget 2-3 planning=5-6 | 7 result=f"
"""Message 5 asks, 6 calls the tool, the op takes both, 7 is the call's result. Calls named f are the tool's."""


def uses(state: State, name: Name) -> bool | None:
    """By the names of the calls."""
    message = state.messages[int(str(name)) - 1]
    names = {*message.calls, *message.results}
    return None if not names else all(one.startswith("f") for one in names)


def rest(spec: str) -> tuple[State, cleanup_decision.Remainder]:
    """What is left after the first forget of a log."""
    state = build.state(spec)
    op = next(entry.op for entry in state.ledger.entries if isinstance(entry.op, Forget))
    assert isinstance(op, Forget)
    return state, cleanup_decision.left(state, op, lambda name: uses(state, name))


@pytest.mark.parametrize(
    ("spec", "names", "over"),
    [
        (BEFORE, "6-7", False),
        (f"{BEFORE} | 8", "6-8", True),
        (f"{BEFORE} | 8 | 9 assistant | 10 assistant", "6-10", True),
        (f"{BEFORE} | 8 | 9", "6-8", True),
        (f"{BEFORE} | 8 user", "6-7", True),
        (f"{BEFORE} | 8 call=f2 | 9 result=f2 | 10", "6-10", True),
        (f"{BEFORE} | 8 call=g | 9 result=g | 10", "6-7", True),
        (f"{BEFORE} | 8 call=f2,g | 9 result=f2 | 10 result=g", "6-7", True),
        (f"{BEFORE} | 8 | 9 call=f2", "6-9", False),
        (f"{BEFORE} | 8 | protect 8", "6-7", True),
        ("1-4 | 5 | 6 call=f | forget 2-3 planning=6 | 7 result=f | 8", "6-7", True),
        ("1-4 | 5 | 6 call=f | forget 2-3 planning=5-6", "", False),
        ("1-4 | 5 | 6 call=f | forget 2-3 planning=5-6 | 7 user", "", True),
    ],
)
def test_what_is_left(spec: str, names: str, over: bool) -> None:
    """Calls of the tool, results, the model's words where the request was taken; up to the user's words or work."""
    _, left = rest(spec.replace(" user", " user=x").replace(" assistant", " assistant=x"))
    assert (str(left.names), left.over) == (names, over)


def test_the_decision() -> None:
    """An op of planning alone that names the one it completes; nothing where nothing is left, or that one is undone."""
    state, left = rest(f"{BEFORE} | 8")
    entry, at = state.ledger.entries[0], LogPosition(messages=8)
    decision = cleanup_decision.cleanup(state, at, entry, left)
    assert isinstance(decision.op, Forget)
    assert (decision.op.ids, decision.op.planning, decision.op.cleans) == ("", "7-8", "a1")
    assert to_body(decision.op)["cleans"] == "a1" and cleanup_decision.identity(entry, decision.op).startswith(
        "cleanup-"
    )
    state, left = rest(f"{BEFORE} | 8 | forget 8")
    decision = cleanup_decision.cleanup(state, at, entry, left, left.names)
    assert decision.op is None and "undone since" in decision.said
    state, left = rest(f"{BEFORE} | 8 | forget 7-8")
    assert "out of the context" in cleanup_decision.cleanup(state, at, state.ledger.entries[0], left).said
    state, left = rest(f"{BEFORE} | 8 | undo @1")
    assert "is undone, by op 2" in cleanup_decision.cleanup(state, at, state.ledger.entries[0], left).said
    state, left = rest(BEFORE)
    with pytest.raises(NothingChanges, match="is not finished"):
        cleanup_decision.cleanup(state, at, state.ledger.entries[0], left)


def test_a_cleanup_goes_with_what_it_completes() -> None:
    """Undone with it, redone with it; by itself where it is named; never taken for the newest decision."""
    spec = f"{BEFORE} | 8 | mark m | forget ids= planning=7-8 cleans=@1"
    state = build.state(spec)
    assert (
        str(state.present()) == "1,4" and str(cleanup_decision.cleaned(state.ledger, state.ledger.entries[0])) == "7-8"
    )
    decision = undo.undo(state.ledger, LogPosition(messages=8))
    assert decision.said == "Undid op 2 (mark)."  # the newest decision
    assert str(build.state(f"{spec} | undo @1").present()) == "1-8"
    assert str(build.state(f"{spec} | undo @1 | undo @4").present()) == "1,4"
    assert str(build.state(f"{spec} | undo @3").present()) == "1,4,7-8"
    assert not [one for one in build.state(f"{spec} | undo @1").ledger.entries if one.void and not one.voided_by]


def test_who_waits() -> None:
    """A model's op, by the tool, that took the conversation along; whatever stands in its provenance."""
    for answer, waits in [({"tool": "x"}, True), ({}, False), (None, False), ({"tool": "x", "planning": "??"}, True)]:
        op = Forget(at=LogPosition(messages=3), id="a1", ids="1", planning="2-3", answer=answer)
        [entry] = build.state("1-3 | forget 1 planning=2-3").ledger.entries
        entry.op = op
        assert cleanup_decision.waits(entry) is waits
    assert (
        str(
            cleanup_decision.taken(
                Forget(at=LogPosition(messages=3), ids="1-3", answer={"tool": "x", "planning": "2-3"})
            )
        )
        == "2-3"
    )
