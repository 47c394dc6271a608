"""CTXKIT_LOG: a line for each command that counts or cuts, and no command comes to anything else because of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, lines, message, ops, small

COUNTS = ["status", "status --short", "status --by role", "diff 1 --stat", "diff 1 --stat --json", "log --tokens",
          "show --max-tokens 60", "export --to chat --max-tokens 60", "trim --max-tokens 60",
          "trim --max-tokens 60 --dry-run", "forget 2", "forget --role assistant", "forget --role assistant --yes",
          "remember 9", "clear", "rewind a",
          "undo", "recall 3 --apply", "trim --max-tokens 5", "compact --target 50% --keep-last 0 --strategy truncate",
          "compact --force --keep-last 9"]  # fmt: skip
SILENT = ["status --no-tokens", "diff 1", "diff 1 --stat --no-tokens", "show", "export --to chat", "log", "why 2",
          "mark b", "rewind a", "protect 3", "window 8h", "check", "forget 99", "trim", "compact"]  # fmt: skip


def called(path: Path, words: str, **more: Any) -> Any:
    name, *rest = words.split()
    return ctxkit(name, path, *rest, **more)


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The token log of a test."""
    monkeypatch.setenv("CTXKIT_LOG", str(tmp_path / "tokens.jsonl"))
    return tmp_path / "tokens.jsonl"


def read(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_bytes().splitlines()] if journal.exists() else []


def prepared(folder: Path) -> Path:
    path = small(folder, marks=["a"])
    good("forget", path, "3-4")
    return path


