"""filter_context: its definition in each provider's shape, and what calls of it are read as."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.changes.filter_schema import (
    ARGUMENTS,
    LARGEST,
    NAME,
    PROVIDERS,
    FilterRequest,
    Refused,
    definition,
    request,
)
from ctxkit.tokens.tools import definitions
from tests.effort import examples

PREVIEW = {"action": "preview", "mode": "forget", "criteria": "database schema"}
APPLY = {"action": "apply", "mode": "remember", "message_ids": ["3", "5-7"], "planning_conversation_ids": ["9-"]}


def read(value: Any) -> FilterRequest:
    """Of a JSON value."""
    return request(json.dumps(value).encode())


def test_providers_take_it() -> None:
    """By their own types; the parameters are the same for each."""
    from anthropic.types import ToolParam  # seconds, which a run of other tests need not wait
    from google.genai import types
    from openai.types.chat import ChatCompletionToolParam
    from pydantic import TypeAdapter

    TypeAdapter(ChatCompletionToolParam).validate_python(definition("openai"))
    TypeAdapter(ToolParam).validate_python(definition("anthropic"))
    gemini = types.Tool.model_validate(definition("gemini"))
    [function] = gemini.function_declarations or []
    assert function.parameters is not None and set(function.parameters.properties or {}) == set(ARGUMENTS)
    assert function.parameters.type == types.Type.OBJECT
    for provider in PROVIDERS:
        [tool] = definitions(definition(provider))
        assert (tool.name, set(tool.schema["properties"])) == (NAME, set(ARGUMENTS))
    with pytest.raises(KeyError):
        definition("other")


def test_strict_modes_take_it() -> None:
    """What OpenAI's and Anthropic's packages make of a schema for their strict modes is what stands there already."""
    from anthropic import transform_schema
    from openai.lib._pydantic import _ensure_strict_json_schema

    openai, anthropic = definition("openai")["function"], definition("anthropic")
    assert openai["strict"] is anthropic["strict"] is True
    parameters = openai["parameters"]
    assert _ensure_strict_json_schema(copy.deepcopy(parameters), path=(), root=parameters) == parameters
    assert parameters["required"] == list(parameters["properties"]) == list(ARGUMENTS)
    plain = copy.deepcopy(anthropic["input_schema"])
    for name in ("action", "mode"):
        del plain["properties"][name]["type"]  # which a list of strings says anyway
    assert transform_schema(copy.deepcopy(anthropic["input_schema"])) == plain
    optional = [name for name in ARGUMENTS if name not in anthropic["input_schema"]["required"]]
    assert len(optional) <= 24  # of all strict tools of a request
    loose = {**parameters, "required": ["action"]}
    assert _ensure_strict_json_schema(copy.deepcopy(loose), path=(), root=loose) != loose


def test_what_strict_modes_send() -> None:
    """Null for every argument that says nothing."""
    said = {name: None for name in ARGUMENTS} | PREVIEW
    assert read({"id": "c", "function": {"name": NAME, "arguments": json.dumps(said)}}).criteria == "database schema"
    assert read(said) == read(PREVIEW)


def test_arguments_are_those_that_are_read() -> None:
    """Nothing is offered that is not read, or read that is not offered."""
    assert set(ARGUMENTS) == set(FilterRequest.__struct_fields__) - {"key"}


SHAPES: dict[str, Any] = {
    "openai": {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": json.dumps(APPLY)}},
    "openai message": {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": json.dumps(APPLY)}}]},
    "openai beside another": {"tool_calls": [
        {"id": "c0", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
        {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": json.dumps(APPLY)}}]},
    "responses": {"type": "function_call", "id": "fc", "call_id": "c1", "name": NAME, "arguments": json.dumps(APPLY)},
    "anthropic": {"type": "tool_use", "id": "c1", "name": NAME, "input": APPLY},
    "anthropic message": {"role": "assistant", "content": [
        {"type": "text", "text": "so"}, {"type": "tool_use", "id": "c1", "name": NAME, "input": APPLY}]},
    "gemini": {"functionCall": {"id": "c1", "name": NAME, "args": APPLY}},
    "gemini content": {"role": "model", "parts": [{"text": "so"}, {"functionCall": {
        "id": "c1", "name": NAME, "args": APPLY}}]},
    "arguments as text": json.dumps({"id": "c1", "type": "tool_use", "name": NAME, "input": APPLY}),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str) -> None:
    """The call of each provider, alone or in its message; the same arguments, and the same key."""
    found = read(SHAPES[shape])
    assert found == read(SHAPES["openai"])
    assert (found.action, found.mode, found.message_ids) == ("apply", "remember", ("3", "5-7"))
    assert found.planning_conversation_ids == ("9-",) and len(found.key) == 16


def test_keys() -> None:
    """Of the same call sent again the same; of other arguments, or another call, another; without an id none."""
    one = SHAPES["anthropic"]
    keys = [read(call).key for call in (one, one, one | {"id": "c2"}, one | {"input": APPLY | {"mode": "forget"}})]
    assert keys[0] == keys[1] and len(set(keys)) == 3
    assert read(APPLY).key == read({"functionCall": {"name": NAME, "args": APPLY}}).key == ""
    assert read({"function_call": {"name": NAME, "arguments": json.dumps(APPLY)}}) == read(APPLY)  # OpenAI, of old


def test_lenient_values() -> None:
    """Numbers for ids, one for many, null for what is not said."""
    found = read({**PREVIEW, "role": None, "last": 5, "message_ids": 7})
    assert (found.role, found.last, found.message_ids) == (None, "5", ("7",))
    assert read({**APPLY, "message_ids": [3, "4"]}).message_ids == ("3", "4")


REFUSED: list[tuple[Any, str, str]] = [
    ({**PREVIEW, "action": "delete"}, "unknown_action", "preview, apply"),
    ({**PREVIEW, "mode": "purge"}, "unknown_mode", "forget, remember"),
    ({"mode": "forget"}, "missing_argument", "preview, apply"),
    ({"action": "apply"}, "missing_argument", "forget, remember"),
    ({"action": "preview", "mode": "forget"}, "missing_argument", "criteria"),
    ({**PREVIEW, "criteria": ""}, "missing_argument", "criteria"),
    ({"action": "apply", "mode": "forget"}, "missing_argument", "preview first"),
    ({**APPLY, "message_ids": []}, "missing_argument", "preview first"),
    ({**APPLY, "message_ids": [1.5]}, "bad_argument", "45"),
    ({**APPLY, "message_ids": [True]}, "bad_argument", "45"),
    ({**APPLY, "message_ids": {"a": 1}}, "bad_argument", "45"),
    ({**PREVIEW, "criteria": ["a"]}, "bad_argument", "a string"),
    ({**PREVIEW, "action": 3}, "bad_argument", "a string"),
    ({**PREVIEW, "force": True}, "unknown_argument", "message_ids"),
    ({"name": "rm", "arguments": "{}"}, "unknown_tool", NAME),
    ({"type": "tool_use", "name": None, "input": {}}, "unknown_tool", NAME),
    ({"name": NAME, "arguments": "{"}, "not_json", "object"),
    ({"name": NAME, "arguments": "3"}, "no_call", "object"),
    ({"name": NAME, "arguments": 3}, "bad_argument", "object"),
    ({"tool_calls": [SHAPES["openai"], SHAPES["openai"]]}, "no_call", "one call"),
    ({"tool_calls": []}, "no_call", "one call"),
    ([[[[[[[[PREVIEW]]]]]]]], "no_call", "one call"),
    (3, "no_call", "object"),
    (None, "no_call", "object"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "code", "hint"), REFUSED)
def test_refused(value: Any, code: str, hint: str) -> None:
    """Each with a code and what to do."""
    with pytest.raises(Refused) as caught:
        read(value)
    assert caught.value.code == code and hint in caught.value.hint
    assert set(caught.value.as_json()["error"]) == {"code", "message", "hint"}


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "not_json"), (b"\xff\xfe", "not_json"), (b"[" * 100_000, "not_json"), (b'{"a":' * 5_000, "not_json"),
        (b"\0" * (LARGEST + 1), "too_large"), (b'"' + b"\\" * 30 + b'"', "not_json"),
    ],
)  # fmt: skip
def test_hostile(raw: bytes, code: str) -> None:
    """No JSON, too much of it, too deep."""
    with pytest.raises(Refused) as caught:
        request(raw)
    assert caught.value.code == code


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from([NAME, "apply"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*ARGUMENTS, "name", "arguments", "input", "function", "functionCall", "tool_calls", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(60))
@given(JSON)
def test_whatever_it_is(value: Any) -> None:
    """A request or a refusal, never anything else."""
    try:
        found = read(value)
    except Refused:
        return
    assert found.action in ("preview", "apply") and found.mode in ("forget", "remember")
