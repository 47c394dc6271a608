"""History: after each op the state that a replay of the log up to it gives, and a word about each name that changed."""

from __future__ import annotations

import io
import random
from bisect import bisect_left
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxkit.api.log import Log
from ctxkit.core import replay
from ctxkit.core.item_names import Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.op_fit import adrift
from ctxkit.core.replay import Fold, History, fold
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State
from ctxkit.core.transcript import ProgramCut, Transcript
from tests.cli.runner import SMALL, lines
from tests.effort import examples
from tests.formats.codex import logs as codex
from tests.lawful import COMMANDS, TO_COME, Command, Records, as_bytes, conversations, opened, tried
from tests.shared import SHARED

pytestmark = pytest.mark.full("the states after each op")

UNDOS = st.builds(Command, st.sampled_from(["undo", "undo", "redo", "mark", "rewind"]))


def shape(state: State) -> list[object]:
    """What of a state later ops and contexts depend on."""
    board = state.board
    items = {name: (item.message, str(item.tells)) for name, item in board.items.items()}
    marks = [(mark.op, mark.position) for mark in state.marks]
    return [str(state.shown()), items, board.stubs, board.keys, marks, state.windows, str(board.protected)]


@given(records=conversations(), commands=st.lists(COMMANDS | TO_COME | UNDOS, max_size=16))
@settings(max_examples=examples(200))
def test_as_a_replay_has_it(records: Records, commands: list[Command]) -> None:
    """Whatever was undone, redone, rewound."""
    log = opened(as_bytes(records))
    for command in commands:
        tried(log, command)
    played(log)


def played(log: Log, after: int = 0) -> None:
    """Each step as a replay of the ops up to it has it."""
    found = History(log.transcript, log.ledger, adrift(log.ledger.entries), after=after)
    shown, stubs = found.state.shown(), dict(found.state.board.stubs)
    for entry in log.ledger.entries[after:]:
        touched = found.play(entry)
        expected = fold(log.transcript, log.ledger.upto(entry.number), force=True)
        assert shape(found.state) == shape(expected)
        assert found.state.among(touched) == touched & expected.shown()
        assert shown - touched == expected.shown() - touched
        shown = expected.shown()
        other = {name for name in {*stubs, *expected.board.stubs} if stubs.get(name) != expected.board.stubs.get(name)}
        assert Names.of(other).within(touched)
        stubs = dict(expected.board.stubs)


COMPACT = {"ctxkit": "compact", "ids": "3-6", "text": "S"}
LITERAL = {"message": {"role": "user", "content": "L"}, "from": 4}
TALES = {
    "parts that are out": [
        {"ctxkit": "forget", "v": 2, "ids": "", "parts": {"3": [0]}},
        {"ctxkit": "trim", "ids": "", "stubs": {"3": "[cut]"}},
        {"ctxkit": "trim", "v": 2, "ids": "", "parts": {"5": [0]}}, "undo 1", "undo 3", "undo 4", "undo 2",
    ],
    "a summary that is dropped": [COMPACT, {"ctxkit": "forget", "ids": "4"}, "undo 1", "undo 2", "undo 3"],
    "a summary that is told anew": [
        COMPACT, {"ctxkit": "forget", "ids": "4", "summaries": [{"op": "o1", "text": "T"}]}, {"ctxkit": "mark"},
        {"ctxkit": "forget", "ids": "o1.1"}, "undo 4", "undo 2", "undo 6", "undo 1",
    ],
    "a summary of summaries": [
        COMPACT, {"ctxkit": "compact", "ids": "5-8", "text": "S2", "stubs": {"9": "[cut]"}}, "undo 2", "undo 1",
        {"ctxkit": "compact", "ids": "2-9"}, "undo 5",
    ],
    "what was recalled": [
        {"ctxkit": "forget", "ids": "3-5"}, {"ctxkit": "mark"}, {"ctxkit": "trim", "ids": "", "stubs": {"8": "[cut]"}},
        {"ctxkit": "recall", "ids": "4,8"}, "undo 4", {"ctxkit": "forget", "ids": "8"},
        {"ctxkit": "recall", "ids": "3-8"}, "undo 7", "undo 1",
    ],
    "a rewind past what told": [
        {"ctxkit": "mark"}, COMPACT, {"ctxkit": "trim", "ids": "8", "stubs": {"9": "[cut]", "10": "[cut]"}},
        {"ctxkit": "forget", "ids": "11"}, {"ctxkit": "rewind", "to": "o1"}, {"ctxkit": "mark"}, "undo 5", "undo 7",
        "undo 3", "undo 8", {"ctxkit": "recall", "ids": "9"}, {"ctxkit": "rewind", "to": "o1"}, "undo 12",
    ],
    "what an edit brings": [
        {"ctxkit": "edit", "items": [{"n": 2}, LITERAL, {"n": 9}]}, {"ctxkit": "forget", "ids": "9,o1.2"}, "undo 2",
        {"ctxkit": "restore", "mode": "append", "items": [LITERAL, {"n": 7}]}, {"ctxkit": "mark"},
        {"ctxkit": "rewind", "to": "o5"}, {"ctxkit": "trim", "ids": "", "stubs": {"o4.1": "[cut]"}}, "undo 1",
        {"ctxkit": "clear"}, "undo 8", {"ctxkit": "recall", "ids": "1-12"}, "undo 9",
    ],
}  # fmt: skip
"""Ops o1, o2 ...; "undo 3" is one of these."""


