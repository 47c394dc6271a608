"""The Goose format: sessions before 1.10, `~/.local/share/goose/sessions/<name>.jsonl`; newer ones are in a database.

Pipeline: `formats/registry.py` lists `FORMAT`. The first row describes the session; the others are messages, whose
calls and results are parts of Goose's own kinds. The reading follows Goose's published types.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.derive.usage import SESSION_TOTAL
from ctxkit.core.messages import Span
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.chat_dialects import Dialect, DialectReader, parts
from ctxkit.formats.chat_parts import text_of
from ctxkit.formats.foreign_keys import Json


def put(row: Json) -> Json | None:
    """A row as a chat message."""
    if not isinstance(row.get("role"), str):
        return None
    content = row.get("content")
    rest = {key: value for key, value in row.items() if key != "created"}
    body = [_part(one) for one in content] if isinstance(content, list) else content
    return rest | {"content": body} | ({"ts": row["created"]} if "created" in row else {})


def _part(part: Any) -> Any:
    """A part in the form of Anthropic's API."""
    if not isinstance(part, dict):
        return part
    match part.get("type"):
        case "toolRequest" | "frontendToolRequest":
            call, failed = _outcome(part.get("toolCall"))
            call = call if isinstance(call, dict) else {"name": "", "arguments": {"error": failed}}
            return {"type": "tool_use", "id": part.get("id"), "name": call.get("name"), "input": call.get("arguments")}
        case "toolResponse":
            answer, failed = _outcome(part.get("toolResult"))
            output = answer.get("content") if isinstance(answer, dict) else answer
            wrong = bool(failed) or (isinstance(answer, dict) and answer.get("isError") is True)
            content = failed or [_part(one) for one in parts(output)]
            return {"type": "tool_result", "tool_use_id": part.get("id"), "content": content} | (
                {"is_error": True} if wrong else {}
            )
        case "image":
            source = {"type": "base64", "media_type": part.get("mimeType"), "data": part.get("data")}
            return part if "source" in part else {"type": "image", "source": source}
        case "resource" if isinstance(held := part.get("resource"), dict) and isinstance(held.get("text"), str):
            return {"type": "text", "text": held["text"]}
        case "redactedThinking":
            return {"type": "redacted_thinking", "data": part.get("data")}
    return part


def _outcome(outcome: Any) -> tuple[Any, str]:
    """The outcome of a call or a tool: its value, or the text of its error."""
    if not isinstance(outcome, dict):
        return outcome, ""
    if outcome.get("status") == "error":
        return None, text_of(outcome.get("error")) or "failed"
    return outcome.get("value", outcome), ""


def hides(row: Json) -> bool:
    """Whether Goose shows the row to the user alone: what it compacted, and its own notices."""
    metadata = row.get("metadata")
    return isinstance(metadata, dict) and metadata.get("agentVisible") is False


class GooseReader(DialectReader):
    """A Reader (formats/base.py). Also notes the first row, which says how large the context is up to the newest
    reply: Goose writes it anew after each.
    """

    def __init__(self) -> None:
        super().__init__("goose", put, hides)
        self._header: Span | None = None

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        if not self._messages and len(block.rows) and utf8(f'"{SESSION_TOTAL}"') in block.raw(0):
            self._header = block.offsets[0], block.sizes[0]
        super().feed(block)

    def finish(self) -> Transcript:
        """The transcript of all that was fed."""
        found = super().finish()
        hidden = set(self._hidden)
        replies = (m.n for m in reversed(found.messages) if m.role == "assistant" and m.n not in hidden)
        newest = next(replies, None)
        if self._header is not None and newest is not None:
            found.counts = {newest: self._header}
        return found


class GooseFormat(Dialect):
    """A Format (formats/base.py)."""

    def reader(self) -> GooseReader:
        """A new reader."""
        return GooseReader()


FORMAT = GooseFormat("goose", put, was_chat=True, hides=hides)
