"""The digest rows of the recorded requests: how a message list is hashed, and which rows come from the log."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from ctxkit.core.text.json_text import canonical

Digest = tuple[str, str, str, str | None]
"""role, kind, sha256(key), sha256(content)."""

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_MADE = {
    "No response requested.",
    "(no content)",
    "[Tool use interrupted]",
    "[Orphaned tool result removed due to conversation resume]",
}


def rows(messages: list[dict[str, Any]], *, strip: bool) -> Iterator[tuple[Digest, str]]:
    """A digest row and a hint per block. `strip`: results without the reminders that older models get in them."""
    for message in messages:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind, key, body = _parts(block, strip)
            yield (message["role"], kind, _sha(key), None if body is None else _sha(body)), key[:40]


def from_log(messages: list[dict[str, Any]], *, strip: bool) -> list[tuple[Digest, str]]:
    """The rows that come from the log: without reminders, and without what a client (or ctxkit) says itself."""
    kept = []
    for message in messages:
        blocks = [b for b in message["content"] if not _made(b)]
        kept += rows([{"role": message["role"], "content": blocks}], strip=strip)
    return kept


def _made(block: dict[str, Any]) -> bool:
    if block["type"] == "text":
        return block["text"] in _MADE or block["text"].startswith("<system-reminder>")
    return block["type"] == "tool_result" and str(block.get("content")).startswith("[no result recorded")


def _parts(block: dict[str, Any], strip: bool) -> tuple[str, str, str | None]:
    match block["type"]:
        case "text":
            return "text", _fold(block["text"]), None
        case "tool_use":
            return "tool_use", block["id"], block["name"] + canonical(block["input"]).decode("utf-8", "surrogatepass")
        case "tool_result":
            words = _result(block.get("content") or "")
            return "tool_result", block["tool_use_id"], _fold(_REMINDER.sub(" ", words) if strip else words)
        case "thinking":
            return "thinking", block.get("signature", ""), _fold(block["thinking"])
        case "redacted_thinking":
            return "thinking", block["data"], ""
        case "image":
            return "image", block["source"]["data"], None
    return block["type"], json.dumps(block), None


def _result(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_inner(b) for b in content)


def _inner(block: dict[str, Any]) -> str:
    if block["type"] == "text":
        return str(block["text"])
    known = block["source"]["data"] if block["type"] == "image" else canonical(block).decode()
    return f"{block['type']}:{_sha(known)}"


def _fold(words: str) -> str:
    return re.sub(r"\s+", " ", words).strip()


def _sha(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
