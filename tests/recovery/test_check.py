"""check: everything that is wrong, and nothing that is not."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.recovery.check import check
from tests.build import lines as spec
from tests.cli.runner import SMALL, call, ctxkit, lines, message
from tests.damage.sessions import ALL
from tests.formats.claude_code.noting import raw
from tests.shared import transcripts


def found(raw: bytes, *, notes: bool = False) -> list[tuple[str, str]]:
    """Where and what."""
    return [(one.where, one.code) for one in check(Log.open(io.BytesIO(raw)), notes=notes)]


@pytest.mark.parametrize("raw", [b"", SMALL, spec("1-9 | mark a | forget 2 | rewind a | undo @2 | undo @4 | clear")])
def test_sound(raw: bytes) -> None:
    """Nothing to say about a sound log."""
    assert found(raw) == []


def test_lines() -> None:
    """Damage, and an id that is used twice."""
    assert found(SMALL + b"x\n") == [("line 12", "not-json")]
    op = {"ctxkit": "mark", "v": 1, "id": "a", "at": {"messages": 11, "rows": 11}}
    assert found(SMALL + lines(op, op)) == []
    assert found(SMALL + lines(op, op | {"label": "x"})) == [("line 13", "op-conflict")]


def test_ops() -> None:
    """What does not fit, what is damaged, what names nothing; void ones are marked so, unknown ones named."""
    raw = spec("1-4 | forget 2 | forget 3")
    rows = [json.loads(line) for line in raw.splitlines()]
    rows[4]["at"]["last"] = "0" * 12
    rows[5]["sum"] = "0" * 16
    at = rows[5]["at"]
    undo = {"ctxkit": "undo", "v": 1, "id": "u", "at": at, "op": "a1"}
    odd = {"ctxkit": "frobnicate", "v": 1, "id": "o", "at": at}
    lost = {"ctxkit": "undo", "v": 1, "id": "l", "at": at, "op": "zzz"}
    assert found(lines(*rows)) == [("op 1", "misfit"), ("op 2", "damaged-op")]
    assert found(lines(*rows, undo, odd, lost)) == [
        ("op 1", "misfit-void"), ("op 2", "damaged-op"), ("op 4", "unknown-op"), ("op 5", "dangling-op"),
    ]  # fmt: skip


def test_roles() -> None:
    """A role that nobody knows is noted, once with all its messages; others are nothing to say."""
    roles = ["user", "assitant", "Human", "exit", "tool_result", "x", "assitant", "assitant"]
    raw = lines(*(message(role, "text", n) for n, role in enumerate(roles)))
    assert found(raw) == []
    assert found(raw, notes=True) == [("messages 2,7-8", "unknown-role"), ("message 6", "unknown-role")]


def test_pairs() -> None:
    """A call without a result, unless it is the newest, which may be running; a result without a call, or a second
    copy of one.

    They are notes: ctxkit mends a request.
    """
    asked = message("assistant", "", 1, tool_calls=[call("A", "c1")])
    answer = message("tool", "x", 2, tool_call_id="c1")
    assert found(lines(asked)) == []
    assert found(lines(asked, answer)) == []
    later = message("assistant", "", 3, tool_calls=[call("A", "c2")])
    assert found(lines(asked, later), notes=True) == [("message 1", "no-result"), ("message 2", "open-call")]
    assert found(lines(asked, answer, answer), notes=True) == [("message 3", "second-copy")]
    assert found(lines(answer, asked), notes=True) == [("message 2", "open-call"), ("message 1", "no-call")]
    assert found(lines(answer, asked, later)) == []


def test_an_unanswered_call_before_later_talk_is_found(tmp_path: Path) -> None:
    """A call of a last step may still be running: a note; one that the conversation went past has no result."""
    call = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    records = [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "never mind"},
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records[:2]))
    assert Log.open(path).check() == []
    assert [(f.where, f.code) for f in Log.open(path).check(notes=True)] == [("message 2", "open-call")]
    assert ctxkit("check", path).code == 0 and ctxkit("check", path, "--fail-on", "notes").code == 1
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert [(f.where, f.code) for f in Log.open(path).check(notes=True)] == [("message 2", "no-result")]


@pytest.mark.parametrize("name", ALL)
def test_sound_sessions(name: str) -> None:
    """Nothing is found in a sound session of any format; some keep a call and its result in one message."""
    assert found(ALL[name].clean) == []


def test_requests() -> None:
    """What the log's own program noted of its requests: proved, or a finding, whatever ops came since."""
    log = Log.open(io.BytesIO(raw("talk")))
    proofs = log.proofs()
    assert (proofs.requests, proofs.proved, proofs.messages) == (9, 9, 116)
    log.forget(3)
    assert check(log) == [] and log.proofs() == proofs
    spoilt = raw("talk").replace(b'"command":"echo a"', b'"command":"echo z"', 1)
    findings = Log.open(io.BytesIO(spoilt)).check()
    assert {(one.where, one.code) for one in findings[:1]} == {("line 34", "not-as-sent")}
    assert Log.open(io.BytesIO(SMALL)).proofs().requests == 0


CALLS = re.compile(rb'"(tool_use|function_call|custom_tool_call|toolCall|tool_calls|toolRequests)"')
"""What a row with a call has."""
REAL = transcripts("claude-code", "codex", "copilot-cli", "pi", under=1_000_000)


@pytest.mark.parametrize("path", REAL, ids=lambda path: str(path.name))
def test_stopped_in_the_last_call(path: Path) -> None:
    """A session that somebody stopped in a call, so that its file ends there, and one that goes on with a question
    instead of the result, are no damage: real sessions, and each of them cut behind some of its calls.
    """
    rows = path.read_bytes().splitlines(keepends=True)
    whole = {(one.where, one.code) for one in check(Log.open(io.BytesIO(b"".join(rows))))}
    assert not any(code == "no-result" for _, code in whole)
    calls = [at for at, row in enumerate(rows) if CALLS.search(row)]
    for at in calls[:: len(calls) // 3 + 1]:
        cut = Log.open(io.BytesIO(b"".join(rows[: at + 1])))
        noted = check(cut, notes=True)
        assert {(one.where, one.code) for one in noted if not one.note} <= whole, at
        assert not cut.messages or not cut.messages[-1].calls or any(one.code == "open-call" for one in noted), at
