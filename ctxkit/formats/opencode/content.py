"""An opencode message in full: from its parts to ours. A tool part is a call, and its result behind the message.

Pipeline: the format's `content` -> `cli show`, `formats` writers. Parts that say nothing (steps, snapshots, patches)
are left to the file.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Message, Other, Part, Result, Text, Thinking

ASKED = "What did we do so far?"
"""What stands for a compaction that was asked for."""
CLEARED = "[Old tool result content cleared]"
"""What stands for a result that opencode took out."""
SUBTASK = "The following tool was executed by the user"
"""What stands for a task that the user gave to another agent."""
SILENT = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry"}
UNSENT = {"text/plain", "application/x-directory"}
"""Kinds of files whose words stand in parts of their own."""
_DATA = re.compile(r"data:([^;,]*);base64,", re.ASCII)


def content_of(message: Message, rows: list[dict[str, Any]]) -> Content:
    """The message's content: words, thinking, files and calls in their order, then the results."""
    listed = rows[0].get("parts") if rows else None
    parts: list[Part] = []
    results: list[Part] = []
    calls = iter(message.calls)
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict):
            continue
        if one.get("type") == "tool":
            key = next(calls, "")
            state = one.get("state")
            state = state if isinstance(state, dict) else {}
            name = one.get("tool")
            parts.append(Call(key, name if isinstance(name, str) else "", state.get("input"), one))
            if key in message.results:
                results.append(_result(key, state))
        elif str(one.get("type")) not in SILENT and not _is_aside(one, message.role):
            parts.append(_part(one))
    return Content(message.role, parts + results, rows=rows)


def _is_aside(part: dict[str, Any], role: str) -> bool:
    """Whether a part of the user's goes to no model: for the screen only, without words, or told beside it."""
    if role != "user":
        return False
    return part.get("ignored") is True or part.get("text") == "" or part.get("mime") in UNSENT


def _part(part: dict[str, Any]) -> Part:
    """A part; one that lacks what its type needs is carried unread."""
    match part:
        case {"type": "text", "text": str() as words}:
            return Text(words)
        case {"type": "reasoning", "text": str() as words}:
            return Thinking(words, _signed(part))
        case {"type": "compaction"}:
            return Text(ASKED)
        case {"type": "subtask"}:
            return Text(SUBTASK)
        case {"type": "file", "mime": str() as kind, "url": str() as url} if kind.startswith("image/"):
            start = _DATA.match(url)
            return Image(kind, url[start.end() :], raw=part) if start else Image(kind, url=url, raw=part)
    return Other(str(part.get("type", "")), part)


def _signed(part: dict[str, Any]) -> dict[str, Any]:
    """Thinking with the signature of Anthropic's where the API has it."""
    match part:
        case {"metadata": {"anthropic": {"signature": str() as signature}}}:
            return {"type": "thinking", "thinking": part["text"], "signature": signature}
        case {"metadata": {"anthropic": {"redactedData": str() as data}}}:
            return {"type": "redacted_thinking", "data": data}
    return part


def _result(key: str, state: dict[str, Any]) -> Result:
    """The output with its pictures, the error, or what was there when a call was interrupted."""
    failed = state.get("status") == "error"
    told = state.get("error" if failed else "output")
    pictures: list[Part] = []
    match state:
        case {"status": "error", "metadata": {"interrupted": True, "output": str() as half}}:
            told, failed = half, False
        case {"time": {"compacted": when}} if when:
            told = CLEARED
        case {"status": "completed", "attachments": [*files]}:
            found = [_part(one) for one in files if isinstance(one, dict)]
            pictures = [one for one in found if isinstance(one, Image)]
    words = told if isinstance(told, str) else "" if told is None else json.dumps(told, ensure_ascii=False)
    return Result(key, [Text(words), *pictures] if pictures else words, failed, state)
