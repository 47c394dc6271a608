"""The lock on a log."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from ctxkit.errors import Locked, WriteFailed
from ctxkit.store.durable_append import append_line
from ctxkit.store.lock import holder, lock


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An empty log."""
    path = tmp_path / "log.jsonl"
    path.touch()
    return path


def test_a_deadline_and_the_holder_s_name(log: Path) -> None:
    """Exit 75, who holds it, and nothing written; then the lock is free again."""
    with log.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Locked) as failed:
            append_line(log, b"{}", deadline=0.02)
    assert "nothing was written" in failed.value.message
    if os.path.exists("/proc/locks") and f":{log.stat().st_ino} " in Path("/proc/locks").read_text():
        assert f"by pid {os.getpid()}" in failed.value.message
    assert log.read_bytes() == b""
    append_line(log, b"{}", deadline=0)
    assert log.read_bytes() == b"{}\n"


def test_closing_another_descriptor_keeps_the_lock(log: Path) -> None:
    """flock, not lockf: that one is lost when any descriptor of the file is closed."""
    fd = os.open(log, os.O_RDWR)
    lock(fd, "log")
    os.close(os.open(log, os.O_RDWR))
    with pytest.raises(Locked):
        append_line(log, b"{}", deadline=0)
    os.close(fd)
    append_line(log, b"{}", deadline=0)


def test_a_file_system_without_locks(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said, and nothing is written."""

    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(WriteFailed, match="cannot lock: no locks available: nothing was written"):
        append_line(log, b"{}")
    assert log.read_bytes() == b""


def test_nobody_holds_a_free_lock(log: Path) -> None:
    """No name is made up."""
    with log.open("rb") as file:
        assert holder(file.fileno()) == ""
