"""Small Copilot CLI sessions in a line of text.

    system:be brief | user:q1 | say:a1+c1 | out:c1 | note:done | compact:told | rewind:3 | model:m | side:a1+c2

Event k has the id e<k>; `+c1` is a call; `fail:c1` a result that says it failed; `side` speaks in a subagent.
"""

from __future__ import annotations

import json
from typing import Any

from ctxkit.core.messages import Text
from ctxkit.core.transcript import Transcript
from ctxkit.formats.copilot_cli import FORMAT
from tests.formats import reading


def row(k: int, words: str) -> dict[str, Any]:
    """Event k."""
    kind, _, text = words.partition(":")
    entry: dict[str, Any] = {"id": f"e{k}", "parentId": f"e{k - 1}", "timestamp": f"2026-02-01T10:00:{k:02}Z"}
    match kind:
        case "say" | "side":
            said, *calls = text.split("+")
            asked = [{"toolCallId": key, "name": "bash", "arguments": {"command": "ls"}} for key in calls]
            body: dict[str, Any] = {"messageId": f"m{k}", "content": said, "toolRequests": asked}
            side = {"agentId": "sub"} if kind == "side" else {}
            return {**entry, **side, "type": "assistant.message", "data": body}
        case "out":
            body = {"toolCallId": text, "success": True, "result": {"content": f"of {text}"}}
            return {**entry, "type": "tool.execution_complete", "data": body}
        case "fail":
            body = {"toolCallId": text, "success": False, "error": {"message": f"no {text}", "code": "failure"}}
            return {**entry, "type": "tool.execution_complete", "data": body}
        case "compact":
            return {**entry, "type": "session.compaction_complete", "data": {"success": True, "summaryContent": text}}
        case "rewind":
            return {**entry, "type": "session.snapshot_rewind", "data": {"upToEventId": f"e{text}"}}
        case "model":
            return {**entry, "type": "session.model_change", "data": {"newModel": text}}
        case "user":
            body = {"content": text, "transformedContent": f"now: {text}", "attachments": []}
            return {**entry, "type": "user.message", "data": body}
        case "system":
            return {**entry, "type": "system.message", "data": {"role": "system", "content": text}}
        case "note":
            return {**entry, "type": "system.notification", "data": {"content": text}}
    return {**entry, "type": kind, "data": {"content": text}}


def raw(spec: str) -> bytes:
    """The session as bytes."""
    head = {"type": "session.start", "data": {"sessionId": "s1", "version": 1}, "id": "e0", "parentId": None}
    rows = [head, *(row(k, part.strip()) for k, part in enumerate(spec.split("|"), 1))]
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


def read(spec: str) -> Transcript:
    """The transcript of such a session."""
    return reading.read(FORMAT, raw(spec))


def words(spec: str) -> list[str]:
    """What each message says, or what it is."""
    found = []
    for content in reading.contents(FORMAT, raw(spec)):
        texts = [p.text if isinstance(p, Text) else str(p.__struct_config__.tag) for p in content.parts]
        found.append(f"{content.role[0]}:{'+'.join(texts)}")
    return found
