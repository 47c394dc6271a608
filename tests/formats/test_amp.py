"""Messages of Amp's threads."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Result, Text
from ctxkit.formats.amp import FORMAT, put
from tests.cli.runner import lines
from tests.formats.reading import contents


@pytest.mark.parametrize(
    ("run", "words", "failed"),
    [
        ({"status": "done", "result": "x"}, "x", False),
        ({"status": "done", "result": {"absolutePath": "/a", "content": "x"}}, "x", False),
        ({"status": "done", "result": {"output": "x", "exitCode": 0}}, "x", False),
        ({"status": "done", "result": {"content": "x", "a": 1, "b": 2}}, '{"content": "x", "a": 1, "b": 2}', False),
        ({"status": "done", "result": ["a", "b"]}, '["a", "b"]', False),
        ({"status": "error", "error": {"message": "no"}}, '{"message": "no"}', True),
        ({"status": "error", "error": "no"}, "no", True),
        ({"status": "in-progress", "progress": "half"}, "half", False),
        ({"status": "cancelled"}, "cancelled", True),
        ({}, "", False),
        (None, "null", False),
    ],
)
def test_results(run: Any, words: str, failed: bool) -> None:
    """What a run came to, in words; a failed one is an error."""
    part = {"type": "tool_result", "toolUseID": "t", "run": run}
    (found,) = contents(FORMAT, lines({"role": "user", "content": [part]}))[0].parts
    assert isinstance(found, Result)
    assert (found.id, found.content, found.is_error) == ("t", words, failed)


def test_parts_of_a_result() -> None:
    """A list of parts stays one."""
    run = {"status": "done", "result": [{"type": "text", "text": "x"}]}
    part = {"type": "tool_result", "toolUseID": "t", "run": run}
    (found,) = contents(FORMAT, lines({"role": "user", "content": [part]}))[0].parts
    assert isinstance(found, Result) and found.content == [Text("x")]


def test_put() -> None:
    """Time and model stand elsewhere; a summary is the user's."""
    row = {"role": "assistant", "content": [], "usage": {"model": "m"}, "meta": {"sentAt": 7}}
    found = put(row)
    assert found is not None and (found["model"], found["ts"]) == ("m", 7)
    summary = {"type": "summary", "summary": {"type": "message", "summary": "so far"}}
    told = put({"role": "info", "content": [summary]})
    assert told is not None and (told["role"], told["content"]) == ("user", [{"type": "text", "text": "so far"}])
    assert put({"content": "x"}) is None
