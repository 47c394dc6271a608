"""The fold as a whole; its rules one by one are in tests/core/test_rules.py."""

from __future__ import annotations

from unittest import mock

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxkit.api.in_memory import in_memory
from ctxkit.core import state as state_module
from ctxkit.core.item_names import Names
from ctxkit.core.ledger import build as build_ledger
from ctxkit.core.ops import Trim, to_body
from ctxkit.core.replay import fold
from ctxkit.core.transcript import OpLine
from ctxkit.errors import DamagedOp, Misfit
from tests import build, lawful
from tests.core.plain import PlainBoard
from tests.effort import examples

UNDOS = st.builds(lawful.Command, st.sampled_from(["undo", "redo", "mark", "rewind"]))
NUMBERS = st.sampled_from(["1", "2-4", "3,6", "5-8", "7-9", "4"])
PLACES = st.integers(1, 8)
OPS = st.one_of(
    st.builds(
        "{} {}".format,
        st.sampled_from(["forget", "remember", "recall", "protect", "compact", "trim"]),
        NUMBERS,
    ),
    st.builds("restore {}{}".format, NUMBERS, st.sampled_from(["", " mode=place v=2"])),
    st.builds("undo @{}".format, st.integers(1, 8)),
    st.builds("rewind to=@{}".format, st.integers(1, 8)),
    st.sampled_from(["mark", "mark", "clear", "edit 2,5,3:x", "interrupted", "restore 1,new:y mode=replace"]),
)


def specs(ops: list[str]) -> str:
    """A log of nine messages and these ops; what names no earlier op, or no mark, becomes a mark."""
    found: list[str] = []
    for op in ops:
        number = int(op.partition("@")[2].partition(".")[0] or 0)
        fits = number <= len(found) and (not op.startswith("rewind") or found[number - 1] == "mark")
        found.append(op if fits else "mark")
    return " | ".join(["1-9", *found])


@given(st.lists(OPS, max_size=8))
def test_undo_of_the_newest_op_restores_the_context(ops: list[str]) -> None:
    """Whatever it was; and a redo brings it back."""
    if not ops:
        return
    before, after = build.state(specs(ops[:-1])), build.state(specs(ops))
    undone = build.state(specs(ops) + f" | undo @{len(ops)}")
    assert picture(undone) == picture(before)
    redone = build.state(specs(ops) + f" | undo @{len(ops)} | undo @{len(ops) + 1}")
    assert picture(redone) == picture(after)


@given(st.lists(OPS, max_size=8), st.integers(1, 8))
def test_a_void_op_is_as_if_never_written(ops: list[str], gone: int) -> None:
    """Undoing an older op gives what the log would give without it, a rewind's target aside (replay 7)."""
    spec = specs(ops).split(" | ")
    if gone >= len(spec) or spec[gone] == "mark" or any("@" in part for part in spec):
        return
    without = " | ".join([*spec[:gone], "window null", *spec[gone + 1 :]])
    assert picture(build.state(" | ".join([*spec, f"undo @{gone}"]))) == picture(build.state(without))


@given(st.lists(OPS, max_size=8), NUMBERS)
def test_nothing_forgotten_is_told(ops: list[str], numbers: str) -> None:
    """After a forget no item that is shown tells what was forgotten."""
    state = build.state(specs([*ops, f"forget {numbers}"]))
    forgotten = build.Names.parse(numbers)
    assert not state.shown().meets(forgotten)
    assert [
        name for name, item in state.board.items.items() if name in state.shown() and item.tells.meets(forgotten)
    ] == []


BY_NAME = st.builds("{} {}@{}.1".format, st.sampled_from(["forget", "compact"]), st.sampled_from(["", "8,"]), PLACES)
COMPACTS = st.builds("compact {}{}".format, NUMBERS, st.sampled_from(["", "", " text=none"]))


@given(st.lists(OPS | BY_NAME | COMPACTS, max_size=12))
@settings(max_examples=examples(300))
def test_what_is_found_by_names_is_what_a_look_at_everything_finds(ops: list[str]) -> None:
    """The board beside the simplest one."""
    spec = specs(ops)
    found = build.state(spec)
    with mock.patch.object(state_module, "Board", PlainBoard):
        expected = build.state(spec)
    assert isinstance(expected.board, PlainBoard)
    assert picture(found) == picture(expected) and found.warnings == expected.warnings
    assert [found.board.items, found.board.keys, found.board.telling] == [
        expected.board.items, expected.board.keys, expected.board.telling,
    ]  # fmt: skip
    assert found.board.outs == [out for out in expected.board.outs if out.names]
    assert (found.present(), found.board.effective) == (expected.present(), expected.board.effective)


def test_a_shortened_summary_tells_nothing_that_was_forgotten() -> None:
    """Told again after the trim, or before it, when the forget was undone as the trim was made (replay 9)."""
    made = "1-9 | compact 2-8 text=A+B+C"
    cut = 'trim ids= stubs={"@1.1":"A…C"}'
    again = 'forget 4 summaries=[{"op":"@1","text":"A+B"}]'
    state = build.state(f"{made} | {cut}")
    [name] = state.board.items
    assert state.board.stubs == {name: "A…C"}
    for ops in (f"{cut} | {again}", f"{again} | undo @2 | {cut} | undo @3"):
        assert build.state(f"{made} | {ops}").board.stubs == {}
    for ops in (f"{cut} | {again} | undo @3", f"{again} | undo @2 | {cut}"):
        assert build.state(f"{made} | {ops}").board.stubs == {name: "A…C"}
    assert build.state(f"{made} | {cut} | recall @1.1").board.stubs == {}


