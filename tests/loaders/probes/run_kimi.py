"""Kimi CLI: a session written, listed and restored by its own code. Runs in its environment."""

import asyncio
import sys
from pathlib import Path

from kaos.path import KaosPath
from kimi_cli.session import Session
from kimi_cli.soul.context import Context
from kosong.message import Message

WORK = KaosPath.unsafe_from_local_path(Path.home())


async def _write(rows: list[dict]) -> str:
    session = await Session.create(WORK)
    context = Context(session.context_file)
    await context.write_system_prompt("You are Kimi.")
    for n, row in enumerate(rows):
        if row["role"] == "user":
            await context.checkpoint(False)
        if row["role"] == "assistant":
            await context.update_token_count(5000 + 10 * n)
        await context.append_message(Message.model_validate(row))
        if row["role"] == "assistant":
            await context.update_token_count(5005 + 10 * n)
    return str(session.context_file)


async def _read() -> tuple[list[str], list[str]]:
    sessions = await Session.list(WORK)
    context = Context(sessions[0].context_file)
    await context.restore()
    said = [f"{one.role}: {one.extract_text(' ')}" for one in context.history]
    about = [f"{context.system_prompt}, {context.token_count} tokens, {context.n_checkpoints} checkpoints"]
    return [one.id for one in sessions], about + said


def write(rows: list[dict]) -> str:
    """A session; the path of its log."""
    return asyncio.run(_write(rows))


def read() -> tuple[list[str], list[str]]:
    """The sessions that it lists, and the messages of the first."""
    return asyncio.run(_read())


if __name__ == "__main__":
    from serve import serve

    serve(write, read, sys.stdin, sys.stdout)
