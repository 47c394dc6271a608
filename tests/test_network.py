"""Silence: no command that asks no model opens a connection, or looks a name up."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ctxkit.cli.registry import COMMANDS
from tests.cli.runner import ROOT, SMALL
from tests.damage.test_commands import CALLS

PROGRAM = """
import json, sys

asked = []
sys.addaudithook(lambda event, args: asked.append(event) if event.startswith(("socket.connect", "socket.getaddr",
                 "socket.gethost", "socket.sendto")) else None)
from ctxkit.cli.app import run

calls, told = json.loads(sys.argv[1]), {}
if calls:
    for call in calls:
        told[" ".join(call)] = run(call)
        sys.stdout.flush()
else:
    import socket
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    except OSError:
        pass
assert "litellm" not in sys.modules
print(json.dumps([told, asked]), file=sys.stderr)
"""
ALSO = [
    "show chat.jsonl --about question", "forget chat.jsonl --about question --yes", "tool schema --for openai",
    "recall . question", "sessions .", "status chat.jsonl --model gpt-4o", "status chat.jsonl --context-limit 100",
    "help show",    "help --completion bash", "export chat.jsonl --to gemini",
]  # fmt: skip


def connections(folder: Path, calls: list[list[str]]) -> tuple[dict[str, int], list[str]]:
    """The exit status of each call, all in one process, and every connection: by strace too, where that is there."""
    traced = shutil.which("strace")
    trace = folder / "trace"
    watch = [traced, "-f", "-qq", "-e", "trace=connect", "-o", str(trace)] if traced else []
    words = [*watch, sys.executable, "-c", PROGRAM, json.dumps(calls)]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    done = subprocess.run(
        words, cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100
    )
    told, asked = json.loads(done.stderr.splitlines()[-1])
    lines = trace.read_text().splitlines() if traced else []
    return told, asked + [line for line in lines if re.search("AF_INET6?|AF_PACKET", line)]


def test_no_command_connects(tmp_path: Path) -> None:
    """Every command, on a log of ours."""
    (tmp_path / "chat.jsonl").write_bytes(SMALL)
    calls = [[name, *options, "--", "chat.jsonl", *words] for name, (options, words) in CALLS.items()]
    told, asked = connections(tmp_path, [*calls, *(line.split() for line in ALSO)])
    assert asked == []
    assert {call.split()[0] for call in told} == set(COMMANDS)
    assert not [call for call, code in told.items() if code not in (0, 1, 2, 73)], told


def test_a_connection_is_seen(tmp_path: Path) -> None:
    """The test above sees one where there is one."""
    assert connections(tmp_path, [])[1]
