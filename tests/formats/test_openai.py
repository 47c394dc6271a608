"""A context goes out as a body that OpenAI takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import NothingToSend
from ctxkit.formats import openai
from ctxkit.formats.chat import content_of
from tests.cli.runner import good, lines
from tests.formats.strategies import CONTENTS
from tests.formats.writing import write
from tests.validators.openai_rules import problems


def one(role: str, *parts: Part | str, name: str | None = None) -> Content:
    return Content(role, [Text(part) if isinstance(part, str) else part for part in parts], name)


def function(arguments: str, identity: str = "A") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "f", "arguments": arguments}}


CALL = Call("A", "f", {"x": 1})

SOUNDS = [("AAAA", "wav"), ("AAAA", "ogg"), ("A", "mp3")]
FILES: list[dict[str, Any]] = [
    {"file_id": "f"}, {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"},
    {"filename": "a.pdf"}, {"path": "/x"}, {"file_id": ""}, {"file_id": "f", "path": "/x"},
]  # fmt: skip
CASES: dict[str, tuple[list[Content], list[dict[str, Any]], dict[str, int]]] = {
    # what it is: (contents, messages, left out)
    "roles": (
        [one("system", "s"), one("developer", "d"), one("exit", "e"), one("ai", "a")],
        [
            {"role": "system", "content": "s"},
            {"role": "developer", "content": "d"},
            {"role": "user", "content": "e"},
            {"role": "assistant", "content": "a"},
        ],
        {},
    ),
    "name": (
        [one("user", "a", name="frodo"), one("user", "b", name="no good")],
        [{"role": "user", "content": "a", "name": "frodo"}, {"role": "user", "content": "b"}],
        {"name of a speaker": 1},
    ),
    "texts": (
        [one("user", "a", "b")],
        [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
        {},
    ),
    "calls": (
        [one("assistant", CALL), one("user", Result("A", "r"), "go")],
        [
            {"role": "assistant", "content": None, "tool_calls": [function('{"x":1}')]},
            {"role": "tool", "tool_call_id": "A", "content": "r"},
            {"role": "user", "content": "go"},
        ],
        {},
    ),
    "arguments that are none": (
        [one("assistant", Call("A", "f", "{broken")), one("tool", Result("A", ""))],
        [
            {"role": "assistant", "content": None, "tool_calls": [function('{"_raw":"{broken"}')]},
            {"role": "tool", "tool_call_id": "A", "content": ""},
        ],
        {},
    ),
    "thinking": ([one("assistant", Thinking("x", {}), "a")], [{"role": "assistant", "content": "a"}], {"thinking": 1}),
    "images": (
        [one("user", Image("image/png", "iVBORw0KGgo="), Image(url="https://x"), Image("image/bmp", "AAAA"))],
        [
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
                    {"type": "image_url", "image_url": {"url": "https://x"}},
                    {"type": "text", "text": "[image]"},
                ],
            }
        ],
        {"image": 1},
    ),
    "sounds and files": (
        [
            one(
                "user",
                *(Other("input_audio", {"input_audio": {"data": data, "format": kind}}) for data, kind in SOUNDS),
                *(Other("file", {"file": file}) for file in FILES),
                Image(url="https://x/a b"),
            )
        ],
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                    {"type": "file", "file": FILES[0]},
                    {"type": "file", "file": FILES[1]},
                    {"type": "text", "text": "[image]"},
                ],
            }
        ],
        {"input_audio": 2, "file": 4, "image": 1},
    ),
    "images in a result": (
        [one("assistant", CALL), one("tool", Result("A", [Text("see"), Image("image/png", "iVBORw0KGgo=")]))],
        [
            {"role": "assistant", "content": None, "tool_calls": [function('{"x":1}')]},
            {
                "role": "tool",
                "tool_call_id": "A",
                "content": [{"type": "text", "text": "see"}, {"type": "text", "text": "[image]"}],
            },
        ],
        {"image": 1},
    ),
    "long ids": (
        [one("assistant", Call("x" * 50, "f", {})), one("tool", Result("x" * 50, "r"))],
        [
            {"role": "assistant", "content": None, "tool_calls": [function("{}", "x" * 31 + "_77cf1206")]},
            {"role": "tool", "tool_call_id": "x" * 31 + "_77cf1206", "content": "r"},
        ],
        {},
    ),
    "reasoning of several steps": (
        [one("assistant", Thinking("a", {"reasoning_content": "a"}), Thinking("b", {"reasoning_content": "b"}), "x")],
        [{"role": "assistant", "content": "x", "reasoning_content": "a\n\nb"}],
        {},
    ),
    "reasoning of a gateway": (
        [one("assistant", "x", *(Thinking("", {"reasoning_details": [{"data": each}]}) for each in "ab"))],
        [{"role": "assistant", "content": "x", "reasoning_details": [{"data": "a"}, {"data": "b"}]}],
        {},
    ),
    "reasoning that has no field": (
        [one("assistant", Thinking("a", {"type": "thinking", "thinking": "a", "signature": "S"}), "x")],
        [{"role": "assistant", "content": "x"}],
        {"thinking": 1},
    ),
    "nothing but reasoning": (
        [one("user", "q"), one("assistant", Thinking("a", {"reasoning_content": "a"}))],
        [{"role": "user", "content": "q"}],
        {"thinking without words after it": 1, "empty message": 1},
    ),
    "empty": (
        [one("user", "a"), one("user", Other("document", {"type": "document"}))],
        [{"role": "user", "content": "a"}],
        {"document": 1, "empty message": 1},
    ),
}


@pytest.mark.parametrize(("contents", "messages", "left_out"), CASES.values(), ids=CASES.keys())
def test_write(contents: list[Content], messages: list[dict[str, Any]], left_out: dict[str, int]) -> None:
    """Each thing that needs care, and what is counted for it."""
    body, repairs = write(openai, contents)
    assert body == {"messages": messages}
    assert repairs.left_out == left_out


def test_the_text_of_arguments_is_kept() -> None:
    """Numbers and spaces stand as the model wrote them."""
    call = function('{"x": 1.0, "y":1E5}')
    log = [content_of({"role": "assistant", "tool_calls": [call]}), one("tool", Result("A", "r"))]
    assert write(openai, log, model="m")[0]["messages"][0]["tool_calls"] == [call]


@pytest.mark.parametrize("contents", [[], [one("user", "")], [one("assistant", Thinking("x", {}))]])
def test_nothing_to_send(contents: list[Content]) -> None:
    """A body without messages is no body."""
    with pytest.raises(NothingToSend):
        write(openai, contents)


@given(CONTENTS)
def test_every_body_is_valid(contents: list[Content]) -> None:
    """Whatever the contents are: the validator finds nothing, and the body can be written as JSON."""
    try:
        body, _ = write(openai, contents, model="m")
    except NothingToSend:
        return
    assert problems(body) == []
    assert json.loads(dumps(body)) == body


def test_more_calls_than_one_message_may_make() -> None:
    """They become several messages, each with its results behind it; the words stay in front."""
    calls = [Call(f"c{n}", "f", {}) for n in range(130)]
    results = [one("tool", Result(call.id, "r")) for call in calls]
    body, repairs = write(openai, [one("assistant", "so", *calls), *results])
    made = [(message.get("content"), len(message.get("tool_calls", ()))) for message in body["messages"]]
    assert made == [("so", 128), *[("r", 0)] * 128, (None, 2), *[("r", 0)] * 2]
    assert problems(body) == [] and repairs.made == repairs.dropped == 0


def test_signatures_of_gemini_are_counted() -> None:
    """This API has no place for them."""
    call = Call("A", "f", {}, {"extra_content": {"google": {"thought_signature": "S"}}})
    _, repairs = write(openai, [one("assistant", call), one("tool", Result("A", "r"))])
    assert repairs.left_out == {"thought signature": 1}


def test_arguments_are_json(tmp_path: Path) -> None:
    """NaN and infinities in the text of a call's arguments, which Python reads and JSON does not have, become null."""
    path = tmp_path / "a.jsonl"
    function = {"name": "f", "arguments": '{"a":NaN,"b":[-Infinity,1]}'}
    path.write_bytes(
        lines(
            {"role": "user", "content": "x"},
            {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c1", "content": "r"},
        )
    )
    (sent,) = good("export", path, "--to", "openai").values[0]["messages"][1]["tool_calls"]
    assert sent["function"]["arguments"] == '{"a":null,"b":[null,1]}'
