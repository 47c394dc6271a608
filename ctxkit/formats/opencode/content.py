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
SILENT = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry"}
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
        elif str(one.get("type")) not in SILENT and one.get("ignored") is not True:
            parts.append(_part(one))
    return Content(message.role, parts + results, rows=rows)


def _part(part: dict[str, Any]) -> Part:
    """A part; one that lacks what its type needs is carried unread."""
    match part:
        case {"type": "text", "text": str() as words}:
            return Text(words)
        case {"type": "reasoning", "text": str() as words}:
            return Thinking(words, part)
        case {"type": "compaction"}:
            return Text(ASKED)
        case {"type": "file", "mime": str() as kind, "url": str() as url} if kind.startswith("image/"):
            start = _DATA.match(url)
            return Image(kind, url[start.end() :], raw=part) if start else Image(kind, url=url, raw=part)
    return Other(str(part.get("type", "")), part)


def _result(key: str, state: dict[str, Any]) -> Result:
    failed = state.get("status") == "error"
    told = state.get("error" if failed else "output")
    time = state.get("time")
    if isinstance(time, dict) and time.get("compacted"):
        told = CLEARED
    words = told if isinstance(told, str) else "" if told is None else json.dumps(told, ensure_ascii=False)
    return Result(key, words, failed, state)
