"""Noticing: one checkpoint per exchange that is worth one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.snapshots import triggers
from ctxkit.snapshots.make_checkpoint import shelf
from ctxkit.store.snapshot_files import Snapshots
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
    assert log.checkpoint(auto=True) is None and log.said == "No checkpoint: nothing new since the last one."
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


def shell(n: int, said: str) -> list[dict[str, Any]]:
    """A call of `make`, and what it printed."""
    called = made("Bash", str(n), command="make")
    return [message("assistant", None, tool_calls=[called]), message("tool", said, tool_call_id=str(n))]


def test_what_failed_in_the_exchange_before(tmp_path: Path) -> None:
    """The user says what to do in between; of two exchanges back nothing is known."""
    red, green, user = shell(1, "exit code 1"), shell(2, "exit code 0"), message("user", "try again")
    found = file(tmp_path, lines(user, *red, user, *green)).checkpoint(auto=True)
    assert found is not None and found.kept.head.tags == ["error_resolution"] and found.kept.body["exchange"] == "4"
    (tmp_path / "far").mkdir()
    assert file(tmp_path / "far", lines(user, *red, user, user, *green)).checkpoint(auto=True) is None


def test_two_programs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log grew between their looks: there is one checkpoint of the exchange all the same."""
    log = file(tmp_path, lines(message("user", "go"), *shell(1, "exit code 1"), *shell(2, "exit code 0")))
    assert log.checkpoint(auto=True) is not None
    log.add_message({"role": "assistant", "content": "done"})
    monkeypatch.setattr(Snapshots, "checkpoints", lambda _: [])
    assert log.checkpoint(auto=True) is None
    monkeypatch.undo()
    assert len(shelf(log).checkpoints()) == 1


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
    monkeypatch.setattr(triggers, "READ", len(lines(*ran[4:])))
    assert file(tmp_path, content).checkpoint(auto=True) is None
    monkeypatch.setattr(triggers, "READ", len(lines(*ran)))
    monkeypatch.setattr(triggers, "MOST", 4)
    assert file(tmp_path, content).checkpoint(auto=True) is None
    monkeypatch.setattr(triggers, "MOST", 6)
    assert file(tmp_path, content).checkpoint(auto=True) is not None
