"""Mistral Vibe: a session written by its own types, listed and read by its own loader. Runs in its environment."""

import json
import sys
from pathlib import Path

from vibe.core.config.models import SessionLoggingConfig
from vibe.core.session.session_index import clear_session_index_registry
from vibe.core.session.session_loader import SessionLoader
from vibe.core.types import LLMMessage

CONFIG = SessionLoggingConfig()
FOLDER = Path(CONFIG.save_dir) / f"{CONFIG.session_prefix}_20261001_100000_0a1b2c3d"
ABOUT = {
    "session_id": "0a1b2c3d-0000-4000-8000-000000000001", "start_time": "2026-10-01T10:00:00", "end_time": None,
    "git_commit": None, "git_branch": None, "environment": {"working_directory": "/tmp"}, "username": "ada",
}  # fmt: skip


def write(rows: list[dict]) -> str:
    """Vibe's current version writes another store and reads this one: the rows are its model's own."""
    FOLDER.mkdir(parents=True)
    text = "".join(LLMMessage.model_validate(row).model_dump_json(exclude_none=True) + "\n" for row in rows)
    (FOLDER / "messages.jsonl").write_text(text)
    (FOLDER / "meta.json").write_text(json.dumps(ABOUT | {"total_messages": len(rows)}, indent=2))
    return str(FOLDER / "messages.jsonl")


def read() -> tuple[list[str], list[str]]:
    """The sessions that it lists, and the messages of the one."""
    clear_session_index_registry()
    listed = [one["session_id"] for one in SessionLoader.list_sessions(CONFIG)]
    found = SessionLoader.find_session_by_id(ABOUT["session_id"], CONFIG)
    messages, _ = SessionLoader.load_session(found)
    return listed, [f"{one.role.value}: {one.content}" for one in messages]


if __name__ == "__main__":
    from serve import serve

    serve(write, read, sys.stdin, sys.stdout)
