"""Records that are sound JSON and make no sense together (rows C, and F20 to F28 of sessions), in every format."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.formats import registry
from ctxkit.formats.base import SessionFormat
from ctxkit.store import jsonl
from tests.cli.runner import lines
from tests.damage.sessions import LINES, STRUCK, sent, told
from tests.formats.claude_code import logs as claude
from tests.validators import anthropic_rules, openai_rules

TARGETS = {"anthropic": anthropic_rules.problems, "openai": openai_rules.problems}
SESSIONS = [name for name in LINES if isinstance(registry.by_name(name), SessionFormat)]


def read(raw: bytes) -> Log:
    """A log of these bytes."""
    return Log.open(io.BytesIO(raw))


def codes(log: Log) -> list[str]:
    """What `check` finds, notes too."""
    return [one.code for one in log.check(notes=True)]


def damage(log: Log) -> list[str]:
    """What `check` calls damage."""
    return [one.code for one in log.check()]


def export_is_valid(log: Log) -> None:
    """For both providers, whatever stands in the log."""
    for to, problems in TARGETS.items():
        [body] = log.export(to, model="claude-opus-4-6", assembly=False).values
        assert problems(body) == []


def without(name: str, words: bytes) -> bytes:
    """A session without the lines that hold the words."""
    return b"".join(line + b"\n" for line in LINES[name].lines if words not in line)


ANSWERS: dict[str, bytes] = {
    # words that stand in the record of the first result alone
    "chat": b'"tool_call_id": "c1"',
    "claude-code": b'"tool_use_id": "c1"',
    "codex": b'"of c1"',
    "pi": b'"toolCallId": "c1"',
    "copilot-cli": b'"of c1"',
}
CALLS: dict[str, bytes] = {
    "chat": b'"tool_calls": [{"id": "c1"',
    "claude-code": b'"tool_use", "id": "c1"',
    "codex": b'"function_call", "name": "run", "arguments": "{\\"cmd\\":\\"ls\\"}", "call_id": "c1"',
    "pi": b'"toolCall", "id": "c1"',
    "copilot-cli": b'"toolRequests": [{"toolCallId": "c1"',
}


@pytest.mark.parametrize("name", ANSWERS)
def test_c01_a_call_without_its_result(name: str) -> None:
    """It is named; what leaves has a result that says so, or not the call; forgetting it takes it alone."""
    log = read(without(name, ANSWERS[name]))
    assert "no-result" in codes(log) and "no-result" not in damage(log)  # each of these programs mends it
    export_is_valid(log)
    kept = [one for one in told(read(LINES[name].clean)) if one != ("result", one[1]) or not one[1].startswith("c1 ")]
    assert told(log) == kept


@pytest.mark.parametrize("name", CALLS)
def test_c02_a_result_without_its_call(name: str) -> None:
    """It is named; it is read, and not sent."""
    log = read(without(name, CALLS[name]))
    assert ("no-call" in codes(log), "no-call" in damage(log)) == (True, name == "pi")  # which sends it
    assert ("result", "c1") in [(kind, words[:2]) for kind, words in told(log)]
    export_is_valid(log)
    [body] = log.export("openai", assembly=False).values
    assert all(one.get("tool_call_id") != "c1" for one in body["messages"])


@pytest.mark.parametrize("name", ANSWERS)
def test_c02_empty_ids(name: str) -> None:
    """Of a call and its result: they are read, and what leaves is valid."""
    log = read(LINES[name].clean.replace(b'"c1"', b'""'))
    assert [words for kind, words in told(log) if kind == "text"] == [
        words for kind, words in told(read(LINES[name].clean)) if kind == "text"
    ]
    export_is_valid(log)
    log.check()


@pytest.mark.parametrize("name", ["claude-code", "pi", "copilot-cli"])
def test_c03_a_missing_parent(name: str) -> None:
    """All messages are listed, the break is named, and `why` says what it did to those above it."""
    log = read(without(name, STRUCK.encode()))
    assert told(log) == [one for one in told(read(LINES[name].clean)) if one[1] != STRUCK]
    assert "missing-parent" in codes(log)
    assert ("missing-parent" in [one.code for one in log.status().damage]) == (name != "copilot-cli")
    export_is_valid(log)


@pytest.mark.parametrize("name", ["claude-code", "pi"])
@pytest.mark.parametrize("of", [0, 1])
def test_c03_a_cycle(name: str, of: int) -> None:
    """It ends; all messages are listed; a session can be written."""
    key = "parentUuid" if name == "claude-code" else "parentId"
    ids = [row.get("uuid") or row.get("id") for row in map(json.loads, LINES[name].lines)]
    first = 0 if name == "claude-code" else 1
    rows = [json.loads(line) for line in LINES[name].lines]
    rows[first + of][key] = ids[-1 if of == 0 else first + 3]
    log = read(lines(*rows))
    assert told(log) == told(read(LINES[name].clean))
    assert "cycle" in codes(log)
    export_is_valid(log)
    assert sent(read(b"".join(log.session(name).pieces))) == sent(log)


def test_c04_one_response_on_several_lines() -> None:
    """Rows of one response are one message; a distinct node with its id is never dropped."""
    raw = claude.log(
        claude.user("u1", None, "ask", 1),
        claude.assistant("a1", "u1", "part one", 2, response="m1"),
        claude.assistant("a2", "a1", claude.call("c1"), 3, response="m1"),
        claude.user("r1", "a2", [claude.result("c1")], 4),
        claude.assistant("a3", "r1", "another answer", 5, response="m1"),
    )
    words = [
        ("text", "ask"),
        ("text", "part one"),
        ("call", "c1 Bash"),
        ("result", "c1 done"),
        ("text", "another answer"),
    ]
    assert sorted(told(read(raw))) == sorted(words)
    assert sorted(sent(read(raw))) == sorted(words)


@pytest.mark.parametrize("name", ["claude-code", "pi", "copilot-cli"])
def test_c04_an_id_that_stands_twice(name: str) -> None:
    """Every line twice: the context holds each message once, and `check` names the copies."""
    doubled = b"".join(line + b"\n" + line + b"\n" for line in LINES[name].lines)
    log = read(doubled)
    assert "reused-id" in codes(log) and damage(log) == []
    export_is_valid(log)
    if name != "copilot-cli":
        assert sent(log) == sent(read(LINES[name].clean))


@pytest.mark.parametrize("name", LINES)
def test_c07_a_first_line_of_any_length(name: str, tmp_path: Path) -> None:
    """No head of a fixed size decides what a file is: a picture of 200 KB, twice (C06), in the first record."""
    picture = b'"img":"%s","again":"%s",' % (b"iVBORw0KGgo" * 10_000, b"iVBORw0KGgo" * 10_000)
    path = tmp_path / LINES[name].name
    path.write_bytes(b"{" + picture + LINES[name].clean[1:])
    assert told(Log.open(path)) == told(read(LINES[name].clean))


@pytest.mark.parametrize("name", LINES)
def test_c08_unknown_records_stay(name: str) -> None:
    """Of a type, and of a shape, that nobody knows: they hold no words, and go through to the byte."""
    odd = [
        b'{"type":"from_the_future","payload":{"x":[1.0,1E5]},"timestamp":"2026-02-01T10:00:00Z"}',
        b'{"record":{"flattened":true}}',
        b"{}",
        b'{"type":5,"message":"x","payload":[],"data":null}',
    ]
    rows = LINES[name].lines
    raw = b"".join(line + b"\n" for line in [*rows[:3], *odd, *rows[3:]])
    log = read(raw)
    assert [one for one in told(log) if one[0] != "other"] == told(read(LINES[name].clean))
    assert sent(log) == told(log)
    if name in SESSIONS:
        assert b"".join(log.session(name, keep_id=True).pieces) == raw
        log.forget("1", include_protected=True)
        made = b"".join(log.session(name, keep_id=True).pieces)
        assert all(line in made.split(b"\n") for line in odd)


@pytest.mark.parametrize("name", ["claude-code", "codex", "pi", "gemini-cli", "copilot-cli"])
def test_c10_two_sessions_in_a_file(name: str) -> None:
    """That the session changes is said; all of both is read."""
    clean = LINES[name].clean
    keys = rb'"(uuid|parentUuid|parentId|toolCallId|call_id|tool_use_id|id|sessionId|messageId)": "(\w+)"'
    other = re.sub(keys, rb'"\1": "x\2"', clean)
    log = read(clean + other)
    assert "other-session" in codes(log) and damage(log) == []
    texts = [words for kind, words in told(read(clean)) if kind == "text"]
    again = [words for words in texts if words != "be brief"]  # Copilot CLI's system prompt is a message once
    assert [words for kind, words in told(log) if kind == "text"] == texts + again
    export_is_valid(log)


@pytest.mark.parametrize("name", LINES)
def test_c11_whatever_its_name(name: str, tmp_path: Path) -> None:
    """What a file is called says nothing of what it is."""
    for called in ("x", "session.txt", "ffffffff-0000-4000-8000-000000000000.jsonl"):
        path = tmp_path / called
        path.write_bytes(LINES[name].clean)
        assert told(Log.open(path)) == told(read(LINES[name].clean))


def test_c12_many_subagents() -> None:
    """Four hundred sidechains are four hundred threads beside the main one."""
    rows = [claude.user("u", None, "ask", 1)]
    for i in range(400):
        more: dict[str, Any] = {"isSidechain": True, "agentId": f"agent{i}"}
        rows += [
            claude.user(f"s{i}", None, f"task {i}", 2, **more),
            claude.assistant(f"t{i}", f"s{i}", f"answer {i}", 3, **more),
        ]
    rows.append(claude.assistant("a", "u", "all done", 4))
    log = read(claude.log(*rows))
    assert sent(log) == [("text", "ask"), ("text", "all done")]
    assert len(log.messages) == 802
    assert codes(log) == []


@pytest.mark.parametrize("name", LINES)
def test_f20_a_line_without_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the largest line that is decoded, it is skipped by its bytes and reported."""
    monkeypatch.setattr(jsonl, "MAX_LINE", 1 << 16)
    monkeypatch.setattr(jsonl, "CHUNK", 1 << 12)
    rows = LINES[name].lines
    long = b'{"x":"' + b"y" * (1 << 18) + b'"}'
    log = read(b"".join(line + b"\n" for line in [*rows[:3], long, *rows[3:]]))
    assert [(one.code, one.line) for one in log.transcript.damage] == [("too-long", 4)]
    assert told(log) == told(read(LINES[name].clean))


@pytest.mark.parametrize("name", ["claude-code", "pi"])
def test_f21_resumed_twice(name: str) -> None:
    """Two programs went on with one session: both branches are kept, the newest one is the context."""
    rows = [json.loads(line) for line in LINES[name].lines]
    asked = next(i for i, line in enumerate(LINES[name].lines) if STRUCK.encode() in line)
    keys = rb'"(uuid|parentUuid|parentId|id)": "(\w+)"'
    branch = [re.sub(keys, rb'"\1": "x\2"', line) for line in LINES[name].lines[asked:]]
    key = "parentUuid" if name == "claude-code" else "parentId"
    branch[0] = json.dumps(json.loads(branch[0]) | {key: rows[asked][key]}).encode()
    raw = LINES[name].clean + b"".join(line + b"\n" for line in branch)
    log = read(raw)
    assert [words for _, words in told(log)].count(STRUCK) == 2
    assert [words for _, words in sent(log)].count(STRUCK) == 1
    assert sorted(words for kind, words in sent(log) if kind == "text") == sorted(
        words for kind, words in told(read(LINES[name].clean)) if kind == "text"
    )
