"""Small Codex sessions in a line of text.

    user:q1 | think | say:a1 | call:c1 | out:c1 | compact user:q1,user:short | rollback:1 | legacy:told
    start | abort | meta

A word is a row; after the colon its words or its call id.
"""

from __future__ import annotations

import json
from typing import Any

from ctxkit.core.messages import Text
from ctxkit.core.transcript import Transcript
from ctxkit.formats.codex import FORMAT
from tests.formats import reading


def item(word: str) -> dict[str, Any]:
    """One response item."""
    kind, _, text = word.partition(":")
    match kind:
        case "user" | "developer" | "assistant":
            part = "output_text" if kind == "assistant" else "input_text"
            return {"type": "message", "role": kind, "content": [{"type": part, "text": text}]}
        case "say":
            return item(f"assistant:{text}")
        case "think":
            return {"type": "reasoning", "summary": [], "encrypted_content": text or "x"}
        case "call":
            return {"type": "function_call", "name": "run", "arguments": '{"cmd":"ls"}', "call_id": text}
        case "patch":
            return {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": text}
        case "out":
            return {"type": "function_call_output", "call_id": text, "output": f"of {text}"}
        case "memory":
            return {"type": "compaction", "encrypted_content": text}
    return {"type": kind}


def row(words: str) -> dict[str, Any]:
    """One line."""
    kind, _, text = words.partition(":")
    if kind.startswith("compact "):
        listed = [item(word) for word in words.removeprefix("compact ").split(",")]
        return {"type": "compacted", "payload": {"message": "", "replacement_history": listed}}
    match kind:
        case "legacy":
            return {"type": "compacted", "payload": {"message": text}}
        case "rollback":
            return {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": int(text)}}
        case "start":
            return {"type": "event_msg", "payload": {"type": "task_started"}}
        case "abort":
            return {"type": "event_msg", "payload": {"type": "turn_aborted"}}
        case "model":
            return {"type": "turn_context", "payload": {"model": text}}
        case "meta":
            return {"type": "session_meta", "payload": {"id": "s1"}}
    return {"type": "response_item", "payload": item(words)}


def raw(spec: str) -> bytes:
    """The session as bytes, a second between rows."""
    rows = [row(part.strip()) for part in spec.split("|")]
    stamped = [{"timestamp": f"2026-02-01T10:00:{i:02}Z", **one} for i, one in enumerate(rows)]
    return b"".join(json.dumps(one).encode() + b"\n" for one in stamped)


def read(spec: str) -> Transcript:
    """The transcript of such a session."""
    return reading.read(FORMAT, raw(spec))


def words(spec: str) -> list[str]:
    """What each message says, or what it is."""
    found = []
    for content in reading.contents(FORMAT, raw(spec)):
        texts = [p.text if isinstance(p, Text) else p.__struct_config__.tag for p in content.parts]
        found.append(f"{content.role[0]}:{'+'.join(map(str, texts))}")
    return found
