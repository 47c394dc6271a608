"""The files that places stand for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ctxkit.search.log_files import log_files, session_of


def test_order_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places in their order, a folder's files by name, each file once, whatever link leads to it."""
    monkeypatch.chdir(tmp_path)
    for name in ("b.jsonl", "d/z.jsonl", "d/a.jsonl", "d/.git/x.jsonl", "d/a.jsonl.ctxkit/ops.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}")
    os.symlink("../b.jsonl", "d/c.jsonl")
    os.symlink(".", "d/round")
    found = log_files(["d/z.jsonl", "d", "b.jsonl"])
    assert [one.path for one in found] == ["d/z.jsonl", "d/a.jsonl", "d/c.jsonl"]
    assert [one.folder for one in found] == ["", "d", "d"]
    assert found[0].size == 2


def test_missing(tmp_path: Path) -> None:
    """What is not there is a file with its error, in its place."""
    (tmp_path / "a.jsonl").write_bytes(b"{}")
    missing, there = log_files([tmp_path / "none", tmp_path / "a.jsonl"])
    assert (missing.path, type(missing.error)) == (str(tmp_path / "none"), FileNotFoundError)
    assert there.error is None


def test_subagents_of_codex(tmp_path: Path) -> None:
    """They lie among the sessions, and say what they are; left out beside these."""
    day = tmp_path / "sessions/2026/10/01"
    day.mkdir(parents=True)
    meta = {"id": "a", "cwd": "/x", "source": "cli", "thread_source": "user"}
    for name, more in (("a", {}), ("b", {"source": {"subagent": {"thread_spawn": {}}}, "thread_source": "subagent"})):
        row = {"type": "session_meta", "payload": meta | more}
        (day / f"rollout-2026-10-01T10-00-00-{name}.jsonl").write_text(json.dumps(row) + "\n")
    assert [one.path[-7:] for one in log_files([tmp_path])] == ["a.jsonl"]
    (day / "rollout-2026-10-01T10-00-00-a.jsonl").unlink()
    assert [one.path[-7:] for one in log_files([tmp_path])] == ["b.jsonl"]


def test_agents(tmp_path: Path) -> None:
    """An agent's log is left out beside its session, unless it was named."""
    agent = tmp_path / "s/subagents/agent-x.jsonl"
    agent.parent.mkdir(parents=True)
    for path in (agent, tmp_path / "s.jsonl"):
        path.write_bytes(b"{}")
    assert session_of(agent, "claude-code") == tmp_path / "s.jsonl"
    assert session_of(agent, "codex") is None
    assert [one.path for one in log_files([tmp_path])] == [str(tmp_path / "s.jsonl")]
    assert [one.path for one in log_files([tmp_path / "s"])] == [str(agent)]
    assert [one.path for one in log_files([agent, tmp_path])] == [str(agent), str(tmp_path / "s.jsonl")]
