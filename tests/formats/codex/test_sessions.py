"""Contents of any format become a Codex session: what resuming it needs, and what it cannot hold."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Part, Repairs, Result, Text, Thinking
from ctxkit.formats.base import MessageToWrite, NewSession, Written
from ctxkit.formats.codex.sessions import write


def made(*contents: Content) -> Written:
    """A session of these contents."""
    numbers = count(1)
    session = NewSession("S", "2026-11-21T10:20:30Z", "/src", "m", lambda: f"{next(numbers):08}")
    written = write([MessageToWrite(0, content, "2026-01-01T00:00:00Z") for content in contents], session)
    written.pieces = list(written.pieces)
    return written


def one(role: str, *parts: Part | str) -> Content:
    return Content(role, [Text(part) if isinstance(part, str) else part for part in parts])


def rows(written: Written) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(written.pieces).splitlines()]


def test_what_resuming_needs() -> None:
    """First what the session says of itself: an id, a provider that is not null; the file is named after both."""
    written = made(one("user", "q"), one("assistant", "a"))
    head, *rest = rows(written)
    assert head["type"] == "session_meta" and head["payload"]["id"] == "S" and head["payload"]["model_provider"]
    assert written.name == "rollout-2026-11-21T10-20-30-S.jsonl"
    assert [row["type"] for row in rest] == ["response_item", "event_msg"] * 2
    assert [row["payload"].get("message") for row in rest if row["type"] == "event_msg"] == ["q", "a"]
    assert {row["timestamp"] for row in rest} == {"2026-01-01T00:00:00Z"}


def test_items() -> None:
    """Calls and results, pictures; a system message is the developer's, as Codex sends no other."""
    written = made(
        one("system", "s"),
        one("user", "see", Image("image/png", "iVBORw0KGgo=")),
        one("assistant", Call("A", "mcp.x/y", {"x": 1})),
        one("tool", Result("A", "r")),
    )
    items = [row["payload"] for row in rows(written) if row["type"] == "response_item"]
    assert [(item["type"], item.get("role")) for item in items] == [
        ("message", "developer"), ("message", "user"), ("function_call", None), ("function_call_output", None),
    ]  # fmt: skip
    assert items[1]["content"][1] == {
        "type": "input_image",
        "image_url": "data:image/png;base64,iVBORw0KGgo=",
        "detail": "auto",
    }
    assert (items[2]["name"], items[2]["call_id"], items[3]["call_id"]) == ("mcp.x/y", "A", "A")
    assert written.repairs.left_out == {"role of a system message (it is the developer's)": 1}


def test_what_it_cannot_hold_is_counted() -> None:
    """Thinking of another provider, the mark of a failed result."""
    thought = Thinking("why", {"type": "thinking", "thinking": "why", "signature": "S"})
    written = made(one("assistant", thought, Call("A", "f", {})), one("tool", Result("A", "r", True)))
    assert written.repairs == Repairs(left_out={"thinking": 1, "error flag of a result": 1})


def test_reasoning_goes_with_what_follows_it() -> None:
    """Without it no request would be taken."""
    thought = Thinking("", {"type": "reasoning", "summary": [], "encrypted_content": "E"})
    kinds = [
        row["payload"].get("type") for row in rows(made(one("assistant", thought, "a"), one("assistant", thought)))
    ]
    assert kinds.count("reasoning") == 1
