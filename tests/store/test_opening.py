"""What is refused before it is read."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from ctxkit.errors import CtxkitError, ExitCode, NoPermission, NoSuchLog
from ctxkit.store.opening import cannot_open, open_regular


def test_other_kinds_are_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directory, pipe, socket, device: exit 66; a pipe without a writer does not block."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name, kind in ((".", "directory"), ("pipe", "pipe"), ("socket", "socket"), ("/dev/null", "device")):
            with pytest.raises(NoSuchLog, match=f"not a log: it is a {kind}") as failed:
                open_regular(Path(name), os.O_RDONLY)
            assert failed.value.code == ExitCode.NO_LOG
            assert ("standard input" in failed.value.hint) == (kind == "pipe")  # a device may never end


def test_a_pipe_that_took_a_file_s_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the open: it is still refused, and does not block."""
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.touch()
    regular = os.stat(file)
    monkeypatch.setattr(os, "stat", lambda *_, **__: regular)

    def blocked(*_: object) -> None:
        raise TimeoutError("it blocks")

    before = signal.signal(signal.SIGALRM, blocked)
    signal.alarm(3)
    try:
        with pytest.raises(NoSuchLog, match="it is a pipe"):
            open_regular(pipe, os.O_RDONLY)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """Missing, below a file, a link to nowhere, a circle, a name too long."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("gone")
    (tmp_path / "circle").symlink_to("circle")
    for name, words in (
        ("missing", "no such log$"),
        ("file/below", "no such log$"),
        ("link", "a link to gone, which is missing"),
        ("circle", "too many levels"),
        ("n" * 300, "name too long"),
    ):
        with pytest.raises(NoSuchLog, match=words):
            open_regular(tmp_path / name, os.O_RDONLY)


def test_no_permission(tmp_path: Path) -> None:
    """Exit 77. (Root may read anything, so that the system's answer is given here.)"""
    found = cannot_open(tmp_path, PermissionError(13, "Permission denied"))
    assert isinstance(found, NoPermission)
    assert isinstance(cannot_open(tmp_path, OSError(30, "Read-only file system")), NoPermission)
    assert isinstance(cannot_open(tmp_path, OSError(6, "No such device")), NoSuchLog)
    assert cannot_open(tmp_path, OSError(5, "Input/output error")).code == ExitCode.IO


def test_descriptors_of_standard_streams_are_never_used(tmp_path: Path) -> None:
    """With standard error closed, the log would become it, and messages would land in the log."""
    path = tmp_path / "log.jsonl"
    path.touch()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.closerange(0, 3)
            fd = open_regular(path, os.O_RDWR)
            status = 0 if fd > 2 and not os.get_inheritable(fd) else 2
        except CtxkitError:
            status = 3
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
