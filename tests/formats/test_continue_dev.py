"""Items of Continue's sessions."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Image, Part, Result, Text, Thinking
from ctxkit.formats.continue_dev import FORMAT
from tests.cli.runner import lines
from tests.formats.reading import contents

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}


def item(role: str, content: Any, states: Any = None, **more: Any) -> dict[str, Any]:
    """An item of a history."""
    made = {"message": {"role": role, "content": content, **more}, "contextItems": []}
    return made if states is None else made | {"toolCallStates": states}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (item("user", "x"), [Text("x")]),
        (item("user", [{"type": "text", "text": "x"}]), [Text("x")]),
        (item("user", [{"type": "imageUrl", "imageUrl": {"url": "http://a"}}]), [Image]),
        (item("thinking", "hm", signature="s"), [Thinking]),
        (item("tool", "out", toolCallId="c"), [Result("c", "out")]),
        (item("assistant", "", toolCalls=[CALL]), [Call]),
        (
            item(
                "assistant",
                "x",
                [{"toolCallId": "c", "status": "done", "output": [{"content": "o"}]}],
                toolCalls=[CALL],
            ),
            [Text("x"), Call, Result],
        ),
        (item("assistant", "x", [{"toolCallId": "c", "status": "calling"}], toolCalls=[CALL]), [Text("x"), Call]),
        (
            item("assistant", "x", [{"toolCallId": "c", "status": "canceled"}], toolCalls=[CALL]),
            [Text("x"), Call, Result],
        ),
        ({"role": "user", "content": "x"}, [Text("x")]),
    ],
)
def test_items(row: dict[str, Any], expected: list[Part | type]) -> None:
    """A message, its calls, and what came of them."""
    found = contents(FORMAT, lines(row))[0].parts
    assert [type(one) for one in found] == [one if isinstance(one, type) else type(one) for one in expected]
    assert all(isinstance(want, type) or one == want for one, want in zip(found, expected, strict=True))
    assert all(one.arguments == {"a": 1} for one in found if isinstance(one, Call))
    assert all(one.id == "c" for one in found if isinstance(one, Call | Result))


def test_arguments_that_are_no_json() -> None:
    """Stay text."""
    broken = CALL | {"function": {"name": "f", "arguments": "{"}}
    (found,) = contents(FORMAT, lines(item("assistant", "", toolCalls=[broken])))[0].parts
    assert isinstance(found, Call) and found.arguments == "{"
