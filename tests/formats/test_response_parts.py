"""Items of Responses as parts."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Image, Other, Part, Result, Text, Thinking
from ctxkit.formats.response_parts import parts_of


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "message", "content": "hi"}, [Text("hi")]),
        ({"type": "message", "content": [{"type": "output_text", "text": "hi"}, 3]}, [Text("hi")]),
        (
            {
                "type": "message",
                "content": [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}],
            },
            [
                Image(
                    "image/png",
                    "iVBORw0KGgo=",
                    raw={"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="},
                )
            ],
        ),
        (
            {"type": "message", "content": [{"type": "input_image", "image_url": "https://x/y.png"}]},
            [Image(url="https://x/y.png", raw={"type": "input_image", "image_url": "https://x/y.png"})],
        ),
        ({"role": "user", "content": "hi"}, [Text("hi")]),
        ({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}, [Text("no")]),
        (
            {"type": "message", "content": [{"type": "input_file", "file_id": "f"}]},
            [Other("input_file", {"type": "input_file", "file_id": "f"})],
        ),
        ({"type": "ghost_snapshot"}, [Other("ghost_snapshot", {"type": "ghost_snapshot"})]),
        ({"type": "mcp_call", "output": "x"}, [Other("mcp_call", {"type": "mcp_call", "output": "x"})]),
        ({"type": "function_call", "name": "f"}, [Other("function_call", {"type": "function_call", "name": "f"})]),
    ],
)
def test_parts(item: dict[str, Any], expected: list[Part]) -> None:
    """Texts, images by their bytes or address, and what is carried unread."""
    assert parts_of(item) == expected


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}, {"text": "b"}]}, "a\n\nb"),
        ({"type": "reasoning", "summary": [], "content": [{"text": "c"}]}, "c"),
        ({"type": "reasoning"}, ""),
    ],
)
def test_reasoning(item: dict[str, Any], words: str) -> None:
    """What of it can be read; the item itself stays as it is."""
    assert parts_of(item) == [Thinking(words, item)]


@pytest.mark.parametrize(
    ("item", "name", "arguments"),
    [
        ({"type": "function_call", "call_id": "c", "name": "run", "arguments": '{"a":1}'}, "run", {"a": 1}),
        ({"type": "function_call", "call_id": "c", "name": "run", "arguments": "not json"}, "run", "not json"),
        ({"type": "function_call", "call_id": "c", "name": "run", "arguments": "[1]"}, "run", "[1]"),
        ({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "***"}, "apply_patch", "***"),
        ({"type": "tool_search_call", "call_id": "c", "arguments": {"query": "x"}}, "tool_search", {"query": "x"}),
        (
            {"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}},
            "local_shell",
            {"command": ["ls"]},
        ),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}}, "shell", {"commands": ["ls"]}),
        ({"type": "apply_patch_call", "call_id": "c", "operation": {"path": "x"}}, "apply_patch", {"path": "x"}),
        ({"type": "computer_call", "call_id": "c", "action": {"type": "wait"}}, "computer", {"type": "wait"}),
    ],
)
def test_calls(item: dict[str, Any], name: str, arguments: Any) -> None:
    """Each kind of call, by its name, or what it is called that has none."""
    assert parts_of(item) == [Call("c", name, arguments, item)]


@pytest.mark.parametrize(
    ("output", "content", "failed"),
    [
        ("done", "done", False),
        ([{"type": "input_text", "text": "a"}], [Text("a")], False),
        ({"content": "no", "success": False}, "no", True),
        ({"content": "yes", "success": True}, "yes", False),
        (None, "", False),
    ],
)
def test_outputs(output: Any, content: Any, failed: bool) -> None:
    """Texts, lists of items, and the older form that says whether it worked."""
    item = {"type": "function_call_output", "call_id": "c", "output": output}
    assert parts_of(item) == [Result("c", content, failed, item)]


SHOT = {"type": "computer_screenshot", "image_url": "https://x/y.png"}


@pytest.mark.parametrize(
    ("item", "content", "failed"),
    [
        ({"type": "shell_call_output", "output": [{"stdout": "a", "stderr": "b"}]}, [Text("a\nb")], False),
        ({"type": "apply_patch_call_output", "status": "failed", "output": "no"}, "no", True),
        ({"type": "apply_patch_call_output", "status": "completed"}, "", False),
        ({"type": "computer_call_output", "output": SHOT}, [Image(url="https://x/y.png", raw=SHOT)], False),
    ],
)
def test_outputs_of_tools(item: dict[str, Any], content: Any, failed: bool) -> None:
    """What shells print, whether a patch could be applied, and pictures of a screen."""
    item = {**item, "call_id": "c"}
    assert parts_of(item) == [Result("c", content, failed, item)]


def test_an_answer_without_a_call_id() -> None:
    """That of a local shell names its call otherwise."""
    item = {"type": "local_shell_call_output", "id": "c", "output": "x"}
    assert parts_of(item) == [Result("c", "x", False, item)]
