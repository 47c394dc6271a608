"""New Codex rows: contents of any format as a session that `codex resume` continues.

Pipeline: `write` makes a whole session of contents; `rewriting.py` uses single rows for what ops added. Resuming needs
a `session_meta` with an id and a model provider, then response items; the events mirror them for Codex's screen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ctxkit.core.messages import Content, Repairs
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.base import MessageToWrite, NewSession, Written
from ctxkit.formats.response_items import Items, followed

VERSION = "0.169.0"
"""The version of Codex whose rows are imitated."""
PROVIDER = "openai"

Json = dict[str, Any]


def write(context: Iterable[MessageToWrite], session: NewSession) -> Written:
    """A new session: its metadata, then the items of each message."""
    written = Written(session.id, file_name(session), (), Repairs(), 0)
    written.pieces = _rows(context, session, written)
    return written


def _rows(context: Iterable[MessageToWrite], session: NewSession, written: Written) -> Iterator[bytes]:
    repairs, times = written.repairs, deque[tuple[str, Json]]()

    def items() -> Iterator[Json]:
        made = Items(repairs, session=True)
        for kept in context:
            some = items_of(made, kept.content or Content("user", []), repairs)
            written.count += bool(some)
            for item in some:
                times.append((kept.ts or session.time, item))
                yield item

    yield meta(session)
    for item in followed(items(), repairs):
        ts, one = times.popleft()
        while one is not item:  # `followed` left out items before this one
            ts, one = times.popleft()
        yield from _lines(ts, item)


def items_of(made: Items, content: Content, repairs: Repairs) -> list[Json]:
    """The items of a content. A system message gets the developer's role, since Codex drops the system's."""
    items = made.of(content)
    for item in items:
        if item.get("role") == "system":
            repairs.leave_out("role of a system message (it is the developer's)")
            item["role"] = "developer"
        if item["type"] == "message" and isinstance(item["content"], str):
            kind = "output_text" if item["role"] == "assistant" else "input_text"
            item["content"] = [{"type": kind, "text": item["content"]}]
    return items


def line(ts: str, kind: str, payload: Json) -> bytes:
    """A row as a line of the file."""
    return dumps({"timestamp": ts, "type": kind, "payload": payload}).encode("ascii") + b"\n"


def file_name(session: NewSession) -> str:
    """The file name of a session in Codex."""
    return f"rollout-{session.time.removesuffix('Z').replace(':', '-')}-{session.id}.jsonl"


def meta(session: NewSession) -> bytes:
    """The first row of a session: its metadata."""
    payload = {
        "id": session.id,
        "session_id": session.id,
        "timestamp": session.time,
        "cwd": session.cwd,
        "originator": "ctxkit",
        "cli_version": VERSION,
        "source": "cli",
        "model_provider": PROVIDER,
        "base_instructions": None,
    }
    return line(session.time, "session_meta", payload)


def _lines(ts: str, item: Json) -> Iterator[bytes]:
    """The row of an item, and the event that mirrors its text."""
    yield line(ts, "response_item", item)
    if item["type"] != "message":
        return
    words = "\n".join(piece["text"] for piece in item["content"] if "text" in piece)
    if item["role"] == "user":
        yield line(ts, "event_msg", {"type": "user_message", "message": words, "images": []})
    elif item["role"] == "assistant":
        yield line(ts, "event_msg", {"type": "agent_message", "message": words})
