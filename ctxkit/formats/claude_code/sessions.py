"""New Claude Code rows: contents of any format as a session that `claude --resume` continues.

Pipeline: `write` makes a whole session of contents; `rewriting.py` uses single rows for what ops added. A row needs
type, uuid, parentUuid, sessionId, timestamp and message (agents, Claude Code 1); its other fields are those that Claude
Code writes, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.anthropic import LONGEST_ID, LONGEST_NAME
from ctxkit.formats.base import MessageToWrite, NewSession, Written
from ctxkit.formats.bodies import (
    Ids,
    arguments,
    clean,
    count_lost_name,
    image_type,
    is_url,
    kind_of,
    speaker,
    tool_name,
)

VERSION = "2.1.329"
"""The version of Claude Code whose rows are imitated."""
SYNTHETIC = "<synthetic>"
"""Claude Code's own model name for words that no model wrote."""

_CARRIED = {"document", "search_result"}
"""Anthropic's blocks that a user row can hold unchanged."""
_AROUND = {False: len('{"role":"user"}'), True: len('{"role":"user"}[{"type":"text","text":}]')}
"""Characters around a content in a request; True: a content of only text."""
_ENDED = {True: "tool_use", False: "end_turn"}


class AcceptedCalls:
    """Calls with ids and names that Anthropic accepts: Claude Code sends those of the session unchanged."""

    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._ids = Ids(LONGEST_ID, numbered=False)

    def named(self, content: Content) -> Content:
        """The content with ids and names that the provider accepts; each call has its own id."""
        if not any(isinstance(part, Call | Result) for part in content.parts):
            return content
        return Content(content.role, [self._named(part) for part in content.parts], content.name, content.rows)

    def _named(self, part: Part) -> Part:
        match part:
            case Call(id=identity):
                name = tool_name(part.name, LONGEST_NAME, self._repairs)
                return Call(self._ids.call(identity), name, part.arguments, part.raw)
            case Result(id=identity):
                return Result(self._ids.answer(identity), part.content, part.is_error, part.raw)
        return part


def write(context: Iterable[MessageToWrite], session: NewSession) -> Written:
    """A new session: a chain of rows, one per message."""
    written = Written(session.id, f"{session.id}.jsonl", (), Repairs(), 0, [[]])
    written.pieces = _rows(context, session, written)
    return written


def _rows(context: Iterable[MessageToWrite], session: NewSession, written: Written) -> Iterator[bytes]:
    parent: str | None = None
    [keys] = written.keys
    calls = AcceptedCalls(written.repairs)
    for kept in context:
        content = calls.named(kept.content or Content("user", []))
        row = row_of(content, session, written.repairs, parent=parent, ts=kept.ts)
        if row is not None:
            parent = row["uuid"]
            keys.append(row["uuid"])
            written.count += 1
            yield (whole := line(row))
            words = isinstance(row["message"].pop("content"), str)
            written.said += len(whole) - len(line(row)) + _AROUND[words]


def line(row: dict[str, Any]) -> bytes:
    """A row as a line of the file."""
    return dumps(clean(row)).encode("ascii") + b"\n"


def row_of(
    content: Content, session: NewSession, repairs: Repairs, *, parent: str | None, ts: str | None = None
) -> dict[str, Any] | None:
    """The row of a content; None if nothing of it can be written, which is counted."""
    count_lost_name(content, repairs)
    role = speaker(content)
    blocks = blocks_of(content, repairs)
    if not blocks:
        repairs.leave_out("empty message")
        return None
    if role == "system":
        repairs.leave_out("role of a system message (it is the user's)")
    message: dict[str, Any]
    if role == "assistant":
        calls = any(block["type"] == "tool_use" for block in blocks)
        message = {
            "id": "msg_" + session.fresh().replace("-", ""),
            "type": "message",
            "role": "assistant",
            "model": session.model or SYNTHETIC,
            "content": blocks,
            "stop_reason": _ENDED[calls],
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
    else:
        alone = len(blocks) == 1 and blocks[0]["type"] == "text"
        message = {"role": "user", "content": blocks[0]["text"] if alone else blocks}
    row = {
        **_envelope(session, parent),
        "type": "assistant" if role == "assistant" else "user",
        "message": message,
        "uuid": session.fresh(),
        "timestamp": ts or session.time,
    }
    if role == "system":
        row["isMeta"] = True
    return row


def _envelope(session: NewSession, parent: str | None) -> dict[str, Any]:
    """The fields at the start of each row of a session."""
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": session.cwd,
        "sessionId": session.id,
        "version": VERSION,
    }


def marker(session: NewSession, parent: str) -> dict[str, Any]:
    """A row that is never sent (the duration of a turn), below the row from which the session shall continue."""
    return {
        **_envelope(session, parent),
        "type": "system",
        "subtype": "turn_duration",
        "durationMs": 0,
        "uuid": session.fresh(),
        "timestamp": session.time,
        "isMeta": False,
    }


def blocks_of(content: Content, repairs: Repairs) -> list[dict[str, Any]]:
    """The blocks of a content; parts without an equivalent are counted."""
    own = speaker(content) == "assistant"
    return [block for part in content.parts if (block := _block(part, own, repairs))]


def _block(part: Part, own: bool, repairs: Repairs) -> dict[str, Any] | None:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text} if text else None
        case Call():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments(part)}
        case Result():
            found: dict[str, Any] = {"type": "tool_result", "tool_use_id": part.id, "content": part.content}
            if not isinstance(part.content, str):
                found["content"] = [block for inner in part.content if (block := _block(inner, False, repairs))]
            return found | {"is_error": True} if part.is_error else found
        case Image() if not own and (called := image_type(part)):
            return {"type": "image", "source": {"type": "base64", "media_type": called, "data": part.data}}
        case Image(data="") if not own and is_url(part.url, secure=True):
            return {"type": "image", "source": {"type": "url", "url": part.url}}
        case Other(kind=kind, raw=raw) if not own and kind in _CARRIED:
            return raw
        case Thinking():
            repairs.leave_out("thinking of another program")
        case _:
            repairs.leave_out(kind_of(part))
    return None
