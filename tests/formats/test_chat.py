"""Native logs are read with all the ways to write a call and its result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.core.messages import Call, Image, Other, Result, Text, Thinking
from ctxkit.formats.chat import FORMAT, content_of
from tests.formats.reading import content, contents, read


def log(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def test_a_message_is_a_record_with_a_string_role() -> None:
    """Other records are rows, so that places stay right, and no messages."""
    data = log({"role": "user", "content": "a"}, {"type": "note"}, {"role": 5}, {"role": "exit"}, {"ctxkit": 1})
    got = read(FORMAT, data)
    assert [(m.n, m.role) for m in got.messages] == [(1, "user"), (2, "exit")]
    assert list(got.row_of) == [0, 3]
    assert got.rows == 5


def test_fields_are_kept_as_written() -> None:
    """Time as text or number, agent and thread as names, and where the record stands."""
    data = log(
        {"role": "user", "content": "a", "ts": "2026-02-12T14:30:00Z", "agent": "frodo", "thread": "t"},
        {"role": "assistant", "content": "é", "ts": 17.5, "agent": 3, "thread": [], "model": "m-1"},
    )
    got = read(FORMAT, data)
    one, two = got.messages
    assert (one.ts, one.agent, one.thread, one.key, one.opens) == ("2026-02-12T14:30:00Z", "frodo", "t", "", True)
    assert (two.ts, two.agent, two.thread, two.opens) == (17.5, None, None, False)
    assert json.loads(data[two.offset : two.offset + two.size])["ts"] == 17.5
    assert (got.format, got.model, got.view, got.damage) == ("chat", "m-1", None, [])


def test_ops_are_no_rows() -> None:
    """A record with a string `ctxkit` is an op even if it has a role; each knows what stands before it."""
    data = log(
        {"ctxkit": "mark", "id": "a"},
        {"role": "user", "content": "a"},
        {"note": 1},
        {"ctxkit": "interrupted", "role": "user"},
        {"role": "user", "content": "b"},
        {"ctxkit": "clear", "id": "b"},
    )
    got = read(FORMAT, data)
    assert [(op.body["ctxkit"], op.rows, op.messages) for op in got.ops] == [
        ("mark", 0, 0),
        ("interrupted", 2, 1),
        ("clear", 3, 2),
    ]
    assert list(got.row_of) == [0, 2]


def test_a_log_that_grew_is_fed_on() -> None:
    """`finish` may be called between two feeds."""
    from tests.formats.reading import blocks

    data = log(*({"role": "user", "content": str(i)} for i in range(7)))
    reader = FORMAT.reader()
    for block in blocks(FORMAT, data):
        reader.feed(block)
        reader.finish()
    assert [m.n for m in reader.finish().messages] == [1, 2, 3, 4, 5, 6, 7]


CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
USE = {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}}

CALLS: dict[str, dict[str, Any]] = {
    "openai": {"content": None, "tool_calls": [CALL]},
    "all keys null": {"content": None, "tool_calls": [CALL], "function_call": None, "name": None},
    "anthropic": {"content": [{"type": "text", "text": ""}, USE]},
    "both": {"content": [USE], "tool_calls": [CALL]},
    "flat": {"content": "", "tool_calls": [{"id": "c1", "name": "read", "args": {"path": "a"}}]},
    "custom": {
        "content": "",
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "read", "input": '{"path":"a"}'}}],
    },
}


@pytest.mark.parametrize("body", CALLS.values(), ids=CALLS.keys())
def test_a_call_is_one_call_however_it_is_written(body: dict[str, Any]) -> None:
    """The light record and the full content name the same call."""
    data = log({"role": "assistant"} | body)
    message = read(FORMAT, data).messages[0]
    assert (message.calls, message.tools, message.results) == (("c1",), ("read",), ())
    parts = content(FORMAT, data, message).parts
    assert [(p.id, p.name, p.arguments) for p in parts if isinstance(p, Call)] == [("c1", "read", {"path": "a"})]
    assert len(parts) == 1


RESULTS: dict[str, tuple[dict[str, Any], bool, str | list[Any]]] = {
    "tool": ({"role": "tool", "tool_call_id": "c1", "content": "ok"}, False, "ok"),
    "tool, null": ({"role": "tool", "tool_call_id": "c1", "content": None}, False, ""),
    "tool, parts": (
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "ok"}]},
        False,
        [Text("ok")],
    ),
    "anthropic": (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
        False,
        "ok",
    ),
    "error": (
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "is_error": True}]},
        True,
        "",
    ),
    "tool with blocks": (
        {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]},
        False,
        "ok",
    ),
}


@pytest.mark.parametrize(("record", "is_error", "words"), RESULTS.values(), ids=RESULTS.keys())
def test_a_result_is_one_result_however_it_is_written(
    record: dict[str, Any], is_error: bool, words: str | list[Any]
) -> None:
    """And it starts no exchange, in a user role neither."""
    data = log(record)
    message = read(FORMAT, data).messages[0]
    assert (message.calls, message.results, message.opens) == ((), ("c1",), False)
    (part,) = content(FORMAT, data, message).parts
    assert isinstance(part, Result)
    assert (part.id, part.content, part.is_error) == ("c1", words, is_error)


def test_calls_without_ids_meet_their_answers() -> None:
    """Parallel ones in order, OpenAI's older `function` role by name; an answer too many has none."""
    part = {"type": "tool_call", "value": '{"name":"a","arguments":{"x":1}}'}
    data = log(
        {"role": "assistant", "content": [{"type": "reasoning", "value": "hm"}, part, part]},
        {"role": "tool", "content": [{"type": "text", "value": "1"}]},
        {"role": "tool", "content": [{"type": "text", "value": "2"}]},
        {"role": "tool", "content": "3"},
        {"role": "assistant", "content": None, "function_call": {"name": "b", "arguments": "{}"}},
        {"role": "function", "name": "other", "content": "?"},
        {"role": "function", "name": "b", "content": "4"},
    )
    got = read(FORMAT, data).messages
    assert [(m.calls, m.results) for m in got] == [
        (("ctxkit-1-1", "ctxkit-1-2"), ()),
        ((), ("ctxkit-1-1",)),
        ((), ("ctxkit-1-2",)),
        ((), ("",)),
        (("ctxkit-5-1",), ()),
        ((), ("",)),
        ((), ("ctxkit-5-1",)),
    ]
    parts = [content(FORMAT, data, m).parts for m in got]
    assert [p.id for p in parts[0] if isinstance(p, Call)] == ["ctxkit-1-1", "ctxkit-1-2"]
    assert [p.id for p in parts[2] if isinstance(p, Result)] == ["ctxkit-1-2"]
    assert isinstance(parts[0][0], Thinking)
    assert parts[0][0].text == "hm"


