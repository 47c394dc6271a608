"""Claude Code logs for tests: made of a few words per row, read without the store."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ctxkit.core.messages import Content, Message
from ctxkit.core.text.json_structs import shaped
from ctxkit.core.text.json_text import loads
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.claude_code import FORMAT
from ctxkit.formats.claude_code.reader import ClaudeReader

_decode = msgspec.json.Decoder(FORMAT.row).decode


def block(raw: bytes, base: int = 0, line: int = 1) -> Block:
    """The records of `raw`, which stands at byte `base`, first line `line`. Undecodable lines are skipped."""
    found = Block([], [], [], [], raw, base)
    offset = base
    for i, piece in enumerate(raw.split(b"\n")):
        row = _row_of(piece)
        if row is not None:
            for into, item in zip(
                (found.rows, found.offsets, found.sizes, found.lines), (row, offset, len(piece), line + i), strict=True
            ):
                into.append(item)
        offset += len(piece) + 1
    return found


def _row_of(piece: bytes) -> Any:
    """A line as the store decodes it: strictly, or else as its recovery makes it; None where it is no object."""
    try:
        return _decode(piece)
    except msgspec.DecodeError:
        pass
    try:
        found = loads(piece)
    except ValueError:
        return None
    return shaped(found, FORMAT.row) if isinstance(found, dict) else None


def read(raw: bytes) -> Transcript:
    """The transcript of a whole log."""
    reader = ClaudeReader()
    reader.feed(block(raw))
    return reader.finish()


def content(raw: bytes, message: Message) -> Content:
    """A message in full."""
    spans = [(message.offset, message.size), *message.more]
    return FORMAT.content(message, [loads(raw[start : start + size]) for start, size in spans])


def context(transcript: Transcript) -> list[int]:
    """The numbers that Claude Code sends: the view after its cuts."""
    assert transcript.view is not None
    order = list(transcript.view.order)
    for cut in transcript.view.cuts:
        gone = {*cut.out, *cut.moved}
        order = [n for n in order if n not in gone]
        at = order.index(cut.after) + 1 if cut.after in order else 0
        order[at:at] = cut.moved
    return order


def answered(transcript: Transcript) -> frozenset[str]:
    """The calls whose result stands anywhere in the log, but for those that the context holds without it."""
    held = [transcript.messages[n - 1] for n in context(transcript)]
    open_calls = {key for message in held for key in message.calls} - {k for m in held for k in m.results}
    return frozenset(key for message in transcript.messages for key in message.results) - open_calls


def log(*rows: dict[str, Any]) -> bytes:
    """Rows as JSONL."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def user(uuid: str, parent: str | None, said: Any, at: float = 0, **more: Any) -> dict[str, Any]:
    """A user row: `said` is text or blocks."""
    return _row("user", uuid, parent, at, message={"role": "user", "content": said}, **more)


def assistant(
    uuid: str, parent: str | None, said: Any, at: float = 0, *, response: str = "", **more: Any
) -> dict[str, Any]:
    """An assistant row: `said` is text or one block; `response` is its message.id (default: a new one)."""
    blocks = [said] if isinstance(said, dict) else [{"type": "text", "text": said}] if isinstance(said, str) else said
    model = more.pop("model", "claude-opus-4-6")
    message = {"id": response or f"msg_{uuid}", "role": "assistant", "model": model, "content": blocks}
    return _row("assistant", uuid, parent, at, message=message, **more)


def call(key: str, name: str = "Bash") -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": key, "name": name, "input": {"command": "true"}}


def result(key: str, words: Any = "done") -> dict[str, Any]:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": key, "content": words}


def other(kind: str, uuid: str, parent: str | None, at: float = 0, **more: Any) -> dict[str, Any]:
    """A row of another type."""
    return _row(kind, uuid, parent, at, **more)


def boundary(uuid: str, parent: str | None = None, at: float = 0, **meta: Any) -> dict[str, Any]:
    """A compact_boundary row with this compactMetadata."""
    return _row("system", uuid, parent, at, subtype="compact_boundary", compactMetadata=meta)


def _row(kind: str, uuid: str, parent: str | None, at: float, **more: Any) -> dict[str, Any]:
    stamp = f"2026-01-01T00:{int(at) // 60:02}:{at % 60:06.3f}Z"
    base = {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "timestamp": stamp}
    return {**base, "sessionId": "s", **more}
