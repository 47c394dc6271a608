"""What `why` says brings a message back, does: run for real on a copy of the log."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core.reasons import Reasons
from ctxkit.core.select import parse_ids
from ctxkit.core.visibility import Visibilities
from ctxkit.explain.remedies import Remedies
from tests.cli.runner import FOREIGN
from tests.effort import examples
from tests.lawful import COMMANDS, CONDENSE, DRAFTS, TO_COME, Command, Records, as_bytes, conversations, opened, tried
from tests.remedies import alike, proved, sequence
from tests.whole import FILES, FORMATS


@settings(max_examples=examples(30))
@given(conversations(), st.lists(st.one_of(COMMANDS, COMMANDS, TO_COME, DRAFTS, CONDENSE), min_size=1, max_size=8))
def test_the_commands_are_enough(records: Records, commands: list[Command]) -> None:
    """Every kind of hidden message of a small log, after any ops."""
    log = opened(as_bytes(records))
    for command in commands:
        if command.name != "draft" or log.state().count:
            tried(log, command)
    for name, remedy in alike(log):
        proved(log, name, remedy)


AT = {"messages": 4, "rows": 4}
TALK = [
    {"role": ("user", "assistant")[n % 2], "content": str(n + 1), "ts": f"2026-02-01T1{n}:00:00Z"} for n in range(4)
]


def op(name: str, key: str, **fields: Any) -> dict[str, Any]:
    return {"ctxkit": name, "v": 1, "id": key, "at": AT, **fields}


def said(ops: Records, label: str) -> tuple[tuple[str, ...], str, str]:
    """The commands, who leaves, and why there are none; proved where there are some."""
    log = opened(as_bytes([*TALK, *ops]))
    [name] = parse_ids(log.state(), [label], gone=True)
    [remedy] = Remedies(log).of([name]).values()
    proved(log, name, remedy)
    return tuple(one.removeprefix("ctxkit ") for one in remedy.commands), log.state().say(remedy.leave), remedy.text


EDIT = op("edit", "e", items=[{"n": 1}, {"message": {"role": "user", "content": "new"}}])
COMPACT = op("compact", "c", ids="1-2", text="both")


@pytest.mark.parametrize(
    ("ops", "label", "commands", "leave"),
    [
        ([op("forget", "f", ids="2-3")], "2", ["recall LOG 2 --apply"], ""),
        ([op("forget", "f", ids="2"), op("forget", "g", ids="1-3")], "2", ["recall LOG 2 --apply"], ""),
        ([op("clear", "k")], "2", ["undo LOG 1"], ""),
        ([op("forget", "f", ids="2"), op("clear", "k")], "2", ["undo LOG 2", "recall LOG 2 --apply"], ""),
        ([op("clear", "k"), op("clear", "l")], "2", ["undo LOG 2", "undo LOG 1"], ""),
        ([EDIT], "2", ["undo LOG 1"], "1.2"),
        ([EDIT, op("undo", "u", op="e")], "1.2", ["undo LOG 2"], "2-4"),
        ([COMPACT], "1", ["recall LOG 1 --apply"], ""),
        ([COMPACT, op("compact", "d", ids="1-4", text="all")], "1.1", ["undo LOG 2"], "2.1"),
        ([op("mark", "m"), COMPACT, op("rewind", "r", to="m")], "2.1", ["undo LOG 3"], "1-2"),
        ([op("window", "w", seconds=3600)], "2", ["window LOG off"], ""),
        (
            [op("window", "w", seconds=3600), op("forget", "f", ids="1")], "1",
            ["recall LOG 1 --apply", "window LOG off"], "",
        ),
        ([{"ctxkit": "interrupted"}], "3", ["recall LOG 3 --apply"], ""),
    ],
)  # fmt: skip
def test_the_least_that_is_enough(ops: Records, label: str, commands: list[str], leave: str) -> None:
    """The fewest commands, by which the fewest others leave; items of ops that are undone or superseded, too."""
    assert said(ops, label) == (tuple(commands), leave, "")


def test_where_no_command_helps() -> None:
    """It is said, and why."""
    by_hand = {"ctxkit": "clear", "v": 1, "at": AT}
    assert said([by_hand], "2")[2].startswith("no command brings it back: op 1 (clear) has no id")
    other = FOREIGN.splitlines(keepends=True)[-1].replace(b'"u3"', b'"u4"').replace(b"more", b"instead")
    log = opened(FOREIGN + other)
    assert Remedies(log).of([3])[3].text.endswith("only its own program can go back to it (branch)")


def test_beyond_the_newest(tmp_path: Path) -> None:
    """What is protected is not counted."""
    log = Log.open(io.BytesIO(as_bytes(TALK)), env={"CTXKIT_WINDOW_MESSAGES": "2"})
    remedy = Remedies(log).of([2])[2]
    assert remedy.commands == ("ctxkit protect LOG 2",) and not remedy.leave
    log.protect("2")
    assert log.names() == [2, 3, 4]


def test_many_alike_are_proved_at_once() -> None:
    """Thousands of messages that ops of the same kinds keep out are no thousands of replays."""
    forgets = (op("forget", f"f{n}", ids=f"{n}-{n + 9}") | {"at": {"messages": 2000}} for n in range(1, 1990, 10))
    log = opened(as_bytes([*({"role": "user", "content": str(n)} for n in range(2000)), *forgets]))
    log.clear()
    remedies = Remedies(log)
    with mock.patch.object(log, "state_with", wraps=log.state_with) as replays:
        found = remedies.of(range(1, 2001))
    assert found[5].commands == ("ctxkit undo LOG 200", "ctxkit recall LOG 5 --apply")
    assert found[1995].commands == ("ctxkit undo LOG 200",)
    assert replays.call_count < 12


def test_a_past_state_has_none() -> None:
    """Commands change the log as it is now."""
    log = opened(as_bytes([*TALK, op("forget", "f", ids="2"), op("undo", "u", op="f")]))
    assert Remedies(log.seen_at("1")).of([2]) == {}


def test_told_nowhere() -> None:
    """An edited summary that a rewind takes a part of goes whole; behind the edit, its originals stay out: said."""
    ops = [
        op("mark", "m"), op("compact", "c", ids="1-4", text="all"),
        op("edit", "e", items=[{"message": {"role": "user", "content": "All"}, "from": "c.1"}]),
        {**op("rewind", "r", to="m"), "at": {"messages": 4, "rows": 4}},
    ]  # fmt: skip
    ops[0]["at"] = {"messages": 2, "rows": 4}
    log = opened(as_bytes([*TALK, *ops]))
    why = Reasons(Visibilities(log.state(), log.projection()))
    assert "summarized in 3.1 until op 4 removed that summary: it is in no text now" in [
        reason.text for reason in why.of(1)
    ]
    assert said(ops, "3.1")[0] == ("undo LOG 4",)
    assert said(ops, "1")[0] == ("undo LOG 3",)


@pytest.mark.parametrize("name", FORMATS)
def test_on_real_sessions(name: str) -> None:
    """A part of `just remedies`."""
    if not FILES[name]:
        pytest.skip("no shared transcripts")
    sequence(name, 1)