@given(st.lists(OPS, max_size=8))
def test_nothing_is_hidden_by_a_summary_that_is_gone(ops: list[str]) -> None:
    """What is out for a compact's sake alone is summarized that is shown."""
    state = build.state(specs(ops))
    shown = state.shown()
    told = [item.tells for name, item in state.board.items.items() if name in shown]
    for n in state.present().numbers:
        if build.taken_by(state, n) == ["compact"]:
            assert any(n in names for names in told), n


@given(st.lists(OPS, max_size=8))
def test_a_fold_looks_back_as_it_was(ops: list[str]) -> None:
    """`--at` the last op is the log itself; `--at` an earlier one is the log that ended there."""
    spec = specs(ops).split(" | ")
    for number in range(1, len(spec)):
        assert picture(build.state(" | ".join(spec), at=number)) == picture(build.state(" | ".join(spec[: number + 1])))


def picture(state: build.State) -> list[object]:
    """All that a context consists of."""
    board = state.board
    words = {str(name): item.message for name, item in board.items.items() if name in state.shown()}
    return [build.shown(state), words, board.stubs, str(board.protected), state.windows, [m.op for m in state.marks]]


@given(records=lawful.conversations(), commands=st.lists(lawful.COMMANDS | lawful.TO_COME | UNDOS, max_size=12))
@example(
    records=[{"role": "user", "content": "long " * 99}] * 9,
    commands=[lawful.Command(name, 4, 2) for name in ("protect", "mark", "compact", "forget", "rewind", "undo")],
)
@settings(max_examples=examples(150), deadline=None)
def test_a_log_that_grows_is_not_replayed_anew(records: lawful.Records, commands: list[lawful.Command]) -> None:
    """After each op and each message its state, and a view of it with an op, is what a replay of the whole has; and
    the state before is as it was.
    """
    log = in_memory()
    log.clock = lambda: lawful.NOW
    records = list(records)
    for step in (*commands, *records):  # both while there are some, in turns
        before = log.state(), seen(log.state())
        if records:
            log.add_message(records.pop(0), as_it_is=True)
            assert seen(log.state()) == seen(fold(log.transcript, build_ledger(log.transcript)))
        if isinstance(step, lawful.Command):
            lawful.tried(log, step)
        assert seen(log.state()) == seen(fold(log.transcript, build_ledger(log.transcript)))
        made = log.stamp(Trim(at=log.here(), ids=str(Names.of(list(log.state().shown())[:2])), stubs={"3": "short"}))
        lines = [*log.transcript.ops, OpLine(to_body(made), log.transcript.rows, len(log.messages))]
        whole = msgspec.structs.replace(log.transcript, ops=lines)
        assert seen(log.state_with(made)) == seen(fold(whole, build_ledger(whole), force=True))
        assert seen(before[0]) == before[1]


def seen(state: build.State) -> list[object]:
    """All that later ops and contexts depend on."""
    steps = [state.steps.members(n) for n in range(1, state.count + 1)]
    kept = [state.board.keys, state.board.effective, state.ended, state.boundaries, state.representation]
    absent, numbers = state.board.absent(), [entry.number for entry in state.ledger.entries]
    return [*picture(state), *map(repr, kept), absent, numbers, state.dropped.keys(), steps, state.last, state.warnings]


def test_force_folds_what_does_not_fit() -> None:
    """`--force-replay`: refused without it; with it, what can be applied is, and all of it is named."""
    spec = "1-4 | forget 2 at=9 | undo @9 | forget 3 last=x | forget q"
    with pytest.raises(Misfit):
        build.state(spec)
    state = build.state(spec, force=True)
    assert build.shown(state) == "1,4"
    assert state.warnings == [
        "op 1 (forget) does not fit: it was written when the log had 9 messages, there are 4: applied all the same",
        "op 2 (undo) names op a9, which the log does not have before it: ignored",
        "op 3 (forget) does not fit: message 4 is not the one that it was written after: applied all the same",
        "op 4 (forget) cannot be read: not a number or a range: 'q': ignored",
    ]


def test_the_first_misfit_is_said() -> None:
    """In the order of the ops."""
    with pytest.raises(DamagedOp, match="op 1"):
        build.state("1-4 | forget 2 sum=x | forget 3 at=9")


def test_ops_without_an_id_are_no_targets() -> None:
    """An empty id is not a name."""
    with pytest.raises(Misfit, match="names op "):
        build.state("1-4 | interrupted id=none | rewind to=")


def test_huge_numbers_cost_nothing() -> None:
    """A line written by hand may say anything."""
    state = build.state(
        '1-4 | compact 1-99999999999999999999 | protect 1-9999999999999 | trim ids= stubs={"9999999999":"x"}'
    )
    assert build.shown(state) == "1-4"
    assert str(state.board.protected) == "1-4"


def test_a_retelling_may_name_anything() -> None:
    """Words for what is not there are ignored."""
    spec = '1-4 | forget 2 summaries=[{"op":"a9.²","text":"x"},{"op":"","keep":true}]'
    assert build.shown(build.state(spec)) == "1,3-4"


def test_an_item_may_claim_to_stem_from_itself() -> None:
    """And from what comes later, or from nothing: then it stems from nothing."""
    state = build.state("1-4 | edit @1.1:a,@1.3:b,@9.1:c,9:d")
    assert [item.origin for item in state.board.items.values()] == [None] * 4


def test_folding_twice_gives_the_same() -> None:
    """The ledger and the transcript are not used up."""
    records = build.log("1-9 | compact 2-4 | mark | compact 6-7 | forget 3 | rewind | recall 2")
    transcript = build.transcript(records)
    ledger = build_ledger(transcript)
    assert picture(fold(transcript, ledger)) == picture(fold(transcript, ledger))
