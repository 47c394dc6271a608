"""gptme: a conversation written, listed and loaded by its own code. Runs in its environment."""

import sys

from gptme.config import ChatConfig
from gptme.dirs import get_logs_dir
from gptme.logmanager import LogManager
from gptme.logmanager.conversations import get_conversations
from gptme.message import Message

NAME = "2026-10-01-one"


def write(rows: list[dict]) -> str:
    """A conversation with its config; the path of its log."""
    folder = get_logs_dir() / NAME
    folder.mkdir(parents=True)
    ChatConfig(_logdir=folder).save()
    said = [Message("system" if row["role"] == "tool" else row["role"], row["content"] or "...") for row in rows]
    with LogManager.load(folder, initial_msgs=said, create=True) as manager:
        manager.write()
    return str(folder / "conversation.jsonl")


def read() -> tuple[list[str], list[str]]:
    """The conversations that it lists, and the messages of the one."""
    listed = [f"{one.id} ({one.messages})" for one in get_conversations()]
    with LogManager.load(get_logs_dir() / NAME) as manager:
        return listed, [f"{one.role}: {one.content}" for one in manager.log]


if __name__ == "__main__":
    from serve import serve

    serve(write, read, sys.stdin, sys.stdout)
