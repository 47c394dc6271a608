"""Contents of any format become a pi session: a header and a chain, and what it cannot hold."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.formats.base import MessageToWrite, NewSession, Written
from ctxkit.formats.pi.sessions import write


def made(*contents: Content) -> Written:
    """A session of these contents."""
    numbers = count(1)
    session = NewSession("S", "2026-11-21T10:20:30Z", "/src", "claude-x", lambda: f"{next(numbers) // 2:08}-rest")
    written = write([MessageToWrite(0, content, "2026-01-01T00:00:00Z") for content in contents], session)
    written.pieces = list(written.pieces)
    return written


def one(role: str, *parts: Part | str) -> Content:
    return Content(role, [Text(part) if isinstance(part, str) else part for part in parts])


def rows(written: Written) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(written.pieces).splitlines()]


def test_a_chain_below_a_header() -> None:
    """Each entry hangs on the one before; no id stands twice, though the source of ids repeats itself."""
    written = made(one("user", "q"), one("assistant", Call("A", "f", {"x": 1})), one("tool", Result("A", "r", True)))
    head, *entries = rows(written)
    assert head == {"type": "session", "version": 3, "id": "S", "timestamp": "2026-11-21T10:20:30Z", "cwd": "/src"}
    assert [row["parentId"] for row in entries] == [None, entries[0]["id"], entries[1]["id"]]
    assert len({row["id"] for row in entries}) == 3 and all(len(row["id"]) == 8 for row in entries)
    assert {row["message"]["timestamp"] for row in entries} == {1767225600000}
    answer, result = entries[1]["message"], entries[2]["message"]
    assert (answer["model"], answer["provider"], answer["stopReason"]) == ("claude-x", "anthropic", "toolUse")
    assert answer["content"] == [{"type": "toolCall", "id": "A", "name": "f", "arguments": {"x": 1}}]
    assert (result["toolCallId"], result["toolName"], result["isError"]) == ("A", "f", True)


def test_thinking_keeps_its_words() -> None:
    """And its signature, where it has one; encrypted reasoning has no words and is counted."""
    signed = Thinking("why", {"type": "thinking", "thinking": "why", "signature": "S"})
    written = made(one("assistant", signed, Thinking("so", {}), Thinking("", {"type": "reasoning"}), "a"))
    assert rows(written)[1]["message"]["content"][:2] == [
        {"type": "thinking", "thinking": "why", "thinkingSignature": "S"},
        {"type": "thinking", "thinking": "so"},
    ]
    assert written.repairs == Repairs(left_out={"thinking": 1})


def test_what_it_cannot_hold_is_counted() -> None:
    """Links to pictures, parts of other kinds, the role of a system message."""
    written = made(
        one("system", "s"),
        one("user", "q", Image("image/png", "iVBORw0KGgo="), Image(url="https://x/y"), Other("x", {})),
    )
    assert [block["type"] for block in rows(written)[2]["message"]["content"]] == ["text", "image"]
    assert written.repairs.left_out == {"role of a system message (it is the user's)": 1, "image": 1, "x": 1}
