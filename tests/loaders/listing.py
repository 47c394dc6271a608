"""Which sessions an agent lists, before and after ctxkit has put a sidecar beside one of them.

An agent is asked on its command line, by its protocol or by its own library, with the packages of `tests/resume`.
Claude Code is not asked: it lists its sessions on a terminal alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.cli.runner import good
from tests.living import dialogue, lines
from tests.resume.agents import AGENTS
from tests.resume.install import Installed, install

_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
FIXTURE = Path(__file__).resolve().parents[2] / "fixtures/programs/qwen-code.jsonl"
WRITTEN = ("codex", "pi", "gemini-cli")
"""Agents whose sessions ctxkit writes."""
PI = """
const { SessionManager } = await import(process.argv[1]);
for (const one of await SessionManager.listAll()) console.log(one.id, one.path, one.messageCount);
"""


def _run(command: list[str], home: Path, given: str | None = None) -> str:
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "GEMINI_API_KEY": "none"}
    ran = subprocess.run(
        command, cwd=home / "work", env=env, input=given, capture_output=True, text=True, check=False, timeout=120
    )
    return ran.stdout if ran.stdout.strip() else ran.stderr


def _command(agent: Installed) -> list[str]:
    (program,) = sorted(map(str, agent.place.glob(f"node_modules/{agent.agent.program}")))[:1]
    return (
        [str(agent.place / f"node_modules/{agent.agent.also[0][0]}/bin/node"), program]
        if agent.agent.also
        else [program]
    )


def _codex(agent: Installed, home: Path) -> str:
    """By its protocol. What it noted of its sessions before goes: it shall look at the folders."""
    for noted in (home / ".codex").glob("*.sqlite*"):
        noted.unlink()
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    command = [*_command(agent), "app-server"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as ran:
        assert ran.stdin is not None and ran.stdout is not None
        asked = (
            ("initialize", {"clientInfo": {"name": "ctxkit", "version": "1"}}),
            ("thread/list", {"modelProviders": []}),
        )
        for number, (method, words) in enumerate(asked, 1):
            ran.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": words}) + "\n")
            ran.stdin.flush()
            answer = next(one for line in ran.stdout if (one := json.loads(line)).get("id") == number)
        ran.kill()
    return "\n".join(f"{one['id']} {one['path']}" for one in answer["result"]["data"])


def _pi(agent: Installed, home: Path) -> str:
    program, _, _ = _command(agent)[-1].rpartition("/dist/")
    node = [*_command(agent)[:-1], "--input-type=module"] if agent.agent.also else ["node", "--input-type=module"]
    return _run([*node, "-e", PI, f"{program}/dist/core/session-manager.js"], home)


LISTS: dict[str, Callable[[Installed, Path], str]] = {
    "codex": _codex,
    "pi": _pi,
    "gemini-cli": lambda agent, home: _run([*_command(agent), "--list-sessions", "--skip-trust"], home),
    "qwen-code": lambda agent, home: _run([*_command(agent), "sessions", "list"], home),
}
"""Agent -> what it says of its sessions."""


def listed(cache: Path, home: Path) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Yields name, version and the ids that it lists before and after, of each agent. Raises CannotInstallError."""
    work = home / "work"
    work.mkdir()
    (home / "chat.jsonl").write_text(lines(*dialogue("tool")), encoding="utf-8")
    for name in WRITTEN:
        good("resume", home / "chat.jsonl", "--to", name, "--cwd", work)
    identity = json.loads(FIXTURE.read_text(encoding="utf-8").splitlines()[0])["sessionId"]
    chats = home / ".qwen/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(work)) / "chats"
    chats.mkdir(parents=True)
    (chats / f"{identity}.jsonl").write_text(FIXTURE.read_text(encoding="utf-8").replace("/work/server", str(work)))
    for name, ask in LISTS.items():
        agent = install(AGENTS[name], cache, AGENTS[name].versions[-1])
        before = _ID.findall(ask(agent, home))
        place = home / f".{name.partition('-')[0]}"
        (log,) = (path for path in place.rglob("*.jsonl") if path.parts[-2] == "chats" or "sessions" in path.parts)
        for command, *words in (("mark", "x"), ("snapshot", "-m", "y"), ("forget", "2", "--yes")):
            good(command, log, *words)
        assert (log.parent / f"{log.name}.ctxkit/ops.jsonl").exists()
        yield name, agent.version, before, _ID.findall(ask(agent, home))
