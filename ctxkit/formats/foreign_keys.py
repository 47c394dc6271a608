"""Keys that show that another program wrote a row, so that no such file is taken for a native log.

Pipeline: `formats/registry.py` asks for lines, `formats/exchanges.py` for the items of a list. Pure and light: every
log is checked. A native log may have any other keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.formats import chat_programs

Json = dict[str, Any]

BODIES = frozenset(
    {"content", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning", "tool_call_id", "text"}
)
"""Keys of which a chat message has at least one beside its `role`."""
TRACES = (
    b'"uuid"', b'"message"', b'"payload"', b'"toolUseID"', b'"toolRequest"', b'"toolResponse"', b'"working_dir"',
    b'"display"', b'"session_start"', *chat_programs.TRACES,
)  # fmt: skip
"""Bytes that occur in rows of other programs: each row for which `is_foreign` holds has one of these."""
_GOOSE = ("toolRequest", "toolResponse", "frontendToolRequest", "toolConfirmationRequest")


def is_message(record: Json) -> bool:
    """Whether a record is certainly a chat message: it has a role and content."""
    return isinstance(record.get("role"), str) and not BODIES.isdisjoint(record)


def is_foreign(record: Json) -> bool:
    """Whether a record has the keys of another program, even if it is also a chat message."""
    return (
        ("parentUuid" in record and "uuid" in record)
        or (isinstance(record.get("payload"), dict) and isinstance(record.get("type"), str))
        or _nested(record)
        or bool(chat_programs.of_row(record))
        or bool(dialect([record]))
    )


def dialect(records: Sequence[Json]) -> str:
    """The format of these rows, if it is a program's own form of chat messages; else "".

    Other formats detect their rows themselves, by more than keys.
    """
    for record in records:
        if _is_qwen(record):
            return "qwen-code"
        if _is_goose_header(record):
            return "goose"
        if is_prompt(record):
            return "claude-history"
        if record.get("type") == "session" and "cwd" in record:  # pi's header
            return ""
        if _is_droid(record):
            return "droid"
        if _nested(record) and not is_message(record) and "type" not in record:
            if isinstance(record.get("contextItems"), list):  # Kiro writes the same, without the text of replies
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
    """Whether the row contains a message with content."""
    message = record.get("message")
    return isinstance(message, dict) and not message.keys().isdisjoint({"content", "parts"})


def _is_qwen(record: Json) -> bool:
    """Whether it is Claude Code's envelope around a Gemini content."""
    message = record.get("message")
    if "parentUuid" not in record or "sessionId" not in record:
        return False
    return "systemPayload" in record or (isinstance(message, dict) and "parts" in message and "content" not in message)


_PI = frozenset({"timestamp", "api", "provider", "stopReason", "toolCallId"})
"""Keys of which each message of pi has one, and none of Factory Droid's, whose rows have the same envelope."""


def is_pi_message(record: Json) -> bool:
    """Whether a row is a message of pi's."""
    message = record.get("message") if record.get("type") == "message" and "parentId" in record else None
    return isinstance(message, dict) and not _PI.isdisjoint(message)


def _is_droid(record: Json) -> bool:
    """Whether a row begins a session of Factory Droid, or is a message of one."""
    message = record.get("message")
    if record.get("type") == "message" and isinstance(message, dict):
        return {"role", "content"} <= message.keys() and "parentId" in record and _PI.isdisjoint(message)
    return record.get("type") == "session_start" and "role" not in record


def is_prompt(record: Json) -> bool:
    """Whether a row is a prompt of Claude Code's history."""
    return (
        isinstance(record.get("display"), str)
        and "timestamp" in record
        and not record.keys().isdisjoint({"project", "pastedContents", "sessionId"})
        and record.keys().isdisjoint({"role", "type", "message"})
    )


def _is_goose_header(record: Json) -> bool:
    return "role" not in record and "working_dir" in record and not record.keys().isdisjoint(
        {"message_count", "description", "total_tokens"}
    )  # fmt: skip


def _parts(record: Json) -> list[Json]:
    content = record.get("content") if isinstance(record.get("role"), str) else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
