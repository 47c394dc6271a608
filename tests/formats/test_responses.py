"""A context goes out as a body that OpenAI's Responses API takes; a Codex session as Codex sends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ctxkit import Log
from ctxkit.core.integrity import NO_RESULT
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import NothingToSend
from ctxkit.formats import responses
from tests.formats.strategies import CONTENTS
from tests.formats.writing import write
from tests.shared import SHARED
from tests.validators import typed
from tests.validators.responses_rules import problems

REAL = sorted((SHARED / "truth/codex").glob("*.json"))
SHORTENED = {"07-agentv-92lines-unpaired": 1, "03-agentv-2compact-encrypted-compaction": 2}
"""How many results Codex cut when it resumed (agents, Codex 7 and 8)."""


def one(role: str, *parts: Part | str, name: str | None = None) -> Content:
    return Content(role, [Text(part) if isinstance(part, str) else part for part in parts], name)


def said(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def words(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


CALL = Call("A", "f", {"x": 1})
MADE = {"type": "function_call", "name": "f", "arguments": '{"x":1}', "call_id": "A"}
PNG = Image("image/png", "iVBORw0KGgo=")
PICTURE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
PATCH = {"type": "custom_tool_call", "call_id": "P", "name": "apply_patch", "input": "***", "status": "completed"}
THOUGHT = {"type": "reasoning", "summary": [], "encrypted_content": "E"}
CASES: dict[str, tuple[list[Content], list[dict[str, Any]], dict[str, int]]] = {
    # what it is: (contents, items, left out)
    "roles": (
        [one("system", "s"), one("developer", "d"), one("exit", "e"), one("ai", "a")],
        [said("system", "s"), said("developer", "d"), said("user", "e"), said("assistant", "a")],
        {},
    ),
    "texts": ([one("user", "a", "b")], [said("user", [words("a"), words("b")])], {}),
    "texts of the model": ([one("assistant", "a", "b")], [said("assistant", "a"), said("assistant", "b")], {}),
    "name": ([one("user", "a", name="frodo")], [said("user", "a")], {"name of a speaker": 1}),
    "calls in their place": (
        [one("assistant", "a", CALL, "b"), one("tool", Result("A", "r"))],
        [said("assistant", "a"), MADE, said("assistant", "b"),
         {"type": "function_call_output", "call_id": "A", "output": "r"}],
        {},
    ),
    "arguments that are none": (
        [one("assistant", Call("A", "f", "x")), one("tool", Result("A", "r"))],
        [MADE | {"arguments": '{"_raw":"x"}'}, {"type": "function_call_output", "call_id": "A", "output": "r"}],
        {},
    ),
    "a failed result": (
        [one("assistant", CALL), one("tool", Result("A", "r", True))],
        [MADE, {"type": "function_call_output", "call_id": "A", "output": "r"}],
        {"error flag of a result": 1},
    ),
    "a result with a picture": (
        [one("assistant", CALL), one("tool", Result("A", [Text("r"), PNG, Other("x", {})]))],
        [MADE, {"type": "function_call_output", "call_id": "A", "output": [words("r"), PICTURE, words("[x]")]}],
        {"x": 1},
    ),
    "pictures": (
        [one("user", "see", PNG, Image("", "", "https://x/y.png"), Image("", "", "file:///x"))],
        [said("user", [words("see"), PICTURE, PICTURE | {"image_url": "https://x/y.png"}, words("[image]")])],
        {"image": 1},
    ),
    "a file": (
        [one("user", Other("file", {"type": "file", "file": {"file_id": "f1"}}))],
        [said("user", [{"type": "input_file", "file_id": "f1"}])],
        {},
    ),
    "thinking of others": (
        [one("assistant", Thinking("why", {"type": "thinking", "thinking": "why", "signature": "S"}), "a")],
        [said("assistant", "a")],
        {"thinking": 1},
    ),
    "reasoning": ([one("assistant", Thinking("", THOUGHT), "a")], [THOUGHT, said("assistant", "a")], {}),
    "reasoning at the end": (
        [one("user", "q"), one("assistant", Thinking("", THOUGHT))],
        [said("user", "q")],
        {"reasoning without the output that followed it": 1},
    ),
    "a custom call without its result": (
        [one("assistant", Call("P", "apply_patch", "***", PATCH))],
        [PATCH, {"type": "custom_tool_call_output", "call_id": "P", "output": NO_RESULT}],
        {},
    ),
    "a custom call with a shortened result": (
        [one("assistant", Call("P", "apply_patch", "***", PATCH)), one("tool", Result("P", "gone"))],
        [PATCH, {"type": "custom_tool_call_output", "call_id": "P", "output": "gone"}],
        {},
    ),
    "an item in disguise": (
        [one("user", "q", Other("function_call", MADE))],
        [said("user", "q")],
        {"function_call": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_context_becomes(case: str) -> None:
    """Each kind of part, where it can stand; what cannot is counted."""
    contents, items, left_out = CASES[case]
    body, repairs = write(responses, contents)
    assert body == {"input": items}
    assert repairs.left_out == left_out
    assert problems(body) == []


def test_what_comes_from_codex_stays_as_it_is() -> None:
    """Words, phases, encrypted reasoning and ids of items; what Codex keeps with them for itself does not go on."""
    answer = {"type": "message", "id": "m1", "role": "assistant", "phase": "commentary", "metadata": {"turn_id": "t"},
              "content": [{"type": "output_text", "text": "a"}]}  # fmt: skip
    rows = [{"type": "response_item", "payload": item} for item in (THOUGHT, answer)]
    content = one("assistant", Thinking("", THOUGHT), "a")
    content.rows = rows
    body, _ = write(responses, [content])
    assert body["input"] == [THOUGHT, {key: answer[key] for key in answer if key != "metadata"}]
    content.parts = [Text("short")]
    assert write(responses, [content])[0]["input"] == [said("assistant", "short")]


def test_reasoning_stays_where_its_program_sends_it() -> None:
    """A session that no op changed goes out as it is sent."""
    contents = [one("user", "q"), one("assistant", Thinking("", THOUGHT))]
    assert write(responses, contents, as_sent=True)[0]["input"] == [said("user", "q"), THOUGHT]


def test_nothing_to_send() -> None:
    """A context of which nothing is left is no request."""
    with pytest.raises(NothingToSend):
        write(responses, [one("assistant", Thinking("why", {}))])


@given(CONTENTS)
def test_every_body_is_valid(contents: list[Content]) -> None:
    """Contents as broken as can be."""
    try:
        body, _ = write(responses, contents, model="m")
    except NothingToSend:
        return
    assert problems(json.loads(dumps(body))) == []
    assert typed.responses(body) == []


@pytest.mark.parametrize("path", REAL or [Path("(none)")], ids=lambda path: path.stem)
def test_a_real_session_is_sent_as_recorded(path: Path) -> None:
    """Item by item what Codex sent when it resumed the file."""
    if not REAL:
        pytest.skip("no recorded requests are at hand")
    recorded = [plain(item) for item in json.loads(path.read_text(encoding="utf-8"))["request_messages"]]
    [body] = Log.open(SHARED / f"transcripts/codex/{path.stem}.jsonl").export("responses").values
    ours = [plain(item) for item in body["input"]]
    made = [i for i, item in enumerate(ours) if item.get("output") == NO_RESULT]
    aborted = [i for i, item in enumerate(recorded) if item.get("output") == "aborted"]
    assert len(made) == len(aborted)
    ours = [item for i, item in enumerate(ours) if i not in made]
    recorded = [item for i, item in enumerate(recorded) if i not in aborted]
    assert len(ours) == len(recorded)
    differing = [(a, b) for a, b in zip(ours, recorded, strict=True) if a != b]
    assert len(differing) == SHORTENED.get(path.stem, 0)
    assert all(a["call_id"] == b["call_id"] and a["type"] == b["type"] for a, b in differing)


def plain(item: dict[str, Any]) -> dict[str, Any]:
    """Without what the Codex client adds for itself, and without nothing."""
    return {key: value for key, value in item.items() if value is not None and "passthrough" not in key}
