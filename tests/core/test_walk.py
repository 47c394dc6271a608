"""Walk: after each op the state that a replay of the log up to it gives, and a word about every name that changed."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.core import walk
from ctxkit.core.names import Names
from ctxkit.core.replay import Fold, fold
from ctxkit.core.state import State
from ctxkit.core.walk import Walk
from ctxkit.log import Log
from tests.lawful import COMMANDS, TO_COME, Command, Records, as_bytes, conversations, opened, tried

UNDOS = st.builds(Command, st.sampled_from(["undo", "undo", "redo", "mark", "rewind"]))


def shape(state: State) -> list[object]:
    """What of a state later ops and contexts depend on."""
    board = state.board
    items = {name: (item.message, str(item.tells)) for name, item in board.items.items()}
    marks = [(mark.op, mark.position) for mark in state.marks]
    return [str(state.shown()), items, board.stubs, board.keys, marks, state.windows, str(board.protected)]


@given(records=conversations(), commands=st.lists(COMMANDS | TO_COME | UNDOS, max_size=16), kept=st.integers(1, 9))
@settings(max_examples=200)
def test_as_a_replay_has_it(records: Records, commands: list[Command], kept: int) -> None:
    """Whatever was undone, redone, rewound; wherever states are kept."""
    log = opened(as_bytes(records))
    for command in commands:
        tried(log, command)
    walked(log, kept)


def walked(log: Log, kept: int) -> None:
    """Each step as a replay of the ops up to it has it."""
    with mock.patch.object(walk, "SAVED", kept), mock.patch.object(walk, "MOST", 4):
        found = Walk(log.transcript, log.ledger)
        shown = found.state.shown()
        for entry in log.ledger.entries:
            touched = found.play(entry)
            expected = fold(log.transcript, log.ledger.upto(entry.number))
            assert shape(found.state) == shape(expected)
            assert touched is not None
            now = found.among(touched) if found.back else Names()
            assert now == touched & expected.shown()
            assert shown - touched == expected.shown() - touched
            shown = expected.shown()


COMPACT = {"ctxkit": "compact", "ids": "3-6", "text": "S"}
LITERAL = {"message": {"role": "user", "content": "L"}, "from": 4}
TALES = {
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


@pytest.mark.parametrize("kept", [1, 2, 5, 99])
@pytest.mark.parametrize("tale", TALES.values(), ids=TALES)
def test_tales(tale: list[dict[str, Any] | str], kept: int) -> None:
    """What hangs on other ops."""
    rows: Records = [{"role": "user", "content": f"message {n}"} for n in range(1, 13)]
    for number, op in enumerate(tale, start=1):
        body = {"ctxkit": "undo", "op": f"o{op.split()[1]}"} if isinstance(op, str) else op
        rows.append({**body, "id": f"o{number}", "at": {"messages": 12}})
    log = opened(as_bytes(rows))
    assert not [entry.fault for entry in log.ledger.entries if entry.fault]
    walked(log, kept)


def test_an_undo_goes_back_no_further_than_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of ops, and each undo plays a few of them again."""
    log = opened(as_bytes([{"role": "user", "content": "x"} for _ in range(300)]))
    for n in range(2, 250):
        log.forget(str(n))
    for _ in range(40):
        log.forget("260")
        log.undo()
    played: list[int] = []
    real = Fold.op
    monkeypatch.setattr(Fold, "op", lambda self, entry, op: played.append(entry.number) or real(self, entry, op))
    found = Walk(log.transcript, log.ledger)
    for entry in log.ledger.entries:
        found.play(entry)
    assert len(played) < 330 + 40 * 2 * walk.SAVED
