"""`ctxkit scan` before a commit and in CI: the hook of `.pre-commit-hooks.yaml`, and the Action of the command's page.

On a push the hook's entry is run on the files that it names; `.ci/full` runs pre-commit itself (`tests/pre_commit.sh`).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.canary_sessions import canary
from tests.cli.runner import PYTHON, ROOT, SMALL, lines, message

PAGE = (ROOT / "docs/commands/scan.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)]
"""The two files on the page: the config of pre-commit, and the Action."""
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a clean transcript; `ctxkit` on its PATH is this source."""
    folder = tmp_path / "work"
    folder.mkdir()
    _git(folder, "init", "-q")
    (folder / "clean.jsonl").write_bytes(SMALL)
    (folder / "a name.jsonl").write_bytes(SMALL)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/ctxkit"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(PYTHON)} "$@"\n')
    program.chmod(0o755)
    _git(folder, "add", ".")
    return folder


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def _run(folder: Path, command: str | list[str]) -> subprocess.CompletedProcess[str]:
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "-eo", "pipefail", "-c", command] if isinstance(command, str) else command
    return subprocess.run(
        words, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )


def _leak(folder: Path) -> str:
    one = canary()
    (folder / "leak.jsonl").write_bytes(lines(message("user", f"my key is {one}")))
    (folder / "text.json").write_text(f'{{"note": "{one}"}}')
    _git(folder, "add", ".")
    return one


@pytest.mark.needs("git")
def test_the_hook(repository: Path) -> None:
    """Its entry passes on what is clean, and ends with 1 on staged transcripts and JSON with a secret."""
    assert BLOCKS[0]["repos"][0]["hooks"] == [{"id": HOOK["id"]}] and HOOK["types"] == ["text"]

    def run() -> subprocess.CompletedProcess[str]:
        staged = _git(repository, "diff", "--cached", "--name-only", "-z").split("\0")
        return _run(
            repository, [*shlex.split(HOOK["entry"]), *(one for one in staged if re.search(HOOK["files"], one))]
        )

    assert run().returncode == 0
    one = _leak(repository)
    ran = run()
    assert ran.returncode == 1 and one[-12:] not in ran.stdout + ran.stderr
    assert "leak.jsonl: message 1, text: ghp_…[36]" in ran.stdout and "text.json: line 1" in ran.stdout


@pytest.mark.needs("git")
def test_the_action(repository: Path) -> None:
    """Its steps that are commands, run as GitHub runs them: green on what is clean, red on a secret."""
    steps: list[dict[str, Any]] = BLOCKS[1]["jobs"]["scan"]["steps"]
    install, *commands = [step["run"] for step in steps if "run" in step]
    assert install == "pip install ctxkit-cli" and len(commands) == 1
    assert [step["uses"].partition("@")[0] for step in steps if "uses" in step] == [
        "actions/checkout", "actions/setup-python",
    ]  # fmt: skip
    assert [_run(repository, one).returncode for one in commands] == [0]
    one = _leak(repository)
    ran = _run(repository, commands[0])
    assert ran.returncode != 0 and "leak.jsonl: message 1" in ran.stdout and one[-12:] not in ran.stdout


def test_of_the_package() -> None:
    """What the Action installs is the name of this package."""
    installed = BLOCKS[1]["jobs"]["scan"]["steps"][2]["run"].split()[-1]
    assert f'name = "{installed}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
