"""Starting costs only what is used: the slow libraries are not imported by commands that do not need them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SLOW = {"litellm", "dateparser", "tiktoken", "rich", "pydantic"}
FORBIDDEN = SLOW | {
    "ctxkit.formats.claude_code", "ctxkit.store.intact_records", "tomlkit", "asyncio", "secrets",
    "ctxkit.measure.token_log",
}  # fmt: skip
"""What a command on a native log does without."""

PROGRAM = """
import sys
from ctxkit.cli.app import run
status = run(sys.argv[1:])
sys.stdout.flush()
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(status)
"""

COMMANDS = [
    "--help",
    "--version",
    "mark --help",
    "help mark",
    "show log.jsonl",
    "show log.jsonl --last 2",
    "log log.jsonl",
    "status log.jsonl --context-limit 100",
    "status log.jsonl --plot",
    "status log.jsonl --svg",
    "diff log.jsonl 1",
    "why log.jsonl 1",
    "sessions log.jsonl",
    "cat log.jsonl",
    "mark log.jsonl before",
    "rewind log.jsonl",
    "forget log.jsonl 2",
    "forget log.jsonl --tool Read --dry-run",
    "remember log.jsonl 1 --yes",
    "show log.jsonl --about hello",
    "tool schema --for openai",
    "clear log.jsonl",
    "snapshot log.jsonl --light",
    "edit log.jsonl --print",
    "protect log.jsonl 1",
    "protect log.jsonl 1 --off",
    "undo log.jsonl",
    "undo log.jsonl --redo",
    "window log.jsonl 2h",
    "window log.jsonl off",
    "check log.jsonl",
    "export log.jsonl --to openai",
    "init new.jsonl",
    "add log.jsonl hello",
    "help --completion bash",
    "__complete zsh -- rewind log.jsonl b",
    "config log.jsonl",
    "config log.jsonl get now",
]
COUNTING = {f"status log.jsonl {form}" for form in ("--context-limit 100", "--plot", "--svg")} | {
    "forget log.jsonl --tool Read --dry-run"
}
"""What needs a tokenizer the first time; the second time the counts are known."""
LOG = b"""{"role":"user","content":"hello","ts":"2026-01-01T10:00:00Z"}
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"a","content":"x"}
{"ctxkit":"mark","id":"op1","at":{"messages":3}}
{"role":"assistant","content":"bye"}
"""


def modules(folder: Path, words: list[str]) -> set[str]:
    """What is imported after a command was run, of whatever exit status that is no bug and no wrong usage."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{PROGRAM}", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.one_in(5)
@pytest.mark.parametrize("command", COMMANDS)
def test_slow_libraries_are_not_imported(tmp_path: Path, command: str) -> None:
    """No command but those that need one imports a library that takes longer than everything else together."""
    (tmp_path / "log.jsonl").write_bytes(LOG)
    if command in COUNTING:
        modules(tmp_path, command.split())
    found = modules(tmp_path, command.split())
    assert "ctxkit.cli.app" in found
    assert {name for name in FORBIDDEN if name in found} == set()


def test_what_is_needed_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above sees an import where there is one: a date in words takes dateparser."""
    (tmp_path / "log.jsonl").write_bytes(LOG)
    assert "dateparser" in modules(tmp_path, ["show", "log.jsonl", "--since", "yesterday"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert "tiktoken" in modules(tmp_path, ["status", "log.jsonl"])
