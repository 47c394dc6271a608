"""The OpenAI validator finds nothing in a sound body, and each broken one for its own reason."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.validators.openai_rules import problems

SOUND: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "S"},
        {"role": "developer", "content": [{"type": "text", "text": "D"}]},
        {
            "role": "user",
            "name": "frodo",
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "A", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}},
                {"id": "B", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "B", "content": "b"},
        {"role": "tool", "tool_call_id": "A", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": "done"},
    ],
}

Change = Callable[[dict[str, Any]], Any]


def put(n: int, **values: Any) -> Change:
    return lambda body: body["messages"][n].update(values)


def drop(n: int, key: str) -> Change:
    return lambda body: body["messages"][n].pop(key)


def call(**values: Any) -> Change:
    return lambda body: body["messages"][3]["tool_calls"][0].update(values)


def function(**values: Any) -> Change:
    return lambda body: body["messages"][3]["tool_calls"][0]["function"].update(values)


def gone(n: int) -> Change:
    return lambda body: body["messages"].pop(n)


def insert(n: int, message: dict[str, Any]) -> Change:
    return lambda body: body["messages"].insert(n, message)


BROKEN: dict[str, tuple[Change, str]] = {
    "no messages": (lambda b: b.update(messages=[]), "no messages"),
    "not UTF-8": (put(6, content="\ud800"), "not JSON in UTF-8"),
    "unknown role": (put(6, role="exit"), "known roles"),
    "missing key": (drop(4, "tool_call_id"), "without tool_call_id"),
    "unknown key": (put(6, ts="x"), "unknown key ts"),
    "name": (put(2, name="a b"), "name 'a b'"),
    "name and a line": (put(2, name="a\n"), "name 'a"),
    "file without bytes": (put(2, content=[{"type": "file", "file": {"filename": "x"}}]), "missing required parameter"),
    "blank in a link": (
        put(2, content=[{"type": "image_url", "image_url": {"url": "https://x/a b"}}]),
        "image url",
    ),
    "null content": (put(2, content=None), "no content"),
    "no content and no calls": (put(6, content=None), "no content"),
    "empty list": (put(2, content=[]), "empty list"),
    "content of another kind": (put(2, content=5), "neither text nor parts"),
    "image of the assistant": (put(6, content=[{"type": "image_url", "image_url": {}}]), "cannot stand here"),
    "image in a result": (put(5, content=[{"type": "image_url", "image_url": {}}]), "cannot stand here"),
    "text part with keys": (put(2, content=[{"type": "text", "text": "x", "loss": 1}]), "with keys"),
    "empty text part": (put(2, content=[{"type": "text", "text": ""}]), "empty text part"),
    "image url": (put(2, content=[{"type": "image_url", "image_url": {"url": "file:///x"}}]), "image url"),
    "image as text": (put(2, content=[{"type": "image_url", "image_url": "https://x"}]), "not an object"),
    "image detail": (
        put(2, content=[{"type": "image_url", "image_url": {"url": "https://x", "detail": "much"}}]),
        "image detail",
    ),
    "empty calls": (put(3, tool_calls=[]), "empty tool_calls"),
    "call shape": (call(index=0), "unknown shape"),
    "picture of another kind": (
        put(2, content=[{"type": "image_url", "image_url": {"url": "data:image/bmp;base64,AAAA"}}]),
        "image url",
    ),
    "sound of another kind": (
        put(2, content=[{"type": "input_audio", "input_audio": {"data": "AA", "format": "ogg"}}]),
        "without data and format",
    ),
    "file with keys": (put(2, content=[{"type": "file", "file": {"path": "/x"}}]), "unknown shape"),
    "too many calls": (
        lambda b: b["messages"][3].update(tool_calls=b["messages"][3]["tool_calls"] * 65),
        "array too long",
    ),
    "empty id": (call(id=""), "call id"),
    "long id": (call(id="x" * 41), "call id"),
    "function shape": (function(strict=True), "unknown shape"),
    "function name": (function(name="a.b"), "function name"),
    "arguments as an object": (function(arguments={}), "not JSON text"),
    "arguments that do not parse": (function(arguments="{"), "not JSON text"),
    "arguments that are a list": (function(arguments="[]"), "no object"),
    "unanswered": (gone(5), "'A' is not answered before"),
    "unanswered at the end": (lambda b: b.update(messages=b["messages"][:5]), "'A' is not answered"),
    "words before the answers": (insert(4, {"role": "user", "content": "x"}), "not answered before"),
    "answer without a call": (insert(6, {"role": "tool", "tool_call_id": "Z", "content": "x"}), "not called"),
    "second answer": (insert(6, {"role": "tool", "tool_call_id": "A", "content": "x"}), "answered already"),
    "id twice": (call(id="B"), "'B' is used again"),
    "id used again later": (lambda b: b["messages"].extend(copy.deepcopy(b["messages"][3:6])), "'A' is used again"),
}


def test_a_sound_body_has_no_problems() -> None:
    """Or the tests below would show nothing."""
    assert problems(SOUND) == []


@pytest.mark.parametrize(("change", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_body_is_caught(change: Change, said: str) -> None:
    """One broken body per rule."""
    body = copy.deepcopy(SOUND)
    change(body)
    assert any(said in problem for problem in problems(body)), problems(body)
