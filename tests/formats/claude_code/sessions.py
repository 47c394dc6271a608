"""What is asked of every Claude Code session that was written, whoever wrote it."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec

from ctxkit import Log
from ctxkit.core.messages import Part, Text

CHAIN = ("user", "assistant", "system", "attachment", "progress")


def opened(raw: bytes) -> Log:
    """A log of these bytes, whose clock stands still."""
    return Log.open(io.BytesIO(raw), clock=lambda: 1_780_000_000.0)


def written(log: Log, **asked: Any) -> bytes:
    """The log's session as Claude Code's."""
    return b"".join(log.session("claude-code", **asked).pieces)


def told(log: Log) -> list[tuple[str, Any]]:
    """Role and parts of each message of the context."""
    contents = [log.full(entry) for entry in log.entries()]
    return [(content.role, _plain(msgspec.to_builtins(content.parts))) for content in contents]


def _plain(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts without the block that they were read from; a thought is nothing else."""
    for part in parts:
        if part["type"] in ("call", "result", "image"):
            part.pop("raw", None)
        if isinstance(part.get("content"), list):
            _plain(part["content"])
    return parts


def rows(raw: bytes) -> list[dict[str, Any]]:
    """The rows of a file, damaged lines left out."""
    found = []
    for piece in raw.split(b"\n"):
        try:
            row = json.loads(piece)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


def problems(raw: bytes, source: bytes = b"") -> list[str]:
    """What resuming would trip over: ids that stand twice, parents that are not there. `source`: had them before."""
    found, before = rows(raw), rows(source)
    uuids = [row["uuid"] for row in found if isinstance(row.get("uuid"), str)]
    old = [row["uuid"] for row in before if isinstance(row.get("uuid"), str)]
    missing = {row.get("parentUuid") for row in before} - set(old)
    wrong = [f"{uuid} stands twice" for uuid in set(uuids) if uuids.count(uuid) > max(1, old.count(uuid))]
    for row in found:
        parent = row.get("parentUuid")
        if parent is not None and parent not in uuids and parent not in missing:
            wrong.append(f"{row.get('uuid')} hangs on {parent}, which is missing")
    return wrong


def block_of(part: Part) -> dict[str, Any]:
    """The Anthropic block of a part that `repair` gave."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return part.raw or {}
