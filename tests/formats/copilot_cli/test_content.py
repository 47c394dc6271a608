"""Copilot CLI events as parts."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Image, Message, Other, Part, Result, Text, Thinking
from ctxkit.formats.copilot_cli.content import content_of


def parts(kind: str, data: dict[str, Any]) -> list[Part]:
    """The parts of an event."""
    return content_of(Message(1, 0, 0, "x"), [{"type": kind, "data": data}]).parts


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"content": "a"}, [Text("a")]),
        ({"content": "a", "transformedContent": "now: a"}, [Text("now: a")]),
        ({"content": "a", "attachments": [{"type": "file"}]}, [Text("a"), Other("attachment", {"type": "file"})]),
        (
            {"attachments": [{"data": "AA", "mimeType": "image/png"}]},
            [Image("image/png", "AA", raw={"data": "AA", "mimeType": "image/png"})],
        ),
    ],
)
def test_prompts(data: dict[str, Any], expected: list[Part]) -> None:
    """In the words that the model is sent; attachments are carried."""
    assert parts("user.message", data) == expected


@pytest.mark.parametrize(
    ("data", "content", "failed"),
    [
        ({"success": True, "result": {"content": "ok"}}, "ok", False),
        ({"success": False, "error": {"message": "no", "code": "failure"}}, "no", True),
        ({"success": True, "result": {"other": 1}}, '{"other": 1}', False),
        ({"success": True}, "", False),
    ],
)
def test_results(data: dict[str, Any], content: str, failed: bool) -> None:
    """The content, or the message of the error."""
    found = parts("tool.execution_complete", {"toolCallId": "c"} | data)[0]
    assert isinstance(found, Result)
    assert (found.id, found.content, found.is_error) == ("c", content, failed)


def test_a_response() -> None:
    """Thinking first, then words, then calls; a call without a name is carried unread."""
    request = {"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}}
    data = {"content": "a", "reasoningText": "hm", "toolRequests": [request, {"name": "x"}]}
    assert parts("assistant.message", data) == [
        Thinking("hm", {"reasoningText": "hm", "reasoningOpaque": None}),
        Text("a"),
        Call("c", "bash", {"command": "ls"}, request),
        Other("toolRequest", {"name": "x"}),
    ]
