"""Messages that a program holds, as a log: which form they are in, which message came from which dict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.api.in_memory import from_messages, in_memory
from ctxkit.errors import BadMessage

CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USER = {"role": "user", "content": "hi"}
ITEMS: list[dict[str, Any]] = [
    *[{"role": "user", "content": f"hello {n}"} for n in range(60)],
    {"type": "reasoning", "summary": [], "id": "r"},
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "1"},
    {"type": "function_call_output", "call_id": "b", "output": "2"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
]


@pytest.mark.parametrize(
    ("messages", "form", "owner"),
    [
        ([], "chat", []),
        ([USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}], "chat", [1, 2]),
        ([{"role": "assistant", "type": "message", "content": [{"type": "text", "text": "x"}]}], "chat", [1]),
        ([{"role": "user", "parts": [{"text": "hi"}]}, {"parts": [{"text": "ho"}]}], "gemini", [1, 2]),
        (ITEMS, "responses", [*range(1, 61), 61, 61, 61, 62, 63, 64]),
        ([MappingProxyType(USER)], "chat", [1]),
    ],
)
def test_forms(messages: list[Mapping[str, Any]], form: str, owner: list[int]) -> None:
    """Told by what the messages are, also where the first fifty say nothing."""
    found = from_messages(messages)
    assert (found.form, found.owner) == (form, owner)
    assert all(one is other for one, other in zip(found.messages, messages, strict=True))


@pytest.mark.parametrize(
    ("messages", "system"),
    [
        ([USER], "Be brief."),
        ([USER], [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]),
        ([{"role": "user", "parts": [{"text": "hi"}]}], "Be brief."),
        ([{"role": "user", "parts": [{"text": "hi"}]}], {"parts": [{"text": "Be brief."}]}),
        ([*ITEMS[60:]], "Be brief."),
        ([], "Be brief."),
    ],
)
def test_a_system_prompt_apart(messages: list[dict[str, Any]], system: Any) -> None:
    """It stands before the messages, and is none of them."""
    found = from_messages(messages, system=system)
    assert found.log.text(1) == "Be brief." and found.log.state().is_preamble(1)
    assert found.owner == [n + 1 for n in from_messages(messages).owner]


class Odd:
    """No JSON."""

    def __repr__(self) -> str:
        return "<odd>"


DEEP: Any = []
for _ in range(3000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([USER, 7], "messages[1] is not a dict: 7"),
        ([USER, {"content": "x"}], "messages[1] is not a message: {'content': 'x'}"),
        ([{"foo": 1}], "messages[0] is not a message: this is not a format that ctxkit reads"),
        ([USER, {"role": "user", "content": Odd()}], "messages[1] is not JSON: Object of type Odd"),
        ([USER, {"role": "user", "content": DEEP}], "messages[1] is nested too deeply"),
        ([USER, {"ctxkit": "forget", "ids": "1"}], "messages[1] is an op of ctxkit"),
        ([{"role": "user", "parts": [{"text": "hi"}]}, {"role": "user"}], "messages[1] is not a message"),
        ([*ITEMS, {"foo": 1}], f"messages[{len(ITEMS)}] is not a message"),
        ([{"type": "session_meta", "payload": {"id": "x"}, "timestamp": "2026-01-01T00:00:00Z"}], "codex session"),
    ],
)
def test_what_is_no_message_is_named(messages: list[Any], says: str) -> None:
    """By its index."""
    with pytest.raises(BadMessage) as caught:
        from_messages(messages, system="Be brief.")
    assert says in caught.value.message


def test_an_object_is_told_how_to_be_a_dict() -> None:
    """As the clients of providers give them."""

    class Message:
        def model_dump(self) -> dict[str, Any]:
            return USER

    with pytest.raises(BadMessage) as caught:
        from_messages([USER, Message()])  # type: ignore[type-var]
    assert "model_dump" in caught.value.hint


def test_odd_text_is_read() -> None:
    """Lone surrogates, and numbers that JSON does not have."""
    found = from_messages([{"role": "user", "content": "a\ud800b", "x": float("nan")}, USER])
    assert found.owner == [1, 2] and found.log.text(1).startswith("a")


def test_windows_are_for_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list is looked at as it is; on demand as a log on standard input is."""
    monkeypatch.setenv("CTXKIT_WINDOW_MESSAGES", "1")
    messages = [USER, USER, USER]
    assert from_messages(messages).log.names() == [1, 2, 3]
    assert from_messages(messages, windows=True).log.names() == [3]


def test_a_log_in_memory(tmp_path: Path) -> None:
    """It grows by messages and ops, and is the same as a file with the same lines."""
    log = in_memory()
    log.add_message({"role": "user", "content": "one"})
    log.mark("here")
    log.add_message({"role": "user", "content": "two"})
    log.rewind("here")
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(log.copy_out()))
    for one in (log, Log.open(path)):
        assert list(one.export("chat").values) == [{"role": "user", "content": "one"}] and one.check() == []