@pytest.mark.parametrize("tale", TALES.values(), ids=TALES)
def test_tales(tale: list[dict[str, Any] | str]) -> None:
    """What hangs on other ops."""
    rows: Records = [{"role": "user", "content": f"message {n}"} for n in range(1, 13)]
    for number, op in enumerate(tale, start=1):
        body = {"ctxkit": "undo", "op": f"o{op.split()[1]}"} if isinstance(op, str) else op
        rows.append({**body, "id": f"o{number}", "at": {"messages": 12}})
    log = opened(as_bytes(rows))
    assert not [entry.fault for entry in log.ledger.entries if entry.fault]
    played(log)
    played(log, after=len(log.ledger.entries) // 2)


USUAL = ("compact", "compact", "compact", "undo", "undo", "undo", "forget", "recall", "trim", "mask", "bare", "mark",
         "protect", "window")  # fmt: skip
RARE = ("rewind", "clear", "edit", "restore", "own", "name", "redo")


def crowded(seed: int, count: int = 50) -> Records:
    """A log whose ops overlap, hold each other, and are undone in any order."""
    chosen, messages = random.Random(seed), 40
    kinds = USUAL * 4 + RARE * (seed % 3)
    rows: Records = [{"role": "user", "content": f"message {n}"} for n in range(1, messages + 1)]
    marks, undos = ["gone"], ["gone"]
    for number in range(1, count + 1):
        kind, low = chosen.choice(kinds), chosen.randint(1, messages)
        high = min(messages, low + chosen.choice([0, 1, 1, 3, 3, 8, 40]))
        some = f"{low}-{high}"
        op: dict[str, Any] = {"ctxkit": kind, "id": f"o{number}", "at": {"messages": messages}, "ids": some}
        match kind:
            case "compact":
                op |= {"ids": f"2-{high}" if seed % 2 else some, "text": f"summary {number}"}
            case "mask" | "bare":
                stubs = {str(low): "[cut]"} if kind == "mask" else {}
                op |= {"ctxkit": "compact", "ids": f"{low + 1}-{high}" if low < high else "", "stubs": stubs}
            case "trim":
                op["stubs"] = {str(chosen.randint(1, messages)): "[cut]"}
            case "forget" if chosen.random() < 0.6:
                told = {"op": f"o{chosen.randint(1, number)}"}
                op["summaries"] = [told | chosen.choice([{"text": "again"}, {"keep": True}])]
            case "name":
                op |= {"ctxkit": chosen.choice(["forget", "recall", "compact"]), "text": "named"}
                op["ids"] = f"{chosen.choice(['', some + ','])}o{chosen.randint(1, number)}.1"
            case "undo" | "redo":
                op |= {
                    "ctxkit": "undo",
                    "op": chosen.choice(undos) if kind == "redo" else f"o{chosen.randint(1, number)}",
                }
                undos.append(f"o{number}")
            case "mark":
                marks.append(f"o{number}")
            case "rewind":
                op["to"] = chosen.choice(marks)
            case "window":
                op |= {"seconds": chosen.choice([None, 0, 60]), "agent": chosen.choice([None, "a"])}
            case "edit" | "restore" | "own":
                stem = {"from": f"o{chosen.randint(1, number)}.1"} if kind == "own" else {}
                literal = {"message": {"role": "user", "content": f"said {number}"}, **stem}
                op |= {"ctxkit": "restore" if kind == "own" else kind, "items": [{"n": low}, literal]}
        rows.append(op)
    return rows


@pytest.mark.parametrize("seed", range(60))
def test_undone_in_any_order(seed: int) -> None:
    """Overlapping compacts, one within the other, told again, recalled, masked, by name."""
    log = opened(as_bytes(crowded(seed)))
    log.force = True
    played(log)
    played(log, after=len(log.ledger.entries) // 2)


def test_what_voids_nothing_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ops there are; and an undo plays few of them again, mostly of the newest."""
    log = opened(as_bytes([{"role": "user", "content": "x"} for _ in range(100)]))
    for n in range(2, 80):
        log.forget(str(n))
    for _ in range(20):
        log.forget("90")
        log.undo()
    numbers: list[int] = []
    real = Fold.op
    monkeypatch.setattr(Fold, "op", lambda self, entry, op: numbers.append(entry.number) or real(self, entry, op))
    found = History(log.transcript, log.ledger, after=0)
    for entry in log.ledger.entries[:78]:
        found.play(entry)
    assert numbers == list(range(1, 79))
    for entry in log.ledger.entries[78:]:
        found.play(entry)
    assert len(numbers) < 78 + 40 * 5


def test_the_copies_are_few() -> None:
    """Of so many ops that are undone from the newest to the oldest only some states are kept, and all are right."""
    log = opened(as_bytes([{"role": "user", "content": "x"} for _ in range(100)]))
    for n in range(2, 92):
        log.forget(str(n))
    for _ in range(60):
        log.undo()
    with mock.patch.object(replay, "KEPT", 4):
        played(log)


REAL = [
    path for kind in ("claude-code", "codex", "pi") for path in sorted((SHARED / "transcripts" / kind).glob("*.jsonl"))
]
KINDS = ("mark", "mark", "forget", "compact", "compact", "trim", "rewind", "rewind", "undo", "undo", "clear", "edit",
       "restore", "recall", "protect")  # fmt: skip


def written(seed: int, count: int) -> bytes:
    """The small log with that many ops behind it, any op on anything."""
    chosen = random.Random(seed)
    rows, marks = [], ["gone"]
    for k in range(count):
        kind, some = chosen.choice(KINDS), f"{(low := chosen.randint(1, 9))}-{chosen.randint(low, 11)}"
        op: dict[str, object] = {"ctxkit": kind, "v": 1, "id": f"o{k}", "at": {"messages": 11}}
        match kind:
            case "mark":
                marks.append(f"o{k}")
            case "rewind":
                op["to"] = chosen.choice(marks[-3:])
            case "undo":
                op["op"] = f"o{chosen.randint(max(0, k - 4), k)}"
            case "edit" | "restore":
                literal: dict[str, object] = {"message": {"role": "user", "content": f"said {k}"}}
                op["items"] = [{"n": chosen.randint(1, 11)}, literal]
                after = chosen.choice([{}, {"after": chosen.randint(0, 12)}, {"after": ".1"}, {"after": f"o{k - 3}.2"}])
                literal |= {**after, **chosen.choice([{}, {"from": 3}, {"from": f"o{chosen.randint(0, 9)}.1"}])}
                op |= {"mode": chosen.choice(["replace", "append", "place"]), "v": 2} if kind == "restore" else {}
            case "compact":
                op |= {"ids": some, "text": f"summary {k}"}
            case "trim":
                op |= {"ids": some, "stubs": {"10": "short"}}
            case "clear":
                op["keep"] = chosen.choice(["", "1-2"])
            case _:
                op["ids"] = some
        rows.append(op)
    return SMALL + lines(*rows)


def _until(transcript: Transcript, place: int) -> Transcript:
    """Without what its program cut later on."""
    if transcript.view is None:
        return transcript
    cuts = [cut for cut in transcript.view.cuts if cut.row < place]
    return replace(transcript, view=replace(transcript.view, cuts=cuts))


def agrees(log: Log) -> int:
    """How many ops were watched; each with the state that a replay up to it comes to."""
    found = History(log.transcript, log.ledger, adrift(log.ledger.entries))
    seen, before, items = 0, found.state.shown(), Names()
    for _, _, what in found.events:
        touched = found.play(what)
        now = found.state.shown()
        assert before - touched == now - touched
        assert found.state.among(touched | items) == (touched | items) & now
        before, items = now, Names(items=found.state.board.items)
        if isinstance(what, LedgerEntry):
            then = fold(_until(log.transcript, what.place), log.ledger.upto(what.number), force=True)
            arrived = Names(Ranges.span(1, bisect_left(log.transcript.row_of, what.place)), items.items)
            assert now & arrived == then.shown() & arrived, what.number
            assert found.state.board.stubs == then.board.stubs and len(found.state.marks) == len(then.marks)
            seen += 1
    return seen


@pytest.mark.parametrize("seed", range(40))
def test_every_op_as_it_was(seed: int) -> None:
    """Ops that undo others among them: what they void was in force before."""
    assert agrees(Log.open(io.BytesIO(written(seed, 25)), env={})) > 10


def test_what_is_not_played() -> None:
    """Ops that nobody knows, that cannot be read, or whose target is missing."""
    odd = [{"ctxkit": "odd", "v": 1, "id": "a"}, {"ctxkit": "forget", "v": 1, "id": "b", "at": {"messages": 11}},
           {"ctxkit": "rewind", "v": 1, "id": "c", "at": {"messages": 11}, "to": "nobody"}]  # fmt: skip
    log = Log.open(io.BytesIO(SMALL + lines(*odd)), env={})
    assert History(log.transcript, log.ledger, adrift(log.ledger.entries)).events == []


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_cuts_of_real_sessions(path: Path) -> None:
    """All cuts come, in order, and the last state is the session's."""
    log = Log.open(path)
    found = History(log.transcript, log.ledger)
    watched = [what for _, _, what in found.events if [found.play(what)]]
    view = log.transcript.view
    assert view is not None and [what for what in watched if isinstance(what, ProgramCut)] == sorted(
        view.all_cuts, key=lambda cut: cut.row
    )
    assert found.state.shown() == log.state().shown()


OURS = ("forget", "forget", "trim", "recall", "compact", "edit", "mark", "rewind", "undo", "undo")


def cut_short(seed: int) -> bytes:
    """A Codex session whose program compacts and rolls back, with ops of ours in between."""
    chosen = random.Random(seed)
    rows: list[dict[str, Any]] = [codex.row("meta")]
    marks: list[str] = []
    n = turns = 0
    for k in range(60):
        kind = chosen.choice(["user", "user", "say", "say", "say", "compact", "rollback", "op", "op", "op", "op", "op"])
        match kind:
            case "user" | "say":
                rows.append(codex.row(f"{kind}:{k}"))
                n, turns = n + 1, turns + (kind == "user")
            case "compact" if turns:
                rows.append(codex.row(f"compact user:{k},user:short"))
                n, turns = n + 1, 1
            case "rollback" if turns:
                rows.append(codex.row("rollback:1"))
                turns -= 1
            case "op" if n:
                name = chosen.choice(
                    ["forget", "forget", "trim", "recall", "compact", "edit", "mark", "rewind", "undo"]
                )
                some = f"{(low := chosen.randint(1, n))}-{chosen.randint(low, n)}"
                op: dict[str, Any] = {"ctxkit": name, "v": 1, "id": f"o{k}", "at": {"messages": n}, "ids": some}
                op |= {"text": "sum"} if name == "compact" else {"stubs": {str(low): "cut"}} if name == "trim" else {}
                op |= {"items": [{"n": low}, {"message": {"role": "user", "content": "x"}}]} if name == "edit" else {}
                op |= {"op": f"o{chosen.randint(max(0, k - 12), k)}"} if name == "undo" else {}
                op |= {"to": chosen.choice(marks or ["gone"])} if name == "rewind" else {}
                marks += [f"o{k}"] if name == "mark" else []
                rows.append(op)
    return lines(*rows)


@pytest.mark.parametrize("seed", range(40))
def test_ops_among_cuts(seed: int) -> None:
    """What undoes ops of before a cut, or rewinds to before one."""
    log = Log.open(io.BytesIO(cut_short(seed)), env={})
    log.force = True
    found = agrees(log)
    assert found > 5 and found == len(log.ledger.entries) - len(adrift(log.ledger.entries))