@pytest.mark.parametrize(
    "tool_calls",
    [
        7,
        "x",
        {},
        [None],
        ["x"],
        [{"function": 3}],
        [{"id": 4, "function": {"name": None}}],
        [{"id": "", "function": {}}],
    ],
)
def test_odd_calls_do_not_stop_the_reading(tool_calls: Any) -> None:
    """A field of an unexpected type never makes a record unreadable, and content agrees with the light record."""
    data = log({"role": "assistant", "content": [3, None, {"type": 5}, []], "tool_calls": tool_calls})
    message = read(FORMAT, data).messages[0]
    calls = [p.id for p in content(FORMAT, data, message).parts if isinstance(p, Call)]
    assert calls == list(message.calls)
    assert all(calls)


PARTS: dict[str, tuple[Any, list[Any]]] = {
    "text": ("hi", [Text("hi")]),
    "none": (None, []),
    "empty": ("", []),
    "number": (5, [Text("5")]),
    "text part": ([{"type": "text", "text": "a"}, "b", {"text": "c"}], [Text("a"), Text("b"), Text("c")]),
    "refusal": ([{"type": "refusal", "refusal": "no"}], [Text("no")]),
    "image by url": (
        [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
        [Image("", "", "https://x/y.png", {"type": "image_url", "image_url": {"url": "https://x/y.png"}})],
    ),
    "image in place": (
        [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}],
        [
            Image(
                "image/png",
                "iVBORw0KGgo=",
                "",
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
            )
        ],
    ),
    "anthropic image": (
        [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}],
        [
            Image(
                "image/png",
                "iVBORw0KGgo=",
                "",
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
            )
        ],
    ),
    "thinking": (
        [{"type": "thinking", "thinking": "", "signature": "S"}],
        [Thinking("", {"type": "thinking", "thinking": "", "signature": "S"})],
    ),
    "other": ([{"type": "input_audio", "x": 1}], [Other("input_audio", {"type": "input_audio", "x": 1})]),
}


