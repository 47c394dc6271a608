"""Sessions of programs that keep chat messages in files of their own, as they write them, in their own folders.

All of it is ours: what such a file looks like is known from the packages that `formats/chat_programs.py` names, and
`tests/loaders.py` shows that their loaders read it. `LIVING`: where a session stands below the home, and its files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Log

SAID = ("the port is 8080", "list the files", "read it", "and now", "one more")


def dialogue(call: str) -> list[dict[str, Any]]:
    """Five questions; the second is answered by a call of this tool and its result; "": by no call."""
    rows: list[dict[str, Any]] = []
    for n, words in enumerate(SAID):
        rows.append({"role": "user", "content": words})
        if n == 1 and call:
            function = {"name": call, "arguments": '{"command": "ls"}'}
            rows.append(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"id": "t1", "type": "function", "function": function}],
                }
            )
            rows.append({"role": "tool", "content": "a.txt", "tool_call_id": "t1", "name": call})
        rows.append({"role": "assistant", "content": f"answer {n}"})
    return rows


def lines(*rows: Mapping[str, Any]) -> str:
    """Rows as lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)


class Living(NamedTuple):
    """A session: its log, and all files by their places below the home; `messages`: how many it has."""

    program: str
    log: str
    files: Mapping[str, str]
    messages: int

    def put(self, home: Path) -> Path:
        """The session below a home."""
        for name, text in self.files.items():
            place = home / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return home / self.log


def _vibe() -> Living:
    rows = [
        {**row, "injected": False} | ({} if row["role"] == "tool" else {"message_id": f"m{n}"})
        for n, row in enumerate(dialogue("bash"))
    ]
    folder = ".vibe/logs/session/session_20261001_100000_0a1b2c3d"
    meta = {
        "session_id": "0a1b2c3d-0000-4000-8000-000000000001", "total_messages": len(rows), "git_commit": None,
        "start_time": "2026-10-01T10:00:00", "end_time": None, "git_branch": None, "username": "ada",
        "environment": {"working_directory": "/home/ada/shop"},
    }  # fmt: skip
    files = {f"{folder}/messages.jsonl": lines(*rows), f"{folder}/meta.json": json.dumps(meta)}
    return Living("Mistral Vibe", f"{folder}/messages.jsonl", files, len(rows))


def _kimi() -> Living:
    rows: list[dict[str, Any]] = [{"role": "_system_prompt", "content": "You are Kimi Code."}]
    held = dialogue("Shell")
    for n, row in enumerate(held):
        if row["role"] == "user":
            rows.append({"role": "_checkpoint", "id": sum(one["role"] == "_checkpoint" for one in rows)})
        if row["role"] == "assistant":
            rows.append({"role": "_usage", "token_count": 5000 + 10 * n})
        rows.append({**row, "content": [{"type": "text", "text": row["content"]}]})
        if row["role"] == "assistant":
            rows.append({"role": "_usage", "token_count": 5005 + 10 * n})
    folder = ".kimi/sessions/7e3f0a1c5d8b4f6e9a2c1d0b3f5e7a90/session-1"
    files = {
        f"{folder}/context.jsonl": lines(*rows),
        f"{folder}/wire.jsonl": lines({"type": "metadata", "protocol_version": "1.3"}),
    }
    return Living("Kimi CLI", f"{folder}/context.jsonl", files, len(held) + 1)


def _gptme() -> Living:
    rows = [{**row, "timestamp": f"2026-10-01T10:00:{n:02}"} for n, row in enumerate(dialogue(""))]
    folder = ".local/share/gptme/logs/2026-10-01-one"
    files = {f"{folder}/conversation.jsonl": lines(*rows), f"{folder}/config.toml": "\n[chat]\nstream = true\n"}
    return Living("gptme", f"{folder}/conversation.jsonl", files, len(rows))


def _nanobot() -> Living:
    held = [{**row, "timestamp": f"2026-10-01T10:00:{n:02}"} for n, row in enumerate(dialogue("exec"))]
    head = {
        "_type": "metadata", "key": "cli:direct", "created_at": "2026-10-01T10:00:00", "metadata": {},
        "updated_at": "2026-10-01T10:00:20", "last_archived": 0, "last_consolidated": 0,
    }  # fmt: skip
    log = ".nanobot/sessions/0123456789abcdef0123456789abcdef/cli_direct.jsonl"
    return Living("nanobot", log, {log: lines(head, *held)}, len(held))


def _fifth(folder: str) -> Living:
    log = f"{folder}/fifth/talk.jsonl"
    rows = dialogue("run")
    return Living("a fifth program", log, {log: lines(*rows), f"{folder}/fifth/index.db": "talk"}, len(rows))


LISTED = {one.program: one for one in (_vibe(), _kimi(), _gptme(), _nanobot())}
UNLISTED = {
    folder: _fifth(folder)
    for folder in (".fifth", ".local/share", ".local/state", ".config", "Library/Application Support")
}
"""A program that nobody has heard of, in each kind of folder in which programs keep their files."""
LIVING = LISTED | UNLISTED


def numbers(one: Living, home: Path, row: int, change: Mapping[str, Any]) -> tuple[set[int], set[int]]:
    """The messages of a session one row of which is changed, and those that are in the context. Each has a time."""
    path = one.put(home)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[row] |= change
    path.write_text(lines(*rows), encoding="utf-8")
    log = Log.open(path)
    assert all(message.ts for message in log.messages)
    return {m.n for m in log.messages}, {one.message.n for one in log.entries() if one.message is not None}
