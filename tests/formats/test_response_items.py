"""Items for a session keep what a request would not take; those that a log has go on with ids that fit."""

from __future__ import annotations

from ctxkit.core.messages import Call, Content, Repairs, Result, Text
from ctxkit.formats.response_items import Items, followed

THOUGHT = {"type": "reasoning", "summary": []}
SAID = {"type": "message", "role": "assistant", "content": "a"}
ASKED = {"type": "message", "role": "user", "content": "q"}
OUTPUT = {"type": "function_call_output", "call_id": "A", "output": "r"}


def test_a_session_takes_what_a_request_does_not() -> None:
    """Names and arguments stay as they are; words of the model are lists of pieces."""
    made = Items(Repairs(), session=True)
    call, words = made.of(Content("assistant", [Call("A", "mcp.a/b", "{broken"), Text("a")]))
    assert (call["name"], call["arguments"]) == ("mcp.a/b", "{broken")
    assert words["content"] == [{"type": "output_text", "text": "a"}]


def test_ids_that_repeat_are_numbered() -> None:
    """Answers follow their call, also where a call is an item of the log."""
    made = Items(Repairs())
    item = {"type": "custom_tool_call", "call_id": "A", "name": "p", "input": "x"}
    found = []
    for _ in range(2):
        found += made.of(Content("assistant", [Call("A", "p", "x", item)]))
        found += made.of(Content("tool", [Result("A", "r")]))
    assert [one["call_id"] for one in found] == ["A", "A", "A-2", "A-2"]
    assert {one["type"] for one in found} == {"custom_tool_call", "custom_tool_call_output"}


def test_reasoning_goes_with_what_follows_it() -> None:
    """More reasoning may stand between; an output or the user's words may not."""
    for after in ([], [ASKED], [OUTPUT]):
        repairs = Repairs()
        assert list(followed([THOUGHT, THOUGHT, *after], repairs)) == after
        assert repairs.left_out == {"reasoning without the output that followed it": 2}
    assert list(followed([THOUGHT, THOUGHT, SAID], Repairs())) == [THOUGHT, THOUGHT, SAID]


def test_a_message_of_one_text_has_no_id() -> None:
    """The API takes one with a list of pieces alone."""
    pieces = [{"type": "output_text", "text": "a", "annotations": []}]
    for content, keys in (("a", {"type", "role", "content"}), (pieces, {"type", "role", "content", "id"})):
        item = {**SAID, "id": "msg_1", "status": "completed", "content": content}
        [made] = Items(Repairs()).of(Content("assistant", [Text("a")], None, [item]))
        assert made.keys() == keys