@pytest.mark.parametrize(("body", "parts"), PARTS.values(), ids=PARTS.keys())
def test_parts(body: Any, parts: list[Any]) -> None:
    """Each kind of content becomes its part, with the original kept beside it."""
    assert content_of({"role": "user", "content": body}).parts == parts


def test_content_keeps_the_record() -> None:
    """What an export writes back is the record itself."""
    record = {"role": "assistant", "name": "n", "reasoning_content": "why", "content": "x", "meta": {"k": 1}}
    (got,) = contents(FORMAT, log(record))
    assert (got.role, got.name, got.rows) == ("assistant", "n", [record])
    assert got.parts == [Thinking("why", {"reasoning_content": "why"}), Text("x")]


def test_arguments_that_are_no_object_stay_as_they_are() -> None:
    """Text stands where JSON should; it is not thrown away."""
    for text in ("{broken", "[1]", ""):
        call = {"id": "c", "function": {"name": "f", "arguments": text}}
        (part,) = content_of({"role": "assistant", "tool_calls": [call]}).parts
        assert isinstance(part, Call)
        assert part.arguments == text


def test_a_message_that_cannot_be_read_in_full_still_counts() -> None:
    """Its place in the numbering must not depend on what stands in it."""
    data = b'{"role":"user","content":[' + b"9" * 5000 + b']}\n{"role":"user","content":"x"}\n'
    assert [(m.n, m.calls, m.opens) for m in read(FORMAT, data).messages] == [(1, (), True), (2, (), True)]


LISTS: list[list[Any]] = [
    [],
    ["words", 3, None, [], {}],
    [{"type": "text", "text": "a\nb"}, {"type": "image_url", "image_url": {"url": "u"}}],
    [{"type": "tool_use", "id": "c1", "name": "f", "input": {"type": "tool_use", "id": "no"}}],
    [{"type": "tool_use", "id": "c2", "name": None}, {"type": "tool_use", "id": "c2"}],
    [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "tool_use", "id": "no"}]}],
    [{"type": "tool_result", "tool_use_id": "c2"}, {"type": "text", "text": "x"}],
    [{"type": ["tool_use"], "id": "c3"}, {"type": {"a": 1}, "text": "x"}],
]
ODD_LISTS: list[list[Any]] = [
    [{"type": "tool_use", "id": 7, "name": "f"}],
    [{"type": "tool_use", "name": "f"}],
    [{"type": "tool_result"}],
    [{"type": "tool_call", "id": "c4", "function": {"name": "f", "arguments": "{}"}}],
]


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
@pytest.mark.parametrize("calls", [None, [], [{"id": "c1", "function": {"name": "f"}}]])
@pytest.mark.parametrize("listed", LISTS + ODD_LISTS, ids=repr)
def test_links_in_parts_are_those_of_the_parts(listed: list[Any], calls: Any, role: str) -> None:
    """However much is read at once: a row beside it that is looked at by itself changes nothing."""
    row: dict[str, Any] = {"role": role, "content": listed, "tool_call_id": "c9"}
    if calls is not None and role != "tool":
        row["tool_calls"] = calls
    alone = read(FORMAT, json.dumps(row).encode() + b"\n").messages[0]
    odd = json.dumps({"role": "assistant", "content": {"type": "text", "text": "x"}}).encode() + b"\n"
    both = read(FORMAT, json.dumps(row).encode() + b"\n" + odd).messages[0]
    assert alone == both
    parts = content_of(row, alone.calls, alone.results).parts
    assert alone.calls == tuple(part.id for part in parts if isinstance(part, Call))
    assert alone.results == tuple(part.id for part in parts if isinstance(part, Result))
