"""Processes as /proc shows them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ctxkit.watch import processes
from ctxkit.watch.processes import holders, start_of

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc on this system")


def test_who_holds_a_file_open(tmp_path: Path) -> None:
    """Another process that has it open is named; one that has not, and this one, are not."""
    path = tmp_path / "log.jsonl"
    path.write_text("")
    with path.open():
        assert holders(path) == []
        for mode, writes in (("r", False), ("a", True)):
            code = f"f = open({str(path)!r}, {mode!r}); print('open', flush=True); input()"
            with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
                assert run.stdout is not None
                run.stdout.readline()
                assert [one.pid for one in holders(path)] == [run.pid]
                assert [one.pid for one in holders(path, writing=True)] == ([run.pid] if writes else [])
                run.kill()
    assert holders(path) == holders(tmp_path / "none") == []


def test_when_a_process_started() -> None:
    """It stays the same, and differs for a process that is not there."""
    mine = start_of(os.getpid())
    assert mine.split()[1].isdigit()
    assert mine == start_of(os.getpid())
    assert start_of(2**22 + 1) == ""


def test_a_process_of_an_earlier_boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a reboot a process with the same number and the same count of ticks is another one."""
    before = start_of(os.getpid())
    (tmp_path / "boot_id").write_text("another\n")
    monkeypatch.setattr(processes, "BOOT", str(tmp_path / "boot_id"))
    assert start_of(os.getpid()) not in ("", before)
