"""opencode parts as ours."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Image, Message, Other, Part, Result, Text, Thinking
from ctxkit.formats.opencode.content import ASKED, CLEARED, SUBTASK, content_of


def parts(*listed: dict[str, Any], calls: tuple[str, ...] = ()) -> list[Part]:
    """The parts of a message whose calls have these ids."""
    return content_of(Message(1, 0, 0, "user", calls=calls, results=calls), [{"parts": list(listed)}]).parts


PICTURE = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA"}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "a"}, [Text("a")]),
        ({"type": "text", "text": "a", "ignored": True}, []),
        ({"type": "reasoning", "text": "hm"}, [Thinking("hm", {"type": "reasoning", "text": "hm"})]),
        ({"type": "compaction"}, [Text(ASKED)]),
        ({"type": "step-start"}, []),
        (PICTURE, [Image("image/png", "AA", raw=PICTURE)]),
        ({"type": "subtask"}, [Text(SUBTASK)]),
        ({"type": "text", "text": ""}, []),
        ({"type": "file", "mime": "text/plain", "url": "file:///a"}, []),
        ({"type": "file", "mime": "application/pdf"}, [Other("file", {"type": "file", "mime": "application/pdf"})]),
    ],
)
def test_parts(part: dict[str, Any], expected: list[Part]) -> None:
    """What says something; the rest is carried, or left to the file."""
    assert parts(part) == expected


@pytest.mark.parametrize(
    ("state", "content", "failed"),
    [
        ({"status": "completed", "output": "ok"}, "ok", False),
        ({"status": "error", "error": "no"}, "no", True),
        ({"status": "completed", "output": "ok", "time": {"compacted": 1}}, CLEARED, False),
        ({"status": "error", "error": "no", "metadata": {"interrupted": True, "output": "half"}}, "half", False),
        ({"status": "completed", "output": {"n": 1}}, '{"n": 1}', False),
    ],
)
def test_results(state: dict[str, Any], content: str, failed: bool) -> None:
    """The output, the error, or what stands for an output that was cleared."""
    found = parts({"type": "tool", "tool": "read", "state": state}, calls=("c",))[-1]
    assert isinstance(found, Result)
    assert (found.id, found.content, found.is_error) == ("c", content, failed)
