"""Native lines lose nothing: what is read again is what was written, and an untouched record goes out as it is."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given

from ctxkit.core.integrity import repair
from ctxkit.core.messages import Call, Content, Image, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.chat import FORMAT, content_of
from ctxkit.formats.chat_lines import lines
from tests.formats.reading import contents, read
from tests.formats.strategies import CONTENTS

RECORDS: dict[str, dict[str, Any]] = {
    "plain": {"role": "user", "content": "x", "ts": "2026-01-01", "agent": "a", "thread": "t", "meta": {"k": [1]}},
    "null": {"role": "assistant", "content": None, "tool_calls": None, "function_call": None},
    "calls": {"role": "assistant", "tool_calls": [{"id": "A", "function": {"name": "f", "arguments": "{ }"}}], "n": 1},
    "tool": {"role": "tool", "tool_call_id": "A", "name": "f", "content": "r", "usage": {}},
    "blocks": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "A"}, {"type": "text", "text": "x"}]},
    "values": {"role": "ai", "content": [{"type": "text", "value": "x", "loss_weight": 0.0}]},
    "surrogate": {"role": "user", "content": "\ud83d"},
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_an_untouched_record_goes_out_as_it_is(record: dict[str, Any]) -> None:
    """All of its keys, in their order."""
    (line,) = lines([content_of(record)])
    assert list(line.items()) == list(record.items())


def test_no_line_is_an_op() -> None:
    """A key `ctxkit` of another type is an unknown key, and still does not go out at the top."""
    (line,) = lines([content_of({"role": "user", "ctxkit": 5, "content": "x", "meta": {"ctxkit": "x"}})])
    assert line == {"role": "user", "content": "x", "meta": {"ctxkit": "x"}}


def test_a_changed_message_keeps_the_other_keys() -> None:
    """A result that was shortened is still from its tool, at its time."""
    content = content_of({"role": "tool", "tool_call_id": "A", "name": "f", "content": "long", "ts": 5})
    content.parts = [Result("A", "[cut]")]
    assert list(lines([content])) == [{"role": "tool", "name": "f", "ts": 5, "tool_call_id": "A", "content": "[cut]"}]


def test_a_changed_message_keeps_no_words() -> None:
    """Those that stand in its record a second time, or as Gemini has them, would say what was cut."""
    content = content_of({"role": "user", "content": "long", "parts": [{"type": "text", "text": "long"}], "id": "m"})
    content.parts = [Text("[cut]")]
    assert list(lines([content])) == [{"role": "user", "id": "m", "content": "[cut]"}]


def test_calls_without_ids_get_theirs_in_the_line() -> None:
    """Or a result that integrity made would answer nothing."""
    part = {"type": "tool_call", "value": '{"name":"f","arguments":{}}'}
    data = dumps({"role": "assistant", "content": [part], "loss_weight": 1}).encode() + b"\n"
    repaired, _ = repair(contents(FORMAT, data))
    written = list(lines(repaired))
    assert written[0]["tool_calls"][0]["id"] == written[1]["tool_call_id"] == "ctxkit-1-1"
    assert written[0]["loss_weight"] == 1


LINES: dict[str, tuple[Content, dict[str, Any]]] = {
    "text": (Content("user", [Text("x")]), {"role": "user", "content": "x"}),
    "name": (Content("user", [Text("x")], "frodo"), {"role": "user", "content": "x", "name": "frodo"}),
    "result": (
        Content("user", [Result("A", "x", True)]),
        {"role": "tool", "tool_call_id": "A", "content": "x", "is_error": True},
    ),
    "calls": (
        Content("assistant", [Text("x"), Call("A", "f", {"k": 1})]),
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [{"id": "A", "type": "function", "function": {"name": "f", "arguments": '{"k":1}'}}],
        },
    ),
    "a call that Gemini signed": (
        Content("assistant", [Call("A", "f", {}, {"functionCall": {"name": "f"}, "thoughtSignature": "QUJD"})]),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "A",
                    "type": "function",
                    "function": {"name": "f", "arguments": "{}"},
                    "extra_content": {"google": {"thought_signature": "QUJD"}},
                }
            ],
        },
    ),
    "a custom call": (
        Content("assistant", [Call("A", "f", {"a": 1}, {"type": "custom_tool_call", "input": '{"a":  1}'})]),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "A", "type": "custom", "custom": {"name": "f", "input": '{"a":  1}'}}],
        },
    ),
    "a call before words": (
        Content("assistant", [Call("A", "f", {"k": 1}), Text("x")]),
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "A", "name": "f", "input": {"k": 1}}, {"type": "text", "text": "x"}],
        },
    ),
    "image": (
        Content("user", [Image("image/png", "iVBORw0KGgo=")]),
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}],
        },
    ),
    "reasoning": (
        Content("assistant", [Thinking("why", {"reasoning_content": "why"}), Text("x")]),
        {"role": "assistant", "content": "x", "reasoning_content": "why"},
    ),
    "reasoning of a gateway": (
        Content("assistant", [Thinking("why", {"reasoning": "why", "reasoning_details": [{"data": "E"}]}), Text("x")]),
        {"role": "assistant", "content": "x", "reasoning": "why", "reasoning_details": [{"data": "E"}]},
    ),
    "another program's row": (
        Content("user", [Text("x")], rows=[{"type": "user", "timestamp": "T", "message": {}}]),
        {"role": "user", "content": "x", "ts": "T"},
    ),
    "words where only a result can be": (Content("tool", [Text("x")]), {"role": "user", "content": "x"}),
    "no number": (
        Content("assistant", [Call("A", "f", {"k": math.nan}), Text("")]),
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "A", "name": "f", "input": {"k": None}},
                {"type": "text", "text": ""},
            ],
        },
    ),
}


@pytest.mark.parametrize(("content", "line"), LINES.values(), ids=LINES.keys())
def test_lines(content: Content, line: dict[str, Any]) -> None:
    """What was not read from a chat record is written as OpenAI would, or as blocks where that would lose order."""
    assert list(lines([content])) == [line]


def said(parts: list[Part]) -> list[Any]:
    """What must be the same after a round: everything but the way it was written."""
    shown: list[Any] = []
    for part in parts:
        match part:
            case Text(text):
                shown += [text] if text else []
            case Thinking(text, raw):
                shown.append(("thinking", text, raw.get("signature")))
            case Call(identity, name, arguments):
                shown.append((identity, name, arguments))
            case Result(identity, content, is_error):
                inner = [("text", content)] if isinstance(content, str) else [("parts", *said(content))]
                shown.append((identity, inner if inner != [("text", "")] else [("parts",)], is_error))
            case Image(media_type, data, url):
                shown.append(("image", url or (media_type, data)))
            case _:
                shown.append(part)
    return shown


def is_plain(content: Content) -> bool:
    """Whether the parts can be written in chat at all: no picture of nothing, no arguments beside object and text."""
    for part in content.parts:
        inner = part.content if isinstance(part, Result) and isinstance(part.content, list) else [part]
        for one in inner:
            if isinstance(one, Image) and not one.url and not one.data:
                return False
            if isinstance(one, Call) and not isinstance(one.arguments, dict):
                return False
    return "nan" not in repr(content) and "inf" not in repr(content)


@given(CONTENTS.map(lambda made: [content for content in made if is_plain(content)]))
def test_what_is_written_is_read_again(made: list[Content]) -> None:
    """As many messages, with the same parts in the same order; a second round changes nothing."""
    repaired, _ = repair(made)
    written = list(lines(repaired))
    data = b"".join(dumps(line).encode() + b"\n" for line in written)
    rows = [json.loads(line) for line in data.splitlines()]
    got = [content_of(row) for row in rows]
    assert [said(content.parts) for content in got] == [said(content.parts) for content in repaired]
    assert list(lines(got)) == written


def test_export_of_a_log_is_that_log() -> None:
    """Ops aside: `--to chat` of an untouched native log gives its records."""
    records = [record for name, record in RECORDS.items() if name != "surrogate"]
    data = b"".join(dumps(record).encode() + b"\n" for record in [*records, {"ctxkit": "mark", "id": "a"}])
    assert len(read(FORMAT, data).ops) == 1
    assert list(lines(contents(FORMAT, data))) == records
