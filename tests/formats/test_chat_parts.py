"""Parts of a record, however odd: reading never fails, light records and content agree, and every export is valid."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.messages import Call, Image, Other, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import NothingToSend
from ctxkit.formats import anthropic, openai
from ctxkit.formats.chat import FORMAT
from ctxkit.formats.chat_lines import lines
from ctxkit.formats.chat_parts import arguments_of, part_of, parts_of
from tests.formats.reading import content, contents, read
from tests.formats.writing import write
from tests.validators import anthropic_rules, openai_rules

WORDS = st.sampled_from(["", " ", "x", "A", "B", "{}", '{"name":"f","arguments":{}}', "{broken"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.just(1.5), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(WORDS, inner, max_size=2)),
    max_leaves=4,
)
KINDS = [
    "text", "tool_use", "tool_result", "thinking", "redacted_thinking", "reasoning", "image", "image_url",
    "input_image", "tool_call", "refusal", "file", "input_audio", "document", "search_result", "server_tool_use",
    "web_search_tool_result", "tool_reference", "container_upload", "odd",
]  # fmt: skip
BLOCK_KEYS = [
    "id", "name", "input", "tool_use_id", "content", "is_error", "text", "value", "thinking", "signature", "data",
    "source", "image_url", "url", "refusal", "title", "file", "file_id", "tool_name", "function", "arguments",
    "cache_control", "input_audio",
]  # fmt: skip
SOURCES = [
    {"type": "text", "media_type": "text/plain", "data": "x"},
    {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    {"type": "url", "url": "https://x"},
    {"type": []},
]
LIKELY = {
    "source": st.sampled_from(SOURCES),
    "content": st.lists(
        st.one_of(st.sampled_from([{"type": "text", "text": "x"}, {"type": "text", "text": " "}]), VALUES)
    ),
    "input": st.dictionaries(WORDS, VALUES, max_size=1),
    "cache_control": st.just({"type": "ephemeral"}),
}
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={key: st.one_of(LIKELY.get(key, WORDS), VALUES) for key in BLOCK_KEYS},
)
CALLS = st.builds(
    lambda identity, name, arguments: {"id": identity, "function": {"name": name, "arguments": arguments}},
    VALUES,
    VALUES,
    VALUES,
)
BODIES = st.one_of(VALUES, st.lists(st.one_of(BLOCKS, VALUES), max_size=4))
RECORDS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "function", "system", "ai", "exit"])},
    optional={
        "content": BODIES,
        "tool_calls": st.one_of(VALUES, st.lists(st.one_of(CALLS, BLOCKS), max_size=3)),
        "tool_call_id": VALUES,
        "function_call": VALUES,
        "reasoning_content": VALUES,
        "reasoning": VALUES,
        "reasoning_details": st.one_of(VALUES, st.lists(BLOCKS, max_size=2)),
        "refusal": VALUES,
        "name": VALUES,
        "ts": VALUES,
    },
)


@given(st.lists(RECORDS, max_size=5))
def test_every_record_is_read_and_its_exports_are_valid(records: list[dict[str, Any]]) -> None:
    """No record stops the reading, and none makes an export that its provider would refuse."""
    data = b"".join(dumps(record).encode() + b"\n" for record in records)
    messages = read(FORMAT, data).messages
    assert len(messages) == len(records)
    for lines_in_block in (1, 1000):
        assert list(read(FORMAT, data, lines_in_block).messages) == list(messages)
    for message in messages:
        parts = content(FORMAT, data, message).parts
        assert [part.id for part in parts if isinstance(part, Call)] == list(message.calls)
        assert [part.name for part in parts if isinstance(part, Call)] == list(message.tools)
        assert [part.id for part in parts if isinstance(part, Result)] == list(message.results)
    everything = contents(FORMAT, data)
    assert all(dumps(line) for line in lines(everything))
    for writer, rules in ((anthropic, anthropic_rules), (openai, openai_rules)):
        try:
            body, _ = write(writer, everything)
        except NothingToSend:
            continue
        assert rules.problems(body) == []


PARTS: dict[str, tuple[Any, Any]] = {
    "text": ("x", Text("x")),
    "LLaMA-Factory's text": ({"type": "text", "value": "x"}, Text("x")),
    "LLaMA-Factory's reasoning": (
        {"type": "reasoning", "value": "x"},
        Thinking("x", {"type": "reasoning", "value": "x"}),
    ),
    "LLaMA-Factory's call": (
        {"type": "tool_call", "value": '{"name":"f","arguments":{"k":1}}'},
        Call("", "f", {"k": 1}, {"type": "tool_call", "value": '{"name":"f","arguments":{"k":1}}'}),
    ),
    "redacted": (
        {"type": "redacted_thinking", "data": "x"},
        Thinking("", {"type": "redacted_thinking", "data": "x"}),
    ),
    "a result's parts": (
        {"type": "tool_result", "tool_use_id": "A", "content": [{"type": "text", "text": "x"}]},
        Result(
            "A",
            [Text("x")],
            False,
            {"type": "tool_result", "tool_use_id": "A", "content": [{"type": "text", "text": "x"}]},
        ),
    ),
    "image in a URL of any case": (
        {"type": "image_url", "image_url": {"url": "DATA:Image/PNG;charset=x;Base64,AAAA"}},
        Image(
            "image/png", "AAAA", raw={"type": "image_url", "image_url": {"url": "DATA:Image/PNG;charset=x;Base64,AAAA"}}
        ),
    ),
    "image without anything": ({"type": "image"}, Image(raw={"type": "image"})),
    "text that is none": ({"type": "text", "text": 5}, Other("text", {"type": "text", "text": 5})),
    "a type that is none": ({"type": ["text"], "text": "x"}, Other("unknown", {"type": ["text"], "text": "x"})),
    "no object": (5, Other("unknown", {"value": 5})),
}


@pytest.mark.parametrize(("item", "part"), PARTS.values(), ids=PARTS.keys())
def test_part_of(item: Any, part: Any) -> None:
    """Each kind, and what is of no kind."""
    assert part_of(item) == part


@pytest.mark.parametrize(
    ("written", "read_as"),
    [(None, {}), ("{}", {}), ('{"k":1}', {"k": 1}), ({"k": 1}, {"k": 1}), ("[1]", "[1]"), ("", ""), ("x", "x"), (5, 5)],
)
def test_arguments_of(written: Any, read_as: Any) -> None:
    """An object where they are one."""
    assert arguments_of(written) == read_as


def test_ids_of_reading_are_used() -> None:
    """In the order of the calls and results, whatever ids the record has."""
    record = {"role": "assistant", "content": [{"type": "tool_use", "name": "f"}], "tool_calls": [{"id": "B"}]}
    assert [part.id for part in parts_of(record, ("one", "two")) if isinstance(part, Call)] == ["one", "two"]


@pytest.mark.parametrize(
    ("record", "ids"),
    [({"tool_call_ids": ["A"]}, ["A"]), ({"tool_call_ids": ["A", 7]}, ["A", "7"]), ({"tool_call_ids": []}, [""]),
     ({"tool_call_id": "B", "tool_call_ids": ["A"]}, ["B"]), ({"tool_call_ids": "A"}, [""])],
)  # fmt: skip
def test_answers_of_swe_agent(record: dict[str, Any], ids: list[str]) -> None:
    """It lists the calls that an observation answers; the first has the words."""
    made = [part for part in parts_of({"role": "tool", "content": "ok", **record}) if isinstance(part, Result)]
    assert [part.id for part in made] == ids and [part.content for part in made] == ["ok", ""][: len(ids)]


def test_pairs_of_swe_agent() -> None:
    """Light records know them as well, so that a step is whole."""
    call = {"id": "A", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    rows = [{"role": "assistant", "content": "x", "tool_calls": [call]},
            {"role": "tool", "content": "ok", "tool_call_ids": ["A"]}]  # fmt: skip
    found = read(FORMAT, "\n".join(map(dumps, rows)).encode())
    assert [tuple(message.results) for message in found.messages] == [(), ("A",)]
