"""checkpoint, and the checkpoints that other commands make: as users see them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.snapshots import make_checkpoint
from tests.cli.runner import FOREIGN, ROOT, SMALL, ctxkit, good, lines, message, process, small

GUIDE = ROOT / "fixtures/guide"
START = datetime(2026, 3, 1, tzinfo=UTC)


def after(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock to so many days after the start."""
    return lambda days: monkeypatch.setenv("CTXKIT_NOW", (START + timedelta(days)).isoformat())


def beside(path: Path) -> list[str]:
    """What stands in the folder of its snapshots."""
    folder = path.with_name(f"{path.name}.ctxkit") / "snapshots"
    return sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []


def test_the_id_alone(tmp_path: Path) -> None:
    """On standard output; the words on the other. Of the log no byte changes."""
    path = small(tmp_path)
    ran = good("checkpoint", path, "-m", "green")
    assert ran.err == f"Kept a reference to this context: {ran.text[:8]}\n" and beside(path) == [beside(path)[0]]
    assert ran.text.strip()[:8] in beside(path)[0] and path.read_bytes() == SMALL
    again = good("checkpoint", path, "-m", "green")
    assert (again.out, again.err) == (ran.out, "The same checkpoint exists already: nothing was written.\n")
    told = good("checkpoint", path, "-m", "green", "--json", "-q")
    assert told.err == "" and told.values[0]["session_id"] == ran.text.strip() and told.values[0]["new"] is False
    [listed] = good("snapshots", path, "--json").values
    assert (listed["kind"], listed["description"], listed["tags"]) == ("checkpoint", "green", ["hand"])
    assert "11 messages  checkpoint  green  #hand" in good("snapshots", path).text
    file = tmp_path / "chat.jsonl.ctxkit/snapshots" / beside(path)[0]
    assert file.stat().st_mode & 0o777 == 0o600 and file.stat().st_size < 1024


@pytest.mark.parametrize("name", ["green", "latest", "", "before clear"])
def test_restore(tmp_path: Path, name: str) -> None:
    """By its description, its id or the beginning of it, and the newest; exactly the context of then."""
    path = small(tmp_path)
    was = good("show", path, "--json").out
    key = good("checkpoint", path, "-m", "green").text.strip()
    good("clear", path)
    ran = good("restore", path, name or key[:6], "--replace")
    said = "(before clear)" if name in ("latest", "before clear") else f"{key[:8]} (green)"
    assert f"{said} again: 11 messages.\n" in ran.err and "The context is checkpoint " in ran.err
    assert good("show", path, "--json").out == was
    assert good("snapshots", path).err == "0 snapshots, 3 checkpoints\n"


def test_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It restores on day 29; on day 31 it is gone, and that is said. What was taken by hand stays."""
    path, day = small(tmp_path), after(monkeypatch)
    day(0)
    good("checkpoint", path, "-m", "mine")
    was = good("show", path, "--json").out
    good("clear", path)
    key = good("snapshots", path, "before clear", "--json").values[0]["session_id"]
    day(29)
    assert "again: 11 messages." in good("restore", path, key, "--replace").said
    assert good("show", path, "--json").out == was
    day(31)
    ran = good("clear", path)
    assert ran.said == "checkpoints removed: 1 older than 30 days\nContext cleared. Starting fresh.\n"
    assert ctxkit("restore", path, key).code == 1
    assert [one["tags"] for one in good("snapshots", path, "--json").values] == [["clear"], ["restore"], ["hand"]]
    day(62)
    assert good("snapshots", path, "--prune", "--json").values[0]["why"] == "older than 30 days"
    assert [one["tags"] for one in good("snapshots", path, "--json").values] == [["hand"]]


def test_by_number(tmp_path: Path) -> None:
    """The newest so many, as the config says."""
    path = small(tmp_path)
    good("config", path, "set", "checkpoint.keep", "2")
    for _ in range(3):
        ran = good("clear", path)
        good("undo", path)
    assert ran.err.splitlines()[0] == "checkpoints removed: 1 beyond the newest 2" and len(beside(path)) == 2


def test_a_log_that_was_changed(tmp_path: Path) -> None:
    """Exit 65, nothing is appended, and the words say what is the matter."""
    path = small(tmp_path)
    good("clear", path)
    path.write_bytes(path.read_bytes().replace(b"brief", b"short"))
    was = path.read_bytes()
    ran = ctxkit("restore", path, "latest", "--replace")
    assert ran.code == 65 and path.read_bytes() == was and len(beside(path)) == 1
    assert "does not fit" in ran.err and "changed since, or is another log: nothing was changed\nhint: " in ran.err
    other = tmp_path / "other.jsonl"
    other.write_bytes(lines(message("user", "else", 0)))
    assert ctxkit("restore", other, next((tmp_path / "chat.jsonl.ctxkit/snapshots").iterdir()), "--yes").code == 65
    assert ctxkit("restore", "-", "latest", stdin=SMALL).code != 0


def test_none_is_made(tmp_path: Path) -> None:
    """In a pipe, in a dry run, and where the config says so."""
    path = small(tmp_path)
    for ran in (good("clear", "-", stdin=SMALL), good("clear", path, "--dry-run")):
        assert "checkpoint" not in ran.err
    assert ctxkit("checkpoint", "-", stdin=SMALL).code == 2
    good("config", path, "set", "checkpoint.auto", "false")
    good("clear", path)
    assert beside(path) == []
    assert os.listdir(tmp_path / "chat.jsonl.ctxkit") == ["config.toml"]


def test_it_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning, and the command goes on with exit 0; by hand it is exit 73."""
    monkeypatch.setattr(make_checkpoint.time, "sleep", lambda _: None)
    path = small(tmp_path)
    (tmp_path / "chat.jsonl.ctxkit").write_bytes(b"")
    ran = good("clear", path)
    warning, said = ran.said.splitlines()
    assert "no checkpoint was made: " in warning and said == "Context cleared. Starting fresh."
    for words in ((), ("-m", "x")):
        ran = ctxkit("checkpoint", path, *words)
        assert (ran.code, ran.out) == (73, b"")
        assert "exists already, and is not a folder: nothing was changed\nhint: " in ran.said


