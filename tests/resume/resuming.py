"""One resumption: a fresh home, a network namespace, the agent, and the request that it made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.resume.agents import PING, PORT, Settled, put
from tests.resume.inside import network
from tests.resume.install import Installed
from tests.resume.stub import Json, Request

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300


class NotResumedError(Exception):
    """The agent made no request for the session; its last words."""


def namespace() -> list[str]:
    """The command that starts another one without a network; as an ordinary user in a user namespace too."""
    return ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--"]


def resume(
    installed: Installed, session: bytes, model: str = "", left: list[bytes] | None = None,
    beside: Mapping[str, bytes] = MappingProxyType({}),
) -> Json:  # fmt: skip
    """The body of the request that the agent sends when it resumes `session`. Raises NotResumedError.

    `left`: takes what the agent left in Claude Code's folder of sessions. `beside`: further files, by their paths in
    the home.
    """
    with tempfile.TemporaryDirectory(prefix="ctxkit-resume-") as name:
        home = Path(name).resolve() / "home"
        settled = installed.agent.settle(home, session, installed.place, model)
        for place, content in beside.items():
            put(home / place, content)
        try:
            return answered(settled)
        finally:
            if left is not None:
                left += [path.read_bytes() for path in sorted(home.glob(".claude/projects/*/*.jsonl"))]


def answered(settled: Settled) -> Json:
    """The body of the request that holds the conversation, of an agent that is started so. Raises NotResumedError."""
    asked = {
        "command": settled.command, "env": settled.env, "cwd": str(settled.cwd), "port": PORT, "seconds": SECONDS,
        "outside": network(),
    }  # fmt: skip
    done = subprocess.run(
        [*namespace(), sys.executable, "-m", "tests.resume.inside"],
        cwd=ROOT, input=json.dumps(asked), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise NotResumedError((done.stderr.strip().splitlines() or ["no namespace"])[-1])
    answer = json.loads(done.stdout)
    found = chosen(answer["requests"])
    if found is None:
        raise NotResumedError(
            f"exit {answer['status']}, {len(answer['requests'])} requests: {answer['said'].strip()[-300:]}"
        )
    return found


def chosen(requests: list[Request]) -> Json | None:
    """The request that holds the conversation: the first with the prompt in it."""
    for _, body in requests:
        items = body.get("messages") or body.get("input") or body.get("contents") or []
        if isinstance(items, list) and any(
            PING in json.dumps(item.get("content") or item.get("parts") or "") for item in items[-3:]
        ):
            return body
    return None
