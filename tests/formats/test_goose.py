"""Rows of Goose's sessions."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.transcript import View
from ctxkit.formats.goose import FORMAT, put
from tests.cli.runner import lines
from tests.formats.reading import contents, read


def request(**call: Any) -> dict[str, Any]:
    """A call."""
    return {"type": "toolRequest", "id": "c", "toolCall": call}


def response(**result: Any) -> dict[str, Any]:
    """Its answer."""
    return {"type": "toolResponse", "id": "c", "toolResult": result}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "x"}, Text("x")),
        (request(status="success", value={"name": "f", "arguments": {"a": 1}}), Call("c", "f", {"a": 1})),
        (request(status="error", error="no such tool"), Call("c", "", {"error": "no such tool"})),
        (request(), Call("c", "", None)),
        (response(status="success", value=[{"type": "text", "text": "x"}]), Result("c", [Text("x")])),
        (response(status="success", value={"content": [{"type": "text", "text": "x"}]}), Result("c", [Text("x")])),
        (response(status="success", value={"content": [], "isError": True}), Result("c", "", True)),
        (response(status="error", error="denied"), Result("c", "denied", True)),
        ({"type": "image", "data": "aGk=", "mimeType": "image/png"}, Image("image/png", "aGk=")),
        ({"type": "resource", "resource": {"uri": "u", "text": "x"}}, Text("x")),
        ({"type": "redactedThinking", "data": "d"}, Thinking("", {})),
        ({"type": "contextLengthExceeded", "msg": "m"}, Other("contextLengthExceeded", {})),
        ("words", Text("words")),
    ],
)
def test_parts(part: Any, expected: Part) -> None:
    """Each kind, with what it says."""
    (found,) = contents(FORMAT, lines({"role": "user", "created": 1, "content": [part]}))[0].parts
    assert type(found) is type(expected)
    said = [(one.id, one.name, one.arguments) for one in (found, expected) if isinstance(one, Call)]
    said += [(one.id, one.content, one.is_error) for one in (found, expected) if isinstance(one, Result)]
    said += [one.text for one in (found, expected) if isinstance(one, Text | Thinking)]
    said += [(one.media_type, one.data) for one in (found, expected) if isinstance(one, Image)]
    assert len(said) in (0, 2) and said[:1] == said[1:]


def test_put() -> None:
    """The row about the session is no message; when one was made is its time."""
    assert put({"working_dir": "/", "description": "x"}) is None
    assert put({"role": "user", "created": 7, "content": "x"}) == {"role": "user", "content": "x", "ts": 7}


def test_rows_for_the_user_alone() -> None:
    """What the agent does not see has its number, and is no context: what Goose compacted, its notices."""
    seen = [{"metadata": {"userVisible": True, "agentVisible": one}} for one in (False, True, None)]
    rows = [{"role": "user", "created": n, "content": [{"type": "text", "text": "x"}]} for n in range(4)]
    found = read(FORMAT, lines(*(row | more for row, more in zip(rows, [*seen, {}], strict=True))))
    assert len(found.messages) == 4 and found.view == View([2, 3, 4], {1: "excluded"})
