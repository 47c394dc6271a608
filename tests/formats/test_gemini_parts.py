"""Parts of Gemini's API, and which records are its contents."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Image, Other, Part, Result, Text, Thinking
from ctxkit.formats.gemini_parts import is_content, parts_of, response

PIXELS = {"inlineData": {"mimeType": "image/png", "data": "AA"}}
SNAKE = {"inline_data": {"mime_type": "image/png", "data": "AA"}}
LINK = {"fileData": {"mimeType": "image/png", "fileUri": "https://x/y"}}
CALL = {"functionCall": {"name": "f", "args": {"a": 1}}}
OLD = {"function_call": {"name": "f", "id": "c"}}
ANSWER = {"functionResponse": {"id": "c", "name": "f", "response": {"output": "r"}, "parts": [PIXELS]}}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("words", Text("words")),
        ({"text": "a"}, Text("a")),
        ({"text": "a", "thought": True}, Thinking("a", {"text": "a", "thought": True})),
        (PIXELS, Image("image/png", "AA", raw=PIXELS)),
        (SNAKE, Image("image/png", "AA", raw=SNAKE)),
        (
            {"inlineData": {"mimeType": "application/pdf", "data": "AA"}},
            Other("file", {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA"}}),
        ),
        (LINK, Image("image/png", url="https://x/y", raw=LINK)),
        (CALL, Call("", "f", {"a": 1}, CALL)),
        (OLD, Call("c", "f", None, OLD)),
        (ANSWER, Result("c", [Text("r"), Image("image/png", "AA", raw=PIXELS)], raw=ANSWER)),
        ({"executableCode": {}}, Other("executableCode", {"executableCode": {}})),
    ],
)
def test_parts_of_bodies(part: Any, expected: Part) -> None:
    """Of either spelling; ids may be missing."""
    assert parts_of([part], body=True) == [expected]


def test_sessions_are_strict() -> None:
    """A call without an id is carried there."""
    assert parts_of(CALL) == [Other("functionCall", CALL)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"output": "a"}, ("a", False)),
        ({"error": "a"}, ("a", True)),
        (None, ("", False)),
        ({"x": 1}, ('{"x": 1}', False)),
    ],
)
def test_response(value: Any, expected: tuple[str, bool]) -> None:
    """Its output, its error, or the JSON that it is."""
    assert response(value) == expected


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"role": "user", "parts": [{"text": "a"}]}, True),
        ({"parts": [CALL]}, True),
        ({"role": "user", "parts": [{"type": "text", "text": "a"}]}, False),  # of a user interface
        ({"role": "user", "content": "a", "parts": [{"text": "a"}]}, False),
        ({"role": 3, "parts": [{"text": "a"}]}, False),
        ({"role": "user", "parts": []}, False),
        ({"role": "user", "parts": "a"}, False),
    ],
)
def test_contents(record: dict[str, Any], expected: bool) -> None:
    """By parts that are named by their key."""
    assert is_content(record) is expected
