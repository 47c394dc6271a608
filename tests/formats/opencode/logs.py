"""Small opencode exports in a line of text.

    user:a | say:b+c1 | fail:b+c1 | compact | summary:3 | failed | aborted:half | revert:3

Message k has the id msg_<k>; `+c1` is a tool part; `summary:3` answers message 3; `revert:3` is told by the session.
"""

from __future__ import annotations

import json
from typing import Any


def message(k: int, words: str) -> dict[str, Any]:
    """Message k."""
    kind, _, text = words.partition(":")
    user = kind in ("user", "compact")
    info: dict[str, Any] = {
        "id": f"msg_{k}",
        "role": "user" if user else "assistant",
        "time": {"created": 1770000000000},
    }
    said, *calls = text.split("+")
    parts: list[dict[str, Any]] = [{"type": "text", "text": said}] if said else []
    match kind:
        case "compact":
            parts = [{"type": "compaction", "auto": True}]
        case "summary":
            info |= {"summary": True, "finish": "stop", "parentID": f"msg_{text}"}
        case "failed":
            info["error"] = {"name": "APIError", "data": {}}
        case "aborted":
            info["error"] = {"name": "MessageAbortedError", "data": {}}
    for key in calls:
        state: dict[str, Any] = {"status": "completed", "input": {"path": "a"}, "output": f"of {key}"}
        if kind == "fail":
            state = {"status": "error", "input": {"path": "a"}, "error": f"no {key}"}
        parts.append({"type": "tool", "tool": "read", "callID": key, "state": state})
    return {"info": info, "parts": parts if user else [{"type": "step-start"}, *parts]}


def export(spec: str) -> dict[str, Any]:
    """What `opencode export` would print."""
    info: dict[str, Any] = {"id": "ses_1", "projectID": "p", "directory": "/src", "time": {"created": 1}}
    messages = []
    for k, part in enumerate(spec.split("|"), 1):
        if part.strip().startswith("revert:"):
            info["revert"] = {"messageID": f"msg_{part.strip().removeprefix('revert:')}"}
        else:
            messages.append(message(k, part.strip()))
    return {"info": info, "messages": messages}


def raw(spec: str) -> bytes:
    """The export laid out as lines."""
    found = export(spec)
    rows = [{"info": found["info"], "document": True}, *found["messages"]]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
