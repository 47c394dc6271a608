"""Contents of Gemini as numbered messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.core.messages import Call, Result, Text
from ctxkit.formats.gemini_log import FORMAT
from tests.formats import reading


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, **more}}


def answer(name: str, **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": f"of {name}"}, **more}}


def data(*contents: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in contents)


TALK = data(
    {"model": "gemini-3"},
    {"role": "system", "parts": [{"text": "S"}]},
    {"role": "user", "parts": [{"text": "hi"}]},
    {"role": "model", "parts": [call("f"), call("g"), call("f")]},
    {"role": "user", "parts": [answer("g"), answer("f"), answer("f"), answer("h")]},
    {"role": "model", "parts": [call("f", id="x")]},
    {"role": "function", "parts": [answer("f", id="x")]},
    {"parts": [{"text": "more"}]},
)


def test_messages() -> None:
    """A content is a message; calls without an id are given one, and so are their responses, by name and order."""
    found = reading.read(FORMAT, TALK)
    assert [one.role for one in found.messages] == [
        "system", "user", "assistant", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert [one.calls for one in found.messages if one.calls] == [("ctxkit-3-1", "ctxkit-3-2", "ctxkit-3-3"), ("x",)]
    assert [one.results for one in found.messages if one.results] == [
        ("ctxkit-3-2", "ctxkit-3-1", "ctxkit-3-3", ""), ("x",),
    ]  # fmt: skip
    assert [one.n for one in found.messages if one.opens] == [2, 7]
    assert (found.model, found.rows) == ("gemini-3", 8)


def test_contents_have_the_same_ids() -> None:
    """As what reading linked."""
    contents = reading.contents(FORMAT, TALK)
    assert [part.id for part in contents[2].parts if isinstance(part, Call)] == [
        "ctxkit-3-1", "ctxkit-3-2", "ctxkit-3-3",
    ]  # fmt: skip
    assert [(part.id, part.content) for part in contents[3].parts if isinstance(part, Result)][:2] == [
        ("ctxkit-3-2", "of g"), ("ctxkit-3-1", "of f"),
    ]  # fmt: skip
    assert contents[1].parts == [Text("hi")]


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [1], [{"functionCall": 3}], [{"functionResponse": {"id": 3}}]])
@pytest.mark.parametrize("key", ["role", "parts", "model"])
def test_odd_shapes(key: str, odd: Any) -> None:
    """Whatever stands in a field, the log is read, and so is each message."""
    reading.contents(FORMAT, data({"role": "user", "parts": [{"text": "a"}], key: odd}, {"role": "model", "parts": []}))