def test_a_link_that_leads_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning, too, and not a second one of what cannot be removed there; nothing stands behind the link."""
    monkeypatch.setattr(make_checkpoint.time, "sleep", lambda _: None)
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    path = small(tmp_path / "in")
    (tmp_path / "in/chat.jsonl.ctxkit").mkdir()
    (tmp_path / "in/chat.jsonl.ctxkit/snapshots").symlink_to(tmp_path / "out")
    warning, said = good("clear", path).said.splitlines()
    assert "a link that leads out of" in warning and said == "Context cleared. Starting fresh."
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize(
    "words", [("--also", "code", "--auto"), ("--also", "decision"), ("-m", "a\nb"), ("-m", "x" * 900)]
)
def test_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Exit 2, and nothing is kept."""
    path = small(tmp_path)
    ran = ctxkit("checkpoint", path, *words)
    assert ran.code == 2 and "nothing was kept" in ran.err and beside(path) == []


def test_auto(tmp_path: Path) -> None:
    """For hooks: at most one per exchange; a second run says that there is nothing, in one line, and exits 0."""
    path = tmp_path / "session.jsonl"
    path.write_bytes((GUIDE / "session.jsonl").read_bytes())
    good("checkpoint", path, "--auto")
    ran = good("checkpoint", path, "--auto")
    assert (ran.out, ran.err) == (b"", "No checkpoint: nothing new since the last one.\n")
    assert good("checkpoint", path, "--auto", "--json", "-q").values == [{"new": False, "said": ran.err.strip()}]
    [listed] = good("snapshots", path, "--json").values
    assert listed["tags"] == ["error_resolution"] and listed["description"] == "pytest -q succeeds again"
    foreign = tmp_path / "other.jsonl"
    foreign.write_bytes(FOREIGN)
    assert good("checkpoint", foreign, "--auto").out == b"" and beside(foreign) == []


def test_add(tmp_path: Path) -> None:
    """With `checkpoint.auto` an exchange that wrote a file has one as soon as its result is added."""
    path = small(tmp_path)
    call = {"id": "c", "type": "function", "function": {"name": "Write", "arguments": json.dumps({"path": "a.py"})}}
    records = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    for switch, count in (("true", 1), ("false", 0)):
        good("config", path, "set", "checkpoint.auto", switch)
        good("add", path, "--messages", "-", stdin=lines(*records))
        assert [one["tags"] for one in good("snapshots", path, "--json").values] == [["code"]] * count
        good("snapshots", path, "--rm", "latest") if count else None
        assert count or beside(path) == []


def test_a_log_that_is_gone(tmp_path: Path) -> None:
    """What is left of it is named, by whatever command, by check and sessions; nothing of it is deleted."""
    path, other = small(tmp_path), tmp_path / "other.jsonl"
    good("clear", path)
    other.write_bytes(SMALL)
    path.unlink()
    ran = ctxkit("check", path)
    assert ran.code == 66 and f"hint: its sidecar still exists: ctxkit snapshots {path}" in ran.err
    assert "1 checkpoint" in good("snapshots", path).err
    assert "chat.jsonl.ctxkit: orphan-sidecar: note: a sidecar whose log is gone" in good("check", other).text
    assert "a sidecar whose log is gone" in good("sessions", tmp_path).err and len(beside(path)) == 1


def test_a_pipe_that_closes(tmp_path: Path) -> None:
    """`| head -1`, and standard input closed: nothing is lost, and no word is said."""
    path = small(tmp_path)
    ran = process("checkpoint", path, "-m", "x")
    assert ran.code == 0 and len(beside(path)) == 1
    assert ctxkit("checkpoint", path, "-m", "y", stdin=None).code == 0


def test_a_clock_that_is_given(tmp_path: Path) -> None:
    """The time of a checkpoint is that of the log's clock, unless CTXKIT_NOW says another."""
    path = small(tmp_path)
    log = Log.open(path, clock=lambda: 1_780_000_000.0)
    found = log.checkpoint()
    assert found is not None and found.kept.head.timestamp == "2026-05-28T20:26:40Z"
