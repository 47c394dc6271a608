"""Noticing: one checkpoint per exchange that is worth one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log, noticing
from tests.cli.runner import call as made
from tests.cli.runner import lines, message
from tests.lawful import NOW


def file(folder: Path, content: bytes) -> Log:
    """A log in a file, as of a clock that stands still."""
    path = folder / "log.jsonl"
    path.write_bytes(content)
    return Log.open(path, clock=lambda: NOW)


def test_by_itself(tmp_path: Path) -> None:
    """One per exchange, the newest with anything first; a second run keeps nothing."""

    def call(name: str, n: int, said: str, **arguments: Any) -> list[dict[str, Any]]:
        body = {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        return [
            {"role": "assistant", "content": "so:", "tool_calls": [body]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": said},
        ]

    log = file(tmp_path, lines(message("user", "hello", 0), message("assistant", "hi", 1)))
    assert log.checkpoint(auto=True) is None and log.said == "No checkpoint: nothing to keep since the last one."
    for record in call("Write", 1, "ok", file_path="/x/a.py", content="1"):
        log.add_message(record)
    first = log.checkpoint(auto=True)
    assert first is not None and (first.kept.head.tags, first.kept.head.description) == (["code"], "a.py written")
    assert log.checkpoint(auto=True) is None
    for record in call("Write", 2, "ok", file_path="/x/b.py", content="1"):
        log.add_message(record)
    assert log.checkpoint(auto=True) is None
    log.add_message({"role": "user", "content": "next"})
    assert log.checkpoint(auto=True) is None
    for record in (*call("Bash", 3, "exit code 1", command="make"), *call("Bash", 4, "exit code 0", command="make")):
        log.add_message(record)
    log.add_message({"role": "user", "content": "and now?"})
    log.add_message({"role": "assistant", "content": "I have decided to rest."})
    found = log.checkpoint("label", auto=True)
    assert found is not None and (found.kept.head.tags, found.kept.head.description) == (["error_resolution"], "label")
    assert log.checkpoint(auto=True) is None
    said = log.checkpoint(auto=True, also=["decision"])
    assert said is not None and said.kept.head.tags == ["decision"]


def test_of_a_very_long_exchange_the_newest_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands far back is not read: whoever is called by a hook has no time for it."""
    ran = [
        record
        for n in range(4)
        for record in (
            message("assistant", None, tool_calls=[made("Write" if n == 1 else "Bash", str(n), path="a.py")]),
            message("tool", "ok", tool_call_id=str(n)),
        )
    ]
    content = lines(message("user", "go"), *ran)
    monkeypatch.setattr(noticing, "READ", len(lines(*ran[4:])))
    assert file(tmp_path, content).checkpoint(auto=True) is None
    monkeypatch.setattr(noticing, "READ", len(lines(*ran)))
    assert file(tmp_path, content).checkpoint(auto=True) is not None
