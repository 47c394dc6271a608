"""A full reading of a log."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import CtxkitError
from ctxkit.logfile.open import OpenLog
from ctxkit.watch.full_reading import config_files, read_fully
from tests.watch.running import Claude, answer, append, calling, log_of, user


def test_it_says_what_status_says(tmp_path: Path) -> None:
    """Tokens, messages, marks, newest op and checkpoint are those of the log; whose turn it is, is told."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"), user("go on"), calling("c1", "Read", path="a"))
    log = Log.open(path)
    log.mark("here")
    log.checkpoint("kept")
    found = read_fully(path)
    assert found.status == Log.open(path).status()
    assert (found.last_op and found.last_op.name, found.checkpoint and found.checkpoint.label) == ("mark", "kept")
    assert (found.turns.waits_for, found.turns.tools) == ("tool", ["Read"])
    assert (found.grows, found.offset, found.changed) == (True, path.stat().st_size, False)
    Log.open(path).forget("1")
    assert read_fully(path).changed


def test_where_new_bytes_cannot_be_read_alone(tmp_path: Path) -> None:
    """A file without a message yet, one that ends within a line, and one JSON text are read whole each time."""
    for content in ("", '{"role":"user","content":"hi"}', '[{"role":"user","content":"hi"}]\n'):
        path = tmp_path / "log.jsonl"
        path.write_text(content)
        assert not read_fully(path).grows


def test_mistakes_of_the_config_are_notices(tmp_path: Path) -> None:
    """A wrong key does not end the reading; a change of a config file is seen."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    before = read_fully(path).files
    (tmp_path / "ctxkit.toml").write_text("limit = 'much'\n")
    found = read_fully(path)
    assert any("limit must be" in notice for notice in found.notices)
    assert found.files == config_files(path) != before


def test_a_config_that_changes_during_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are those from before, so that the change is seen afterwards."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))

    def opened(*given: Any, **named: Any) -> OpenLog:
        found = OpenLog.open(*given, **named)
        (tmp_path / "ctxkit.toml").write_text("limit = 500\n")
        return found

    monkeypatch.setattr("ctxkit.watch.full_reading.OpenLog", SimpleNamespace(open=opened))
    assert read_fully(path).files != config_files(path)


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """A reading lets go of the log, also where it fails."""
    path = log_of(tmp_path / "a.jsonl", Claude().user("hello"))
    other = tmp_path / "b.jsonl"
    other.write_text("no log\n")
    read_fully(path)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        read_fully(path)
        with pytest.raises(CtxkitError):
            read_fully(other)
    assert not before or len(os.listdir("/proc/self/fd")) <= before + 1
    append(path, Claude().says("hi"))
