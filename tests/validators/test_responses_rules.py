"""The Responses validator finds nothing in a sound body, and each broken one for its own reason."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.validators.responses_rules import problems

SOUND: dict[str, Any] = {
    "model": "m",
    "input": [
        {"type": "message", "role": "developer", "content": "D"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "hi"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
                {"type": "input_file", "file_id": "f"},
            ],
        },
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}], "encrypted_content": None},
        {"type": "function_call", "call_id": "A", "name": "read", "arguments": '{"path":"a"}'},
        {"type": "custom_tool_call", "call_id": "B", "name": "patch", "input": "***"},
        {"type": "custom_tool_call_output", "call_id": "B", "output": "b"},
        {"type": "function_call_output", "call_id": "A", "output": [{"type": "input_text", "text": "a"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "E"},
        {
            "type": "message",
            "role": "assistant",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": "done"}],
        },
        {"type": "compaction", "encrypted_content": "E"},
    ],
}

Change = Callable[[dict[str, Any]], Any]


def put(n: int, **values: Any) -> Change:
    return lambda body: body["input"][n].update(values)


def drop(n: int, key: str) -> Change:
    return lambda body: body["input"][n].pop(key)


def gone(n: int) -> Change:
    return lambda body: body["input"].pop(n)


def piece(**values: Any) -> Change:
    return lambda body: body["input"][1]["content"][1].update(values)


BROKEN: dict[str, tuple[Change, str]] = {
    "unknown key": (lambda body: body.update(tools=[]), "unknown key"),
    "no input": (lambda body: body.update(input=[]), "no input"),
    "not UTF-8": (put(0, content="\ud83d"), "UTF-8"),
    "unknown item": (put(0, type="thought"), "an item of type"),
    "missing key": (drop(3, "name"), "without name"),
    "key too many": (put(0, metadata={}), "with metadata"),
    "role": (put(0, role="tool"), "role 'tool'"),
    "empty content": (put(0, content=""), "empty content"),
    "content of another kind": (put(0, content=None), "neither text nor parts"),
    "phase of the user": (put(0, phase="commentary"), "phase"),
    "words of the model by the user": (put(1, content=[{"type": "output_text", "text": "x"}]), "cannot stand here"),
    "words of the user by the model": (put(8, content=[{"type": "input_text", "text": "x"}]), "cannot stand here"),
    "image url": (piece(image_url="file:///x"), "image url"),
    "image detail": (piece(detail="best"), "image detail"),
    "summary": (put(2, summary=["why"]), "summary of an unknown shape"),
    "encrypted content": (put(2, encrypted_content=5), "encrypted_content"),
    "call id": (put(3, call_id="x" * 65), "call_id"),
    "name": (put(3, name="a b"), "name"),
    "arguments": (put(3, arguments="[]"), "arguments"),
    "arguments as an object": (put(3, arguments={}), "arguments"),
    "output": (put(5, output=None), "output"),
    "unanswered": (gone(6), "is not answered"),
    "answered by another kind": (put(5, type="function_call_output"), "function_call_output for"),
    "answer without a call": (gone(3), "no open call"),
    "id used again": (put(4, call_id="A"), "used again"),
    "reasoning before the user": (put(8, role="user", content="x"), "phase of the user"),
}


def test_a_sound_body_has_no_problems() -> None:
    """Or the others would show nothing."""
    assert problems(SOUND) == []


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_body_is_refused(case: str) -> None:
    """Each for its own reason."""
    change, why = BROKEN[case]
    body = copy.deepcopy(SOUND)
    change(body)
    assert any(why in problem for problem in problems(body)), problems(body)


@pytest.mark.parametrize("after", [None, {"type": "message", "role": "user", "content": "x"}])
def test_reasoning_needs_what_follows_it(after: dict[str, Any] | None) -> None:
    """At the end, and before the user's words."""
    items = [SOUND["input"][7], *([after] if after else [])]
    assert problems({"input": items}) == ["0: reasoning without the item that follows it"]
