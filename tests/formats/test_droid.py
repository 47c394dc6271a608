"""Rows of Factory Droid's sessions, and what tells them from pi's."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Result, Text, Thinking
from ctxkit.errors import UnknownFormat
from ctxkit.formats.detection import detect
from ctxkit.formats.droid import FORMAT, put
from tests.cli.runner import lines
from tests.formats.reading import contents, read

HEAD = {"type": "session_start", "id": "d", "title": "port", "cwd": "/src"}
PI = {"type": "session", "version": 3, "id": "s", "cwd": "/src"}


def row(role: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A message."""
    held = {"role": role, "content": [*blocks], **more}
    return {"type": "message", "id": "m", "parentId": None, "timestamp": "2026-03-02T09:01:00Z", "message": held}


SAID = row("user", {"type": "text", "text": "hi"})
CALL = row(
    "assistant",
    {"type": "thinking", "thinking": "so", "signature": "s"},
    {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "c", "name": "Read", "input": {"path": "a"}},
)
DONE = row("user", {"type": "tool_result", "tool_use_id": "c", "content": "words", "is_error": True})


def test_messages() -> None:
    """Calls and results are pairs; other rows open no message; the row has the time."""
    log = lines(HEAD, SAID, CALL, {"type": "todo_state", "id": "t", "todos": {}}, DONE)
    _, asked, answered = read(FORMAT, log).messages
    assert (asked.calls, asked.tools, answered.results) == (("c",), ("Read",), ("c",))
    assert asked.ts == "2026-03-02T09:01:00Z"
    _, call, result = contents(FORMAT, log)
    thought, words, made = call.parts
    assert isinstance(thought, Thinking) and words == Text("I look.")
    assert isinstance(made, Call) and made.arguments == {"path": "a"}
    [told] = result.parts
    assert isinstance(told, Result) and (told.content, told.is_error) == ("words", True)
    assert put(HEAD) is None and put(row("", content="x") | {"message": {"content": "x"}}) is None


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([HEAD, SAID, CALL, DONE], "droid"),
        ([HEAD], "droid"),
        ([SAID], "droid"),
        ([CALL, DONE], "droid"),
        ([PI, SAID], "pi"),
        ([row("user", timestamp=1)], "pi"),
        ([row("assistant", provider="x")], "pi"),
        ([row("toolResult", toolCallId="c")], "pi"),
        ([{"type": "message", "parentId": None, "message": {}}], ""),
    ],
)
def test_detection(rows: list[dict[str, Any]], expected: str) -> None:
    """pi by its header, or by keys that each of its messages has."""
    if not expected:
        with pytest.raises(UnknownFormat):
            detect(rows)
        return
    assert detect(rows).name == expected
