"""nanobot: a session written, listed and loaded by its own code. Runs in its environment."""

import sys
from pathlib import Path

from nanobot.session.manager import SessionManager

WORK, KEY = Path.home() / "work", "cli:direct"


def write(rows: list[dict]) -> str:
    """A session; the path of its log."""
    manager = SessionManager(WORK)
    session = manager.get_or_create(KEY)
    for row in rows:
        session.add_message(**row)
    manager.save(session)
    return str(next(manager.sessions_dir.glob("*.jsonl")))


def read() -> tuple[list[str], list[str]]:
    """The sessions that it lists, and the messages of the one."""
    manager = SessionManager(WORK)
    listed = [f"{one['key']} {one['updated_at']}" for one in manager.list_sessions()]
    return listed, [f"{one.get('role')}: {one.get('content')}" for one in manager.get_or_create(KEY).messages]


if __name__ == "__main__":
    from serve import serve

    serve(write, read, sys.stdin, sys.stdout)
