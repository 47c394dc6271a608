"""Small pi sessions in a line of text.

    user | assistant | user^1 | label:x^2 | compaction>3 | edit:null@2 | bash:ls | drop:ls | custom | branch

Entries are e1, e2, ... in order; each hangs on the one before it, or on the one after `^` (`^-`: on none). `>3`: the
first entry that a compaction keeps; `@2`: the entry that is edited; of a label, the entry that it names.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ctxkit.core.transcript import Transcript
from ctxkit.formats.pi import FORMAT
from tests.formats import reading


def row(i: int, words: str) -> dict[str, Any]:
    """Entry i."""
    found = re.fullmatch(r"(\w+)(?::([^\^>@]*))?(?:\^([^\s>@]+))?(?:>([^\s@]+))?(?:@(\S+))?", words)
    assert found, words
    kind, text, parent, kept, target = found.groups()
    up = parent or (str(i - 1) if i > 1 else "-")
    entry = {"id": f"e{i}", "parentId": None if up == "-" else f"e{up}", "timestamp": f"2026-02-01T10:00:{i:02}Z"}
    match kind:
        case "label":
            return {**entry, "type": "label", "targetId": f"e{target}", **({"label": text} if text else {})}
        case "compaction":
            return {**entry, "type": "compaction", "summary": text or "told", "firstKeptEntryId": f"e{kept or i}"}
        case "branch":
            return {**entry, "type": "branch_summary", "summary": "was"}
        case "custom":
            return {**entry, "type": "custom_message", "content": "note"}
        case "edit":
            return {**entry, "type": "context_edit", "targetId": f"e{target}", "replacement": json.loads(text)}
        case "bash" | "drop":
            message: dict[str, Any] = {"role": "bashExecution", "command": text, "output": "a.py", "exitCode": 0}
            if kind == "drop":
                message["excludeFromContext"] = True
        case "call":
            call = {"type": "toolCall", "id": text, "name": "bash", "arguments": {"command": "ls"}}
            message = {"role": "assistant", "model": "m", "stopReason": "toolUse", "content": [call]}
        case "result":
            message = {"role": "toolResult", "toolCallId": text, "content": [{"type": "text", "text": "a.py"}]}
        case _:
            message = {"role": kind, "content": [{"type": "text", "text": text or f"{kind} {i}"}], "timestamp": i}
    return {**entry, "type": "message", "message": message}


def raw(spec: str) -> bytes:
    """The session as bytes."""
    head = {"type": "session", "version": 3, "id": "s1", "cwd": "/src", "timestamp": "2026-02-01T10:00:00Z"}
    rows = [head, *(row(i, part.strip()) for i, part in enumerate(spec.split("|"), 1))]
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows)


def read(spec: str) -> Transcript:
    """The transcript of such a session."""
    return reading.read(FORMAT, raw(spec))
