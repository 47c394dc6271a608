"""Keys by which a row is told to be another program's, so that no file of another program is taken for a native log.

Pipeline: `formats/registry.py` asks for lines, `formats/exchanges.py` for the items of a list. Pure and light: it is
asked for every log. A native log may have any keys of its owner's own beside these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

BODIES = frozenset(
    {"content", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning", "tool_call_id", "text"}
)
"""Keys of which a chat message has one beside its `role`."""
TRACES = (
    b'"uuid"', b'"message"', b'"payload"', b'"toolUseID"', b'"toolRequest"', b'"toolResponse"', b'"working_dir"',
)  # fmt: skip
"""What stands in the bytes of rows that `is_foreign` tells."""
_GOOSE = ("toolRequest", "toolResponse", "frontendToolRequest", "toolConfirmationRequest")


def is_message(record: Json) -> bool:
    """Whether a record is a chat message beyond doubt: it has a role, and something said."""
    return isinstance(record.get("role"), str) and not BODIES.isdisjoint(record)


def is_foreign(record: Json) -> bool:
    """Whether a record carries the keys of another program, be it a chat message besides or not."""
    return (
        ("parentUuid" in record and "uuid" in record)
        or (isinstance(record.get("payload"), dict) and isinstance(record.get("type"), str))
        or _nested(record)
        or bool(dialect([record]))
    )


def dialect(records: Sequence[Json]) -> str:
    """The format whose program wrote these rows or messages, where it says chat messages in words of its own; "" else.

    The others are told by their formats, which ask for more than keys.
    """
    for record in records:
        if _is_qwen(record):
            return "qwen-code"
        if _is_goose_header(record):
            return "goose"
        if _nested(record) and not is_message(record) and "type" not in record:
            if isinstance(record.get("contextItems"), list):  # Kiro writes the same, without the words of the replies
                return "" if any("executionId" in one for one in records) else "continue"
            if isinstance(record.get("role"), str):
                return "cursor"
        for part in _parts(record):
            if part.get("type") in _GOOSE:
                return "goose"
            if part.get("type") == "tool_result" and "toolUseID" in part:
                return "amp"
    return ""


def _nested(record: Json) -> bool:
    """A message inside of the row, with what was said in it."""
    message = record.get("message")
    return isinstance(message, dict) and not message.keys().isdisjoint({"content", "parts"})


def _is_qwen(record: Json) -> bool:
    """Claude Code's envelope around a content of Gemini's."""
    message = record.get("message")
    if "parentUuid" not in record or "sessionId" not in record:
        return False
    return "systemPayload" in record or (isinstance(message, dict) and "parts" in message and "content" not in message)


def _is_goose_header(record: Json) -> bool:
    return "role" not in record and "working_dir" in record and not record.keys().isdisjoint(
        {"message_count", "description", "total_tokens"}
    )  # fmt: skip


def _parts(record: Json) -> list[Json]:
    content = record.get("content") if isinstance(record.get("role"), str) else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
