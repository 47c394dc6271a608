"""The Amp format: threads, one JSON object each, under `~/.local/share/amp/threads/`.

Pipeline: `formats/containers.py` lays the messages out as lines; `formats/registry.py` lists `FORMAT`. They are
Anthropic's, but for results, which have `toolUseID` and `run`. The reading follows public reports.
"""

from __future__ import annotations

import json
from typing import Any

from ctxkit.formats.chat_dialects import Dialect, parts, text
from ctxkit.formats.foreign_keys import Json

_FAILED = ("error", "cancelled", "rejected-by-user")


def put(row: Json) -> Json | None:
    """A message as a chat message. What Amp itself says (`info`) is no message of a chat, but for a summary."""
    role, content = row.get("role"), row.get("content")
    if not isinstance(role, str):
        return None
    usage, meta = row.get("usage"), row.get("meta")
    said = [_part(one) for one in content] if isinstance(content, list) else content
    found = row | {"role": "user" if role == "info" else role, "content": said}
    if isinstance(usage, dict) and isinstance(usage.get("model"), str):
        found["model"] = usage["model"]
    if isinstance(meta, dict) and "sentAt" in meta:
        found["ts"] = meta["sentAt"]
    return found


def _part(part: Any) -> Any:
    """A part in the words of Anthropic's API."""
    if not isinstance(part, dict):
        return part
    if part.get("type") == "tool_result" and "toolUseID" in part:
        run = part.get("run")
        status, told = (run.get("status"), _told(run)) if isinstance(run, dict) else ("", run)
        failed = {"is_error": True} if isinstance(status, str) and status in _FAILED else {}
        return {"type": "tool_result", "tool_use_id": part["toolUseID"], "content": _words(told)} | failed
    if part.get("type") == "summary":
        summary = part.get("summary")
        words = text(summary.get("summary")) if isinstance(summary, dict) else text(summary)
        return {"type": "text", "text": words} if words else part
    return part


def _told(run: Json) -> Any:
    """What a run came to: its result, its error, what it said on the way."""
    found = (run[key] for key in ("result", "error", "progress", "reason") if run.get(key) not in (None, "", [], {}))
    return next(found, text(run.get("status")))


def _words(told: Any) -> Any:
    """Words as they are, parts as parts, anything else as JSON."""
    if isinstance(told, str):
        return told
    if isinstance(told, list) and told and len(typed := [one for one in parts(told) if "type" in one]) == len(told):
        return [_part(one) for one in typed]
    if isinstance(told, dict):
        for key in ("content", "output"):
            if isinstance(told.get(key), str) and len(told) <= _FEW:
                return told[key]
    return json.dumps(told, ensure_ascii=False)


_FEW = 2
"""Keys of a result whose words alone were sent: a file's path stands beside its content."""

FORMAT = Dialect("amp", put)
