"""The ending of a log: whether its last exchange came to its end."""

from __future__ import annotations

import json

import pytest

from ctxkit.core.ending import interrupted, newest_first
from ctxkit.core.transcript import Transcript
from tests.formats.codex import logs as codex
from tests.formats.pi import logs as pi


def chat(spec: str) -> Transcript:
    """A native log in a line: `user`, `call:a`, `result:a`, and any other role."""
    from ctxkit.reading import read_source
    from ctxkit.store.source import Source

    rows = []
    for words in spec.split():
        kind, _, key = words.partition(":")
        if kind == "call":
            calls = [{"id": key, "type": "function", "function": {"name": "f", "arguments": "{}"}}]
            rows.append({"role": "assistant", "content": None, "tool_calls": calls})
        elif kind == "result":
            rows.append({"role": "tool", "tool_call_id": key, "content": "x"})
        else:
            rows.append({"role": kind, "content": "words"})
    raw = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    return read_source("log", None, Source("log", raw), None, conversation=None, rows=None).transcript


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", False), ("system", False), ("user", True), ("user assistant", False), ("user assistant user", True),
        ("user call:a", True), ("user call:a result:a", True), ("user call:a result:a assistant", False),
        ("user call:a call:b result:b", True), ("user assistant system", False), ("user system", True),
        ("user call:a result:a system", True), ("assistant", False), ("user call:a result:a exit", False),
        ("user call:a assistant", False),
    ],
)  # fmt: skip
def test_interrupted(spec: str, expected: bool) -> None:
    """An exchange ends with words of the assistant; what is sent to it behind those begins no other."""
    assert interrupted(chat(spec)) == expected


def test_branches_and_cuts_do_not_count() -> None:
    """Seen is what the program would go on with."""
    assert not interrupted(pi.read("user | assistant | user | assistant^2"))
    assert interrupted(pi.read("user | assistant | user | assistant | user^2"))
    assert [message.n for message in newest_first(pi.read("user | assistant | user | assistant^2"))] == [4, 2, 1]
    assert interrupted(codex.read("user:q1 | say:a1 | user:q2"))
    assert not interrupted(codex.read("user:q1 | say:a1 | user:q2 | rollback:1"))


def test_a_long_log_costs_its_ending() -> None:
    """No message before the last exchange is asked for."""
    found = newest_first(chat("user assistant " * 500))
    assert next(found).n == 1000
