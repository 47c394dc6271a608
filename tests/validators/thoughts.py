"""Whether thinking went out as it came in. Looks at raw rows and bodies only; shares no code with readers and writers.

A thought is an unbroken run of signed thinking blocks in one response of the model; a provider refuses a part of one,
two that were joined, and any that was changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ctxkit.core.text.json_text import dumps

Thought = tuple[str, ...]
DUMMY = "skip_thought_signature_validator"


def _runs(blocks: Iterable[Any]) -> list[Thought]:
    """The thoughts in the blocks of one response; blocks without a signature are none of them."""
    found: list[list[str]] = [[]]
    for block in blocks:
        block = block if isinstance(block, dict) else {}
        kind = block.get("type")
        signature = block.get("signature", block.get("thinkingSignature")) if kind == "thinking" else None  # pi's
        if block.get("redacted") and signature:
            found[-1].append(dumps({"type": "redacted_thinking", "data": signature}))
        elif isinstance(signature, str) and signature:
            found[-1].append(dumps({"type": kind, "thinking": block["thinking"], "signature": signature}))
        elif kind == "redacted_thinking" and block.get("data"):
            found[-1].append(dumps({"type": kind, "data": block["data"]}))
        elif kind not in ("thinking", "redacted_thinking"):
            found.append([])
    return [tuple(run) for run in found if run]


def thoughts(body: dict[str, Any]) -> list[Thought]:
    """The thoughts of an Anthropic body, in order."""
    contents = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
    return [run for content in contents if isinstance(content, list) for run in _runs(content)]


def thoughts_of_log(raw: bytes) -> set[Thought]:
    """The thoughts of a log: of each record, or of all records of one response."""
    responses: dict[Any, list[Any]] = {}
    for n, row in enumerate(_rows(raw)):
        inner = row.get("message")
        message: dict[str, Any] = inner if isinstance(inner, dict) else row
        content = message.get("content")
        if isinstance(content, list):
            responses.setdefault(message.get("id") if inner else n, []).extend(content)
    return {run for blocks in responses.values() for run in _runs(blocks)}


def calls_signed(body: dict[str, Any]) -> set[tuple[str, str]]:
    """Ids and signatures of the calls of a Gemini body, without those that say there is none."""
    parts = [part for content in body["contents"] for part in content["parts"] if "functionCall" in part]
    signed = [(part["functionCall"]["id"], part.get("thoughtSignature", DUMMY)) for part in parts]
    return {(identity, signature) for identity, signature in signed if signature != DUMMY}


def signed_calls(raw: bytes) -> set[tuple[str, str]]:
    """Ids and signatures of the calls of a log, where an OpenAI record has them, or a content of Gemini."""
    parts = [part for row in _rows(raw) for one in row.get("contents") or [] for part in one["parts"]]
    own = {
        (part["functionCall"]["id"], part["thoughtSignature"])
        for part in parts
        if "thoughtSignature" in part and "functionCall" in part
    }
    calls = [call for row in _rows(raw) for call in row.get("tool_calls") or [] if isinstance(call, dict)]
    return own | {
        (call.get("id", ""), call["extra_content"]["google"]["thought_signature"])
        for call in calls
        if "extra_content" in call
    }


def _rows(raw: bytes) -> list[dict[str, Any]]:
    """The records of JSON lines, or of one container of messages."""
    found = []
    for line in raw.decode("utf-8", "replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found += row["messages"] if isinstance(row.get("messages"), list) else [row]
    return [row for row in found if isinstance(row, dict)]
