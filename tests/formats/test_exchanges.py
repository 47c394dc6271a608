"""Bodies of requests and responses, and what they stand in, laid out as lines of a format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.formats import containers, registry
from tests.formats import reading

CHAT = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
ITEMS = [
    {"role": "user", "content": "q"},
    {"type": "reasoning", "id": "rs", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
]
CHOICE = {"object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": CHAT[1]}]}
MESSAGE = {"type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "a"}]}
CONTENTS = [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [{"text": "a"}]}]
CANDIDATE = {"candidates": [{"content": CONTENTS[1]}], "modelVersion": "m"}


def read(value: Any, number: int | None = None, indent: int | None = None) -> tuple[str, list[str], str]:
    """The format that a JSON value is read as, its messages as `role:words`, its model."""
    raw = json.dumps(value, indent=indent).encode() + b"\n"
    assert containers.may_be(raw.partition(b"\n")[0] + b"\n")
    found = containers.find(raw)
    assert found is not None
    one = containers.choose(found, number)
    data = containers.lay_out(containers.choose(found, number).records, found.rest)
    fmt = registry.by_name(one.format)
    said = [
        f"{content.role}:{''.join(getattr(part, 'text', '') for part in content.parts)}"
        for content in reading.contents(fmt, data)
    ]
    assert one.count == len(said)
    return one.format, said, reading.read(fmt, data).model


BODIES: dict[str, tuple[Any, str, list[str], str]] = {
    "items": (ITEMS, "responses", ["user:q", "assistant:a"], ""),
    "output alone": (ITEMS[1:], "responses", ["assistant:a"], ""),
    "responses request": (
        {"model": "m", "instructions": "i", "input": ITEMS}, "responses", ["system:i", "user:q", "assistant:a"], "m",
    ),
    "input as text": ({"model": "m", "input": "q"}, "responses", ["user:q"], "m"),
    "easy input": ({"input": CHAT}, "responses", ["user:q", "assistant:a"], ""),
    "responses response": (
        {"object": "response", "instructions": None, "output": ITEMS[1:], "model": "m"}, "responses", ["assistant:a"],
        "m",
    ),
    "instructions as items": (
        {"object": "response", "instructions": ITEMS[:1], "output": ITEMS[1:]}, "responses", ["user:q", "assistant:a"],
        "",
    ),
    "an empty response": ({"object": "response", "output": [], "input": "q"}, "responses", ["user:q"], ""),
    "both": ({"input": "q", "output": ITEMS[1:]}, "responses", ["user:q", "assistant:a"], ""),
    "chat response": (CHOICE, "messages", ["assistant:a"], "m"),
    "preference": (
        {"input": {"messages": CHAT[:1], "tools": []}, "preferred_output": CHAT[1:], "non_preferred_output": []},
        "messages", ["user:q", "assistant:a"], "",
    ),
    "batch request": (
        {"custom_id": "1", "method": "POST", "body": {"model": "m", "messages": CHAT}}, "messages",
        ["user:q", "assistant:a"], "",
    ),
    "batch response": (
        {"id": "b", "custom_id": "1", "response": {"status_code": 200, "body": CHOICE}}, "messages", ["assistant:a"],
        "m",
    ),
    "Anthropic's batch request": (
        {"custom_id": "1", "params": {"system": "s", "messages": CHAT}}, "messages",
        ["system:s", "user:q", "assistant:a"], "",
    ),
    "Anthropic's batch result": (
        {"custom_id": "1", "result": {"type": "succeeded", "message": MESSAGE}}, "messages", ["assistant:a"], "m",
    ),
    "a logged exchange": (
        {"request": {"messages": CHAT[:1]}, "response": MESSAGE}, "messages", ["user:q", "assistant:a"], "m",
    ),
    "a logged exchange of items": (
        {"request": {"body": {"input": "q", "model": "m"}}, "response": {"body": {"output": ITEMS[1:]}}}, "responses",
        ["user:q", "assistant:a"], "m",
    ),
    "gemini request": (
        {"systemInstruction": {"parts": [{"text": "s"}]}, "contents": CONTENTS}, "gemini",
        ["system:s", "user:q", "assistant:a"], "",
    ),
    "gemini response": (CANDIDATE, "gemini", ["assistant:a"], "m"),
    "gemini contents": (CONTENTS, "gemini", ["user:q", "assistant:a"], ""),
    "a checkpoint of gemini": ({"history": CONTENTS}, "gemini", ["user:q", "assistant:a"], ""),
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str, indent: int | None) -> None:
    """What was asked, then what came back, on one line or on many."""
    value, whose, said, model = BODIES[name]
    assert read(value, indent=indent) == (whose, said, model)


def test_one_message_over_many_lines() -> None:
    """The response of Anthropic, pretty; on one line it is a log of one message."""
    assert read(MESSAGE, indent=1) == ("messages", ["assistant:a"], "m")


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ({**CHOICE, "choices": [{"message": CHAT[1]}, {"message": CHAT[1]}]}, "choice 1"),
        ({"candidates": [{"content": CONTENTS[1]}] * 2, "contents": CONTENTS[:1]}, "candidate 1"),
        ([{"custom_id": f"c{n}", "body": {"input": ITEMS}} for n in range(2)], "custom_id c1"),
    ],
)
def test_several_answers_are_conversations(value: Any, label: str) -> None:
    """Each with what was asked, and a name."""
    found = containers.find(json.dumps(value).encode())
    assert found is not None
    assert [one.label for one in found.conversations][1:] == [label]
    assert read(value, 2)[1][-1] == "assistant:a"


NONE: list[Any] = [
    {"input": "q"},
    {"instruction": "i", "input": "q", "output": "a", "model": "m"},
    {"model": "m", "input": ["q"]},
    {"input": {"messages": CHAT}},
    {"output": 3},
    {"choices": [{"text": "old"}]},
    {"contents": "q"},
    {"candidates": []},
    {"request": "q", "response": "a"},
    {"request": {"request": {"request": {"request": {"messages": CHAT}}}}},
    {"custom_id": "1", "result": {"type": "errored"}},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
    {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "x"}]},
    {"ctxkit": "x", "input": ITEMS},
]


@pytest.mark.parametrize("value", NONE, ids=str)
def test_what_is_no_body(value: Any) -> None:
    """Is left to others; one line tells."""
    raw = json.dumps(value).encode()
    assert containers.find(raw) is None
    assert not containers.may_be(raw)


def test_a_body_per_line() -> None:
    """Is a conversation each."""
    raw = b"".join(json.dumps({"input": ITEMS, "id": n}).encode() + b"\n" for n in range(3))
    found = containers.find(raw)
    assert found is not None
    assert [(one.label, one.count, one.title) for one in found.conversations] == [
        (f"id {n}", 2, "q") for n in range(3)
    ]  # fmt: skip


def test_bytes_are_kept() -> None:
    """Items stand as they are written."""
    raw = b'{"input": [ {"role":"user","content":"\\u00e9","x":1E5} ], "output":[]}'
    found = containers.find(raw)
    assert found is not None
    assert containers.lay_out(found.conversations[0].records, b"") == b'{"role":"user","content":"\\u00e9","x":1E5}\n'
