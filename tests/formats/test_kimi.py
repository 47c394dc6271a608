"""Rows of Kimi CLI's sessions."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.derive.usage import RequestUsage
from ctxkit.core.messages import Call, Other, Part, Result, Text, Thinking
from ctxkit.formats.kimi import FORMAT, put
from tests.cli.runner import lines
from tests.formats.reading import contents

PROMPT = {"role": "_system_prompt", "content": "You are Kimi."}
SAID = {"role": "user", "content": "hi"}
ANSWER: dict[str, Any] = {"role": "assistant", "content": "hello"}


def size(tokens: Any) -> dict[str, Any]:
    """A row that says how large the context is."""
    return {"role": "_usage", "token_count": tokens}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "x"}, Text("x")),
        ({"type": "think", "think": "hm", "encrypted": None}, Thinking("hm", {})),
        ({"type": "think", "think": "hm", "encrypted": "sig"}, Thinking("hm", {"signature": "sig"})),
        ({"type": "video_url", "video_url": {"url": "u"}}, Other("video_url", {})),
        ("words", Text("words")),
    ],
)
def test_parts(part: Any, expected: Part) -> None:
    """As a part of a chat message; what is unknown is kept."""
    (found,) = contents(FORMAT, lines(PROMPT, {"role": "user", "content": [part]}))[1].parts
    assert type(found) is type(expected)
    match found, expected:
        case Thinking(text, raw), Thinking(said, signed):
            assert (text, raw.get("signature")) == (said, signed.get("signature"))
        case Text(text), Text(said):
            assert text == said


def test_rows() -> None:
    """A prompt is one; a checkpoint, a usage and a role that its loader passes over open no message."""
    assert put(PROMPT) == {"role": "system", "content": "You are Kimi."}
    assert [put(row) for row in ({"role": "_checkpoint", "id": 0}, size(3), {"role": "_new"}, {"role": 3}, {})] == [
        None
    ] * 5
    called = ANSWER | {"tool_calls": [{"type": "function", "id": "t", "function": {"name": "f", "arguments": "{}"}}]}
    raw = lines(
        PROMPT, {"role": "_checkpoint", "id": 0}, SAID, called, size(9), SAID | {"role": "tool", "tool_call_id": "t"}
    )
    found = contents(FORMAT, raw)
    assert [content.role for content in found] == ["system", "user", "assistant", "tool"]
    assert isinstance(found[2].parts[1], Call) and isinstance(found[3].parts[0], Result)


@pytest.mark.parametrize(
    ("rows", "n", "tokens"),
    [
        ([PROMPT, SAID, ANSWER, size(500)], 3, 500),
        ([PROMPT, SAID, size(400), ANSWER, size(500)], 3, 500),
        ([PROMPT, SAID, ANSWER, size(400), size(500)], 3, 500),
        ([PROMPT, SAID, ANSWER, size(500), SAID, size(600)], 4, 600),
    ],
)
def test_the_last_usage_is_the_size(rows: list[dict[str, Any]], n: int, tokens: int) -> None:
    """Of the context with the message above it, a reply or not."""
    log = Log.open(BytesIO(lines(*rows)))
    assert log.usage(n) == RequestUsage(tokens, 0, whole=True)
    assert log.status().tokens.used == tokens


@pytest.mark.parametrize("odd", ["x", None, -3, 10**30, True])
def test_a_usage_that_says_nothing(odd: Any) -> None:
    """Counts as none."""
    log = Log.open(BytesIO(lines(PROMPT, SAID, ANSWER, size(odd))))
    assert len(log.messages) == 3 and log.usage(3) is None
