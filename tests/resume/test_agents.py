"""The homes in which agents are resumed: the session where the agent looks for it, dummy keys, nothing of ours."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.resume.agents import AGENTS, HERE, Settled
from tests.shared import HERE as TESTS

FIXTURES = TESTS.parent / "fixtures"
SESSIONS = {
    "claude-code": "truth-claude-code/p01-leaf-ts-vs-file.jsonl",
    "codex": "truth-codex/dup-output.jsonl",
    "pi": "truth-pi/custom.jsonl",
    "gemini-cli": "truth-gemini-cli/jsonl-set.jsonl",
    "qwen-code": "truth-qwen-code/basic.jsonl",
    "opencode": "truth-opencode/basic.json",
}


def settled(name: str, tmp_path: Path, model: str = "") -> tuple[Settled, bytes]:
    """A home as `just resume` makes it, with an agent that is not there."""
    program = tmp_path / "place/node_modules" / AGENTS[name].program.replace("*", "linux-x64")
    program.parent.mkdir(parents=True)
    program.touch()
    session = (FIXTURES / SESSIONS[name]).read_bytes()
    return AGENTS[name].settle(tmp_path / "home", session, tmp_path / "place", model), session


@pytest.mark.parametrize("name", AGENTS)
def test_nothing_of_this_machine_is_passed_on(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are dummies, and no variable of the caller is there."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    found, _ = settled(name, tmp_path)
    assert "secret" not in found.env.values() and "HTTPS_PROXY" not in found.env
    assert {value for key, value in found.env.items() if key.endswith("KEY")} == {"dummy"}
    assert found.env["HOME"] == str(tmp_path / "home") and found.cwd.is_dir()


def test_claude_code_finds_its_session(tmp_path: Path) -> None:
    """In the folder named after the directory it runs in, by the session's id, byte for byte."""
    found, session = settled("claude-code", tmp_path, "claude-opus-5")
    [path] = (tmp_path / "home/.claude/projects").glob("*/*.jsonl")
    assert path.read_bytes() == session
    assert path.parent.name.endswith("-home-work") and path.parent.name.startswith("-")
    assert found.command[found.command.index("--resume") + 1] == path.stem
    assert found.command[-3:] == ["--model", "claude-opus-5", "ping"]
    assert found.env["ANTHROPIC_BASE_URL"] == HERE and found.env["DISABLE_TELEMETRY"] == "1"


def test_codex_finds_its_session(tmp_path: Path) -> None:
    """In the folder of its day, under its time and id; the model is that of the last turn."""
    found, session = settled("codex", tmp_path)
    [path] = (tmp_path / "home/codex/sessions").glob("*/*/*/rollout-*.jsonl")
    assert path.read_bytes() == session
    assert path.stem.endswith(found.command[-2])
    config = tomllib.loads((tmp_path / "home/codex/config.toml").read_text(encoding="utf-8"))
    assert config["openai_base_url"] == f"{HERE}/v1"
    models = [row["payload"]["model"] for row in map(json.loads, session.splitlines()) if row["type"] == "turn_context"]
    assert config["model"] == models[-1]


def test_pi_gets_a_directory_that_exists(tmp_path: Path) -> None:
    """The header's directory is replaced, as pi insists on it; every other line is as it was."""
    found, session = settled("pi", tmp_path)
    copy = (tmp_path / "home/session.jsonl").read_bytes()
    assert copy.split(b"\n", 1)[1] == session.split(b"\n", 1)[1]
    assert json.loads(copy.split(b"\n", 1)[0]) == json.loads(session.split(b"\n", 1)[0]) | {"cwd": str(found.cwd)}
    assert found.command[0].endswith("/bin/node")


def test_qwen_code_finds_its_session(tmp_path: Path) -> None:
    """In the folder of the directory it runs in, which its rows name too: of another's it takes no session."""
    found, session = settled("qwen-code", tmp_path)
    [path] = (tmp_path / "home/.qwen/projects").glob("*/chats/*.jsonl")
    assert path.parent.parent.name.endswith("-home-work")
    assert found.command[found.command.index("--resume") + 1] == path.stem
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert {row["cwd"] for row in rows} == {str(found.cwd)}
    assert [row | {"cwd": "/work/server"} for row in rows] == [json.loads(line) for line in session.splitlines()]


def test_opencode_imports_its_session(tmp_path: Path) -> None:
    """It keeps sessions in a database: the export is imported first, then the session is resumed by its id."""
    found, session = settled("opencode", tmp_path)
    flag, script, program, file, identity = found.command[1:6]
    assert (flag, script.split()[:2], Path(program).name) == ("-c", ['"$0"', "import"], "opencode")
    assert Path(file).read_bytes() == session and identity == json.loads(session)["info"]["id"]
    config = json.loads((tmp_path / "home/.config/opencode/opencode.json").read_bytes())
    assert config["provider"]["anthropic"]["options"]["baseURL"].startswith(HERE)
