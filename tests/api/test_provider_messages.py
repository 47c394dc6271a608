"""Messages and responses of providers as rows of a log."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.api.provider_messages import plain, response_rows, rows
from ctxkit.errors import BadMessage

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"role": "user", "content": "x", "agent": "ada"}, [{"role": "user", "content": "x", "agent": "ada"}]),
        ({"role": "assistant", "content": [{"type": "text", "text": "x"}]},
         [{"role": "assistant", "content": [{"type": "text", "text": "x"}]}]),
        ({"role": "model", "parts": [{"text": "x"}, {"functionCall": {"name": "f", "args": {}}}]},
         [{"role": "assistant", "content": "x",
           "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}]),
        ({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"a": 1}}},
                                    {"functionResponse": {"name": "g", "id": "i", "response": "b"}}, {"text": "and"}]},
         [{"role": "tool", "name": "f", "content": '{"a":1}'},
          {"role": "tool", "name": "g", "content": "b", "tool_call_id": "i"}, {"role": "user", "content": "and"}]),
        ({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
         [{"role": "assistant", "content": None, "tool_calls": [CALL]}]),
        ({"type": "function_call_output", "call_id": "c1", "output": "x"},
         [{"role": "tool", "tool_call_id": "c1", "content": "x"}]),
    ],
)  # fmt: skip
def test_rows(given: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    """A message of any provider."""
    found = rows(given)
    assert found == expected


@pytest.mark.full("imports the providers' packages, which takes seconds")
def test_objects() -> None:
    """What the providers' packages return is taken as it is."""
    import anthropic.types
    import openai.types.chat
    from google.genai import types as gemini

    message = openai.types.chat.ChatCompletionMessage(role="assistant", content="x")
    assert rows(message) == [{"role": "assistant", "content": "x"}]
    block = anthropic.types.TextBlock(type="text", text="x")
    reply = anthropic.types.Message(
        id="m", type="message", role="assistant", model="claude-sonnet-4-5", content=[block],
        usage=anthropic.types.Usage(input_tokens=3, output_tokens=4), stop_reason="end_turn", stop_sequence=None,
    )  # fmt: skip
    [row] = response_rows(reply)
    assert row["usage"]["input_tokens"] == 3 and row["model"] == "claude-sonnet-4-5" and row["role"] == "assistant"
    content = gemini.Content(role="model", parts=[gemini.Part(text="x")])
    assert rows(content) == [{"role": "assistant", "content": "x"}]


def test_one_response_is_one_message() -> None:
    """Items of Responses that the model made at once are one message, with reasoning and calls."""
    output = [
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "abc"},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
        {"type": "function_call", "id": "f", "call_id": "c1", "name": "f", "arguments": "{}"},
    ]
    [row] = response_rows({"output": output, "usage": {"input_tokens": 3, "output_tokens": 1}, "model": "gpt-5"})
    assert row["role"] == "assistant" and "abc" in str(row) and "c1" in str(row) and row["model"] == "gpt-5"


WRONG = [None, 3, "x", {"text": "x"}, {"role": ""}, {"ctxkit": "mark"}, {"role": "user", "x": {1}}]


@pytest.mark.parametrize("wrong", WRONG)
def test_no_message(wrong: object) -> None:
    """What is no message is refused, and named."""
    with pytest.raises(BadMessage):
        rows(wrong)


@pytest.mark.parametrize("wrong", [{"choices": []}, {"choices": [{}]}, {"id": "x"}, {"candidates": [{"index": 0}]}])
def test_no_response(wrong: dict[str, Any]) -> None:
    """A response without a message is refused."""
    with pytest.raises(BadMessage):
        response_rows(wrong)


def test_plain_copies() -> None:
    """A message is not changed by what is made of it."""
    given = {"role": "user", "content": "x"}
    assert plain(given) == given and plain(given) is not given
