"""Items of Responses as numbered messages."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Call, Result, Text
from ctxkit.formats.response_log import FORMAT, count
from tests.formats import reading
from tests.formats.codex.logs import item as codex_item

EASY = {"role": "user", "content": "easy"}
SAID = {"role": "assistant", "content": "words"}
ITEMS: dict[str, dict[str, Any]] = {
    "easy": EASY,
    "said": SAID,
    "mcp": {"type": "mcp_call", "id": "m", "server_label": "s", "name": "n", "arguments": "{}", "output": "x"},
    "ask": {"type": "mcp_approval_request", "id": "r", "server_label": "s", "name": "n", "arguments": "{}"},
    "allow": {"type": "mcp_approval_response", "approval_request_id": "r", "approve": True},
    "search": {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search"}},
    "new": {"type": "something_new", "id": "x"},
    "event": {"type": "response.output_text.delta", "delta": "x"},
    "header": {"id": "s", "timestamp": "t", "instructions": None},
    "shell": {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}},
    "printed": {"type": "shell_call_output", "call_id": "s", "output": [{"stdout": "a", "stderr": ""}]},
    "nobody": {"type": "function_call", "name": "f", "arguments": "{}"},
}


def items(spec: str) -> list[dict[str, Any]]:
    """Items by a word each, of the table above or of Codex's tests."""
    return [ITEMS.get(word) or codex_item(word) for word in spec.split()]


def data(spec: str) -> bytes:
    """Such items, one per line."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in items(spec))


NUMBERS = {
    "easy say:a": ["user", "assistant"],
    "developer:d user:q think say:a call:c say:b out:c say:z": ["developer", "user", "assistant", "tool", "assistant"],
    "user:q call:c call:d out:d out:c": ["user", "assistant", "tool", "tool"],
    "user:q said call:c out:c": ["user", "assistant", "tool"],
    "user:q search mcp say:a": ["user", "assistant"],
    "user:q ask allow mcp say:a": ["user", "assistant", "user", "assistant"],
    "user:q new say:a": ["user", "assistant"],
    "header user:q event say:a event say:b ghost_snapshot say:c": ["user", "assistant"],
    "memory:m user:q": ["assistant", "user"],
    "user:q shell printed": ["user", "assistant", "tool"],
}


@pytest.mark.parametrize("spec", NUMBERS)
def test_which_items_open_a_message(spec: str) -> None:
    """A run of the model's items is one message, others are one each; events and headers are none."""
    found = reading.read(FORMAT, data(spec))
    assert [message.role for message in found.messages] == NUMBERS[spec]
    assert [message.n for message in found.messages] == list(range(1, len(NUMBERS[spec]) + 1))
    assert found.rows == len(spec.split())
    assert count(data(spec).splitlines()) == len(NUMBERS[spec])


@pytest.mark.parametrize("spec", NUMBERS)
def test_numbers_do_not_depend_on_later_rows(spec: str) -> None:
    """Whatever is appended, messages keep their numbers and places."""
    words = spec.split()
    full = [(m.role, m.offset) for m in reading.read(FORMAT, data(spec)).messages]
    for k in range(len(words)):
        here = [(m.role, m.offset) for m in reading.read(FORMAT, data(" ".join(words[:k])) if k else b"").messages]
        assert full[: len(here)] == here


def test_calls_answers_and_prompts() -> None:
    """Their ids and names; what opens an exchange is what the user says."""
    found = reading.read(FORMAT, data("user:q think call:c shell call:c out:c printed allow nobody"))
    said = found.messages[1]
    assert (said.calls, said.tools, len(said.more)) == (("c", "s"), ("run", "shell"), 3)
    assert [message.results for message in found.messages[2:4]] == [("c",), ("s",)]
    assert [message.opens for message in found.messages] == [True, False, False, False, False, False]
    contents = reading.contents(FORMAT, data("user:q call:c shell out:c printed"))
    made = [part.id for part in contents[1].parts if isinstance(part, Call)]
    assert made == list(said.calls)
    assert isinstance(contents[3].parts[0], Result) and contents[3].parts[0].content == [Text("a")]


def test_the_model_is_that_of_the_header() -> None:
    """Bodies that are laid out name it so."""
    assert reading.read(FORMAT, b'{"model":"gpt-5"}\n' + data("user:q")).model == "gpt-5"


def test_a_log_that_grows() -> None:
    """What is fed after `finish` goes on with the message that the model is at."""
    raw = data("user:q think call:c say:b")
    fed = reading.blocks(FORMAT, raw, 2)
    reader = FORMAT.reader()
    reader.feed(fed[0])
    assert [len(m.more) for m in reader.finish().messages] == [0, 0]
    reader.feed(fed[1])
    assert [(m.calls, len(m.more)) for m in reader.finish().messages] == [((), 0), (("c",), 2)]


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [1], {"a": 1}])
@pytest.mark.parametrize("key", ["type", "role", "id", "call_id", "name", "content", "output", "model", "summary"])
def test_odd_shapes(key: str, odd: Any) -> None:
    """Whatever stands in a field, the log is read, and so is each message."""
    raw = b"".join(json.dumps({**one, key: odd}).encode() + b"\n" for one in items("user:q think call:c out:c say:a"))
    reading.contents(FORMAT, raw)


def test_ops_go_to_no_item() -> None:
    """Lines that a pipe added are ops."""
    log = Log.open(io.BytesIO(data("user:q call:c out:c say:a") + b'{"ctxkit":"clear","id":"x","at":{"messages":4}}\n'))
    assert (log.transcript.format, log.names()) == ("responses", [])
    assert not log.native
