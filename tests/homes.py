"""Made-up homes: sessions where each program keeps them, of a folder in which it was run."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

STAMP = "2026-03-02T09:01:00.000Z"
NOW = 1_772_442_000
"""Seconds since 1970 of a time that files are given."""


def rows(*records: dict[str, Any]) -> bytes:
    """Records as JSONL, as programs write it: without blanks."""
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def dashes(folder: str) -> str:
    """What Claude Code and Qwen Code call a folder."""
    return re.sub("[^A-Za-z0-9]", "-", folder)


def _claude(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    row = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": key, "timestamp": STAMP, "cwd": folder}
    head = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"cwd": "/nowhere"}}
    said = row | {"gitBranch": "main", "message": {"role": "user", "content": words}}
    return home / ".claude/projects" / dashes(folder) / f"{key}.jsonl", rows(head, said)


def _codex(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    meta = {"id": key, "timestamp": STAMP, "cwd": folder, "originator": "codex-tui", "cli_version": "0.169.0",
            "source": "cli", "model_provider": "openai", "base_instructions": {"text": "Be brief. " * 600},
            "git": {"branch": "main"}}  # fmt: skip
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
    path = home / ".codex/sessions/2026/03/02" / f"rollout-2026-03-02T09-01-00-{key}.jsonl"
    return path, rows(
        {"timestamp": STAMP, "type": "session_meta", "payload": meta},
        {"timestamp": STAMP, "type": "response_item", "payload": said},
    )


def _pi(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    slug = "--" + re.sub(r"[/:]", "-", folder.lstrip("/")) + "--"
    head = {"type": "session", "version": 3, "id": key, "timestamp": STAMP, "cwd": folder}
    said = {"type": "message", "id": "a1b2c3d4", "parentId": None, "timestamp": STAMP,
            "message": {"role": "user", "content": words, "timestamp": NOW * 1000}}  # fmt: skip
    return home / ".pi/agent/sessions" / slug / f"2026-03-02T09-01-00-000Z_{key}.jsonl", rows(head, said)


def _gemini(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    named = hashlib.sha256(folder.encode()).hexdigest()
    head = {"sessionId": key, "projectHash": named, "startTime": STAMP, "lastUpdated": STAMP, "kind": "main"}
    said = {"id": "m1", "timestamp": STAMP, "type": "user", "content": words}
    return home / ".gemini/tmp" / named / f"chats/session-2026-03-02T09-01-{key[:8]}.jsonl", rows(head, said)


def _copilot(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    data = {"sessionId": key, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.64",
            "startTime": STAMP, "context": {"cwd": folder, "gitRoot": folder, "branch": "main"}}  # fmt: skip
    said = {"content": words, "transformedContent": words, "attachments": []}
    return home / ".copilot/session-state" / key / "events.jsonl", rows(
        {"type": "session.start", "data": data, "id": "e0", "timestamp": STAMP, "parentId": None},
        {"type": "user.message", "data": said, "id": "e1", "timestamp": STAMP, "parentId": "e0"},
    )


def _qwen(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    row = {"uuid": "q1", "parentUuid": None, "sessionId": key, "timestamp": STAMP, "type": "user", "cwd": folder,
           "gitBranch": "main", "message": {"role": "user", "parts": [{"text": words}]}}  # fmt: skip
    return home / ".qwen/projects" / dashes(folder) / f"chats/{key}.jsonl", rows(row)


def _cursor(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    slug = re.sub("[^A-Za-z0-9]+", "-", folder).strip("-")
    query = f"<user_query>\n{words}\n</user_query>"
    said = {"role": "user", "message": {"content": [{"type": "text", "text": query}]}}
    return home / ".cursor/projects" / slug / f"agent-transcripts/{key}/{key}.jsonl", rows(said)


def _goose(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    head = {"working_dir": folder, "description": words, "schedule_id": None, "message_count": 1}
    said = {"role": "user", "created": NOW, "content": [{"type": "text", "text": words}]}
    return home / ".local/share/goose/sessions" / f"{key}.jsonl", rows(head, said)


def _amp(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    said = {"role": "user", "messageId": 0, "content": [{"type": "text", "text": words}]}
    tree = {"initial": {"trees": [{"displayName": "x", "uri": "file://" + folder.replace(" ", "%20")}]}}
    thread = {
        "v": 42,
        "id": key,
        "created": NOW * 1000,
        "title": words,
        "agentMode": "smart",
        "env": tree,
        "messages": [said],
    }
    return home / ".local/share/amp/threads" / f"{key}.json", json.dumps(thread, indent=2).encode()


def _continue(home: Path, folder: str, key: str, words: str) -> tuple[Path, bytes]:
    item = {"message": {"id": "m1", "role": "user", "content": words}, "contextItems": []}
    session = {"sessionId": key, "title": words, "workspaceDirectory": f"file://{folder}", "history": [item]}
    return home / ".continue/sessions" / f"{key}.json", json.dumps(session).encode()


Maker = Callable[[Path, str, str, str], tuple[Path, bytes]]
PROGRAMS: dict[str, Maker] = {
    "claude-code": _claude, "codex": _codex, "pi": _pi, "gemini-cli": _gemini, "copilot-cli": _copilot,
    "qwen-code": _qwen, "cursor": _cursor, "goose": _goose, "amp": _amp, "continue": _continue,
}  # fmt: skip
"""Format -> what makes a session of it: home, folder, id, first words -> path, bytes."""


def session(
    home: Path, format: str, folder: Path | str, key: str = "3f2a91c0-1111-4222-8333-444455556666",
    words: str = "Where is the port set?", *, at: int = 0,
) -> Path:  # fmt: skip
    """A session of a program, begun in `folder`, whose file was changed last `at` seconds after `NOW`."""
    path, raw = PROGRAMS[format](home, str(folder), key, words)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    os.utime(path, (NOW + at, NOW + at))
    return path


def repository(folder: Path) -> Path:
    """A folder that is the top of a git repository."""
    (folder / ".git").mkdir(parents=True)
    return folder
