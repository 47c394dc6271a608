"""Sizes: that before and after each op, from op to op; the same as a look back at each of them, counted whole."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core.context import entry, shown_names
from ctxkit.core.derive.usage import whole
from ctxkit.measure.count import Counting
from ctxkit.measure.per_op import ContextSize, OpSizes
from ctxkit.measure.size import Measuring, around
from tests.cli.runner import SMALL, lines
from tests.effort import examples
from tests.lawful import COMMANDS, ROOT, TO_COME, Command, Records, as_bytes, conversations, opened, tried, turns
from tests.test_laws import SESSIONS

pytestmark = pytest.mark.full("the states after each op")

UNDOS = st.builds(Command, st.sampled_from(["undo", "undo", "redo", "mark", "rewind"]))
STEPS = st.lists(st.one_of(COMMANDS, TO_COME, UNDOS, turns(1)), max_size=14)


def looked_back(log: Log, at: str) -> ContextSize:
    """The whole context as it was, each message counted."""
    state, measuring = log.seen_at(at).state(), Measuring(Counting(log))
    held = [entry(state, name) for name in shown_names(state)]
    return ContextSize(len(held), whole(sum(measuring.entries(held)) + around(measuring)))


def agree(log: Log) -> None:
    found = list(OpSizes(log))
    assert [change.op.number for change in found] == list(range(1, len(log.ledger.entries) + 1))
    for change in found:
        number = change.op.number
        assert change.before == looked_back(log, f"{number}^"), f"before op {number} ({change.op.name})"
        assert change.after == looked_back(log, str(number)), f"after op {number} ({change.op.name})"


@given(records=conversations(), steps=STEPS)
@settings(max_examples=examples(150))
def test_native_logs(records: Records, steps: list[Any]) -> None:
    """Any commands, and messages between them."""
    stream = as_bytes(records)
    for step in steps:
        if isinstance(step, list):
            stream += as_bytes(step)
            continue
        log = opened(stream)
        tried(log, step)
        stream = b"".join(log.copy_out())
    agree(opened(stream))


@given(session=st.sampled_from(SESSIONS), share=st.floats(0.1, 1), steps=STEPS)
@settings(max_examples=examples(60))
def test_logs_of_other_programs(session: Path, share: float, steps: list[Any]) -> None:
    """Their rows come to other contexts as they grow: branches, compactions, further rows of a message."""
    rows = session.read_bytes().splitlines(keepends=True)
    cut = max(1, int(len(rows) * share))
    folder = Path(tempfile.mkdtemp(prefix="history-"))
    try:
        path = folder / "session.jsonl"
        path.write_bytes(b"".join(rows[:cut]))
        rest = rows[cut:]
        for step in steps:
            if isinstance(step, list):
                with path.open("ab") as file:
                    file.write(b"".join(rest[:2]))
                del rest[:2]
                continue
            tried(opened(path), step)
        agree(opened(path))
    finally:
        shutil.rmtree(folder)


def test_every_op_has_its_sizes() -> None:
    """What came between two ops shows as growth; ops that change nothing have the same size twice."""
    log = opened(SMALL)
    log.mark("a")
    log.forget("2-5")
    log = opened(b"".join(log.copy_out()) + lines({"role": "user", "content": "more words"}))
    log.rewind("a")
    log.undo()
    sizes = [(change.before, change.after) for change in OpSizes(log)]
    messages = [tuple(size.messages for size in pair if size is not None) for pair in sizes]
    assert messages == [(11, 11), (11, 7), (8, 7), (7, 8)]
    assert sizes[0][0] == sizes[0][1] == sizes[1][0] and sizes[2][1] == sizes[1][1]


def test_an_op_that_was_refused_has_none() -> None:
    """Until it was undone the log was refused; with --force-replay it was applied."""
    op = {"ctxkit": "forget", "id": "bad", "at": {"messages": 11, "last": "no such"}, "ids": "2-5"}
    undo = {"ctxkit": "undo", "id": "mend", "at": {"messages": 11}, "op": "bad"}
    dangling = {"ctxkit": "rewind", "id": "d", "at": {"messages": 11}, "to": "nothing"}
    raw = SMALL + lines(op, undo, {**dangling}, {**undo, "id": "mend2", "op": "d"})
    first, second, third, fourth = OpSizes(opened(raw))
    assert (first.before, first.after, third.after) == (None, None, None)
    assert second.before == second.after == fourth.after and second.after is not None and second.after.messages == 11
    forced = opened(raw)
    forced.force = True
    first, second, third, _ = OpSizes(forced)
    assert first.after is not None and first.after.messages == 7 and second.after == first.before
    assert third.after is None


def test_ops_that_nobody_knows() -> None:
    """They change nothing here."""
    at = {"messages": 11}
    raw = SMALL + lines({"ctxkit": "frobnicate", "id": "z", "at": at}, {"ctxkit": "mark", "v": 9, "id": "y", "at": at})
    assert [change.before == change.after != ContextSize(0, 0) for change in OpSizes(opened(raw))] == [True, True]
    assert list(OpSizes(opened(SMALL))) == []


def test_looking_back() -> None:
    """Of a past state only the ops up to it, as they stood then."""
    log = opened(SMALL)
    for n in ("2", "5"):
        log.forget(n)
    log.undo("1")
    log.at = "2"
    log._state = None
    assert [change.after.messages for change in OpSizes(log) if change.after] == [10, 9]


def test_each_message_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ops there are: the work is that of the messages and of what ops touched."""
    messages = [{"role": "user", "content": f"message {n}"} for n in range(300)]
    log = opened(as_bytes(messages))
    for n in range(60):
        log.forget(str(3 * n + 2))
        log.undo() if n % 3 == 0 else None
    counted: list[int] = []
    looked = Counting._together
    monkeypatch.setattr(Counting, "_together", lambda self, some: counted.append(len(some)) or looked(self, some))
    assert len(list(OpSizes(log))) == 80
    assert sum(counted) == 300


def test_the_guide() -> None:
    """Figures that `log --tokens` shows."""
    log = Log.open(ROOT / "fixtures/guide/chat.jsonl", env={})
    log.dry_run = True
    assert list(OpSizes(log)) == [] and OpSizes(log).counter.startswith("estimate for unknown model")