@pytest.mark.parametrize("words", COUNTS)
def test_what_counts_is_told(tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with the op that was appended; and the command's own output is what it is without."""
    monkeypatch.setenv("CTXKIT_LOG", str(tmp_path / "tokens.jsonl"))
    path = small(tmp_path, marks=["a"])
    good("add", path, "more", "--ts", "2026-02-01T10:30:00Z")
    good("forget", path, "3-4", "--op-id", "one")
    (tmp_path / "tokens.jsonl").unlink()
    raw = path.read_bytes()
    ran = called(path, words)
    [found] = read(tmp_path / "tokens.jsonl")
    appended = len(path.read_bytes()) > len(raw)
    assert (found["command"], found["exit"]) == (words.split()[0], ran.code)
    assert found["op"] == (ops(path)[-1]["id"] if appended else None)
    assert found["before"] > 0 and found["counter"].startswith("estimate for unknown model")
    if appended:
        op = ops(path)[-1]
        assert (op["before"]["tokens"], op["after"]["tokens"]) == (found["before"], found["after"])
        assert found["messages"] - found["dropped"] + found["came"] == op["after"]["messages"]
    monkeypatch.delenv("CTXKIT_LOG")
    path.write_bytes(raw)
    without = called(path, words)
    assert (without.code, without.err) == (ran.code, ran.err)
    if "--json" not in words and "--dry-run" not in words:
        assert without.out == ran.out


@pytest.mark.parametrize("words", SILENT)
def test_what_counts_nothing_tells_nothing(tmp_path: Path, words: str, journal: Path) -> None:
    """No file is made."""
    path = small(tmp_path, marks=["a"])
    called(path, words)
    assert not journal.exists()


def test_what_it_never_holds(tmp_path: Path, journal: Path) -> None:
    """No path, no word, no label, no name."""
    folder = tmp_path / "secretfolder"
    folder.mkdir()
    path = folder / "secretname.jsonl"
    path.write_bytes(SMALL + lines(message("user", "secretword", 70, agent="secretagent", thread="secretthread")))
    good("mark", path, "secretlabel")
    for words in ("status", "forget --grep secretword --yes", "status --agent secretagent", "rewind secretlabel",
                  "forget --agent secretagent --yes", "trim --max-tokens 60", "show --max-tokens 50"):  # fmt: skip
        called(path, words)
    held = journal.read_text()
    assert len(held.splitlines()) >= 5 and "secret" not in held and str(tmp_path) not in held
    assert {one["log"] for one in read(journal)} == {read(journal)[0]["log"]}


def test_pipes(tmp_path: Path, journal: Path) -> None:
    """Each command of a pipe tells its own; what comes out is the log, and nothing else."""
    piped = good("forget", "-", "2-5", stdin=SMALL)
    good("export", "-", "--to", "chat", "--max-tokens", "80", stdin=piped.out)
    first, second = read(journal)
    assert piped.out.startswith(SMALL) and json.loads(piped.out.splitlines()[-1])["id"] == first["op"]
    assert (first["command"], second["command"]) == ("forget", "export")
    assert first["after"] == second["before"] and first["log"] == second["log"]


def test_what_is_held_back(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`add --enforce`: what the message comes to, where it is added; a look that trims by itself, too."""
    path = small(tmp_path)
    good("status", path)
    [before] = read(journal)
    journal.unlink()
    monkeypatch.setenv("CTXKIT_RESERVE", "0")
    monkeypatch.setenv("CTXKIT_LIMIT", str(before["before"] + 20))
    for words in ("x", "y" * 400):
        ctxkit("add", path, words, "--enforce", "--ts", "2026-02-01T11:00:00Z")
    monkeypatch.setenv("CTXKIT_BUDGET_ENFORCE", "true")
    monkeypatch.setenv("CTXKIT_LIMIT", "60")
    good("show", path)
    added, held, shown = read(journal)
    assert (added["exit"], added["came"], added["after"] > added["before"]) == (0, 1, True)
    assert (held["exit"], held["came"], held["after"], held["before"]) == (1, 0, added["after"], added["after"])
    assert added["before"] == before["before"]
    assert shown["budget"] == shown["limit"] == 60 >= shown["after"] and shown["dropped"] > 0


def test_two_logs(tmp_path: Path, journal: Path) -> None:
    """A comparison names both."""
    other = tmp_path / "other.jsonl"
    other.write_bytes(FOREIGN)
    ctxkit("diff", small(tmp_path), other, "--stat")
    [found] = read(journal)
    assert found["log"] != found["other"] is not None and (found["messages"], found["came"]) == (11, 3)


def test_trouble_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning on stderr; the result and the exit status are those of the command."""
    path = prepared(tmp_path)
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    os.mkfifo(tmp_path / "fifo")
    whole = good("status", path)
    for place, why in ((path, "is the log itself"), (tmp_path, "is a directory"), (tmp_path / "fifo", "is a pipe"),
                       (tmp_path / "no/where", "no such file or directory"), ("/dev/full", "is a device")):  # fmt: skip
        monkeypatch.setenv("CTXKIT_LOG", str(place))
        raw = path.read_bytes()
        ran = good("status", path)
        assert ran.out == whole.out and path.read_bytes() == raw
        assert ran.err == f"ctxkit: CTXKIT_LOG: {place}{':' * (why[:2] != 'is')} {why}" + (
            ", or a file of it: nothing was added\n" if "itself" in why else ": nothing was added\n"
        )
        assert good("status", path, "-q").err == ""
        assert ctxkit("trim", path, "--max-tokens", "5").code == 1
    monkeypatch.setenv("CTXKIT_LOG", str(empty))
    assert "is the log itself" in good("status", empty).err and empty.read_bytes() == b""


@pytest.mark.parametrize("value", ["", os.devnull])
def test_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Empty, or the file that keeps nothing: as if not set, ops are counted for nothing."""
    monkeypatch.setenv("CTXKIT_LOG", value)
    path = small(tmp_path)
    assert "token" not in good("forget", path, "2").said and ops(path)[-1]["before"] == {"messages": 11}


def test_what_add_enforces_is_told(tmp_path: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there, and what would be with the message; where it is held back, what stays."""
    path = small(tmp_path)
    monkeypatch.setenv("CTXKIT_RESERVE", "10")
    for limit, code in (("1000", 0), ("100", 1)):
        monkeypatch.setenv("CTXKIT_LIMIT", limit)
        assert called(path, "add hello --enforce").code == code
    fits, full = read(journal)
    assert (fits["after"] > fits["before"], fits["came"], fits["budget"], fits["exit"]) == (True, 1, 990, 0)
    assert (full["after"], full["came"], full["budget"], full["exit"]) == (full["before"], 0, 90, 1)
