"""Thinking and signatures: byte for byte as the model wrote them, or not at all; whole thoughts, and no two joined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.jsontext import dumps
from ctxkit.core.messages import Thinking
from tests.lawful import ROOT, opened
from tests.shared import SHARED, shared
from tests.validators.thoughts import calls_signed, signed_calls, thoughts, thoughts_of_log

REAL = sorted((SHARED / "transcripts/claude-code").glob("*.jsonl"))
SESSION = ROOT / "fixtures/guide/session.jsonl"


def sent(log: Log) -> list[tuple[str, ...]]:
    """The thoughts that go to Anthropic."""
    return thoughts(json.loads(dumps(next(iter(log.export("anthropic").values)))))


def kept_after_forgetting(path: Path) -> None:
    """Every thought of what stays is sent as before, after a message in the middle was forgotten."""
    log = opened(path.read_bytes())
    before = sent(log)
    assert set(before) <= thoughts_of_log(path.read_bytes())
    spoken = [entry.name for entry in log.entries() if entry.role == "assistant"]
    names = log.names()
    log.forget(str(spoken[len(spoken) // 2]))
    gone = set(names) - set(log.names())
    raws = [part.raw for n in gone for part in log.content(int(n)).parts if isinstance(part, Thinking)]
    known = {raw.get("signature", raw.get("data")) for raw in raws}
    left = [run for run in before if not any(one in known for block in run for one in json.loads(block).values())]
    assert gone and sent(log) == left


def test_thoughts_stay_when_others_are_forgotten() -> None:
    """On our own small session."""
    kept_after_forgetting(SESSION)


@pytest.mark.parametrize("name", [path.name for path in REAL if path.stat().st_size < 3_000_000] or ["(none)"])
def test_thoughts_of_real_sessions_stay(name: str) -> None:
    """In every real session of up to 3 MB."""
    kept_after_forgetting(shared("transcripts/claude-code") / name)


def record(*blocks: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def thought(words: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_what_was_between_two_answers_is_forgotten() -> None:
    """The answers become one message; their thoughts stay two, each with its words."""
    rows = [
        record(text("a"), role="user"), record(thought("one", "S1"), text("first")), record(text("b"), role="user"),
        record(thought("two", "S2"), text("second")),
    ]  # fmt: skip
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))
    log.forget("3")
    body = next(iter(log.export("anthropic").values))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "text", "thinking", "text"]
    assert len(thoughts(body)) == 2


def test_thoughts_that_would_meet() -> None:
    """A thought that nothing was said after does not become part of the next one: it is left out, counted."""
    rows = [record(text("a"), role="user"), record(thought("one", "S1")), record(thought("two", "S2"), text("second"))]
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))
    exported = log.export("anthropic")
    assert thoughts(next(iter(exported.values))) == [(dumps(thought("two", "S2")),)]
    assert exported.repairs.left_out == {"thinking without words after it": 1}


def test_a_thought_that_was_stubbed_is_gone() -> None:
    """A message that an op shortened has no thinking any more, rather than a part of it."""
    rows = [record(text("a"), role="user"), record(thought("one", "S1"), text("first"))]
    op = {"ctxkit": "trim", "v": 1, "id": "t1", "at": {"messages": 2, "rows": 2}, "ids": "", "stubs": {"2": "[cut]"}}
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in [*rows, op]))
    log.force = True
    body = next(iter(log.export("anthropic").values))
    assert body["messages"][1]["content"] == [text("[cut]")]


def test_signatures_of_calls() -> None:
    """What Gemini wrote on a call goes back on it; and the check sees one that moved."""
    call = {"id": "A", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    signed = call | {"id": "B", "extra_content": {"google": {"thought_signature": "QUJD"}}}
    rows = [record(text("a"), role="user"), {"role": "assistant", "content": "", "tool_calls": [call, signed]}]
    raw = b"".join(dumps(row).encode() + b"\n" for row in rows)
    body = next(iter(opened(raw).export("gemini", model="gemini-2.5-pro").values))
    assert calls_signed(body) == {("B", "QUJD")} == signed_calls(raw)
