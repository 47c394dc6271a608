"""Gemini CLI records as parts."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Image, Message, Other, Part, Result, Text, Thinking
from ctxkit.formats.gemini_cli.content import content_of


def parts(record: dict[str, Any], calls: tuple[str, ...] = ()) -> list[Part]:
    """The parts of a response with these ids of calls."""
    return content_of(Message(1, 0, 0, "assistant", calls=calls), [record]).parts


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("words", [Text("words")]),
        (["a", {"text": "b"}], [Text("a"), Text("b")]),
        ({"text": "one"}, [Text("one")]),
        ([{"text": "hm", "thought": True}], [Thinking("hm", {"text": "hm", "thought": True})]),
        (None, []),
        (
            [{"inlineData": {"mimeType": "image/png", "data": "AA"}}],
            [Image("image/png", "AA", raw={"inlineData": {"mimeType": "image/png", "data": "AA"}})],
        ),
        ([{"fileData": {"fileUri": "x"}}], [Other("fileData", {"fileData": {"fileUri": "x"}})]),
    ],
)
def test_content(content: Any, expected: list[Part]) -> None:
    """Text, one part, or a list of either; what is not known is carried."""
    assert parts({"content": content}) == expected


@pytest.mark.parametrize(
    ("result", "content", "failed"),
    [
        ([{"functionResponse": {"id": "c", "response": {"output": "done"}}}], "done", False),
        ([{"functionResponse": {"id": "c", "response": {"error": "no"}}}], "no", True),
        ([{"functionResponse": {"response": {"n": 1}}}], '{"n": 1}', False),
        ("plain", "plain", False),
        ([], [], False),
    ],
)
def test_results(result: Any, content: Any, failed: bool) -> None:
    """The words of the response, else its JSON; an error is one."""
    found = parts({"toolCalls": [{"id": "c", "name": "ls", "result": result}]}, ("c",))[-1]
    assert isinstance(found, Result)
    assert (found.id, found.content, found.is_error) == ("c", content, failed)


def test_thoughts_come_first() -> None:
    """With their subject; the program does not send them."""
    found = parts({"content": "a", "thoughts": [{"subject": "Plan", "description": "look"}]})
    assert [part.text for part in found if isinstance(part, Text | Thinking)] == ["Plan\nlook", "a"]
