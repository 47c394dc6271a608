"""Committing: decided, stamped, sized, appended once."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from unittest import mock

import pytest

from ctxkit import Log
from ctxkit.core.derive.usage import Figures
from ctxkit.errors import DamagedOp, Misfit, Usage, WriteFailed
from ctxkit.logfile.commit import sizes
from tests.build import lines
from tests.cli.runner import FOREIGN


def opened(folder: Path) -> Log:
    """A log of four messages."""
    path = folder / "log.jsonl"
    if not path.exists():
        path.write_bytes(lines("1 system | 2-4"))
    return Log.open(path)


def test_an_op_says_how_large_the_context_was(tmp_path: Path) -> None:
    """Before and after, in messages; a mark changes none and says nothing."""
    log = opened(tmp_path)
    op = log.forget(3)
    assert op is not None and op.before is not None and op.after is not None
    assert (op.before.messages, op.after.messages, log.written) == (4, 3, op.id)
    marked = log.mark("a")
    assert marked is not None and marked.before is None


def test_a_retry(tmp_path: Path) -> None:
    """An op id that is there already: the op is given back, nothing appended; of another kind: refused."""
    log = opened(tmp_path)
    log.op_id = "retry"
    first = log.forget(3)
    size = (tmp_path / "log.jsonl").stat().st_size
    again = log.forget(3)
    assert first is not None and again is not None and again.id == first.id and "there already" in log.said
    with pytest.raises(Usage, match="a forget"):
        log.mark("a")
    assert (tmp_path / "log.jsonl").stat().st_size == size


def test_tokens_where_they_were_counted(tmp_path: Path) -> None:
    """What a window hides counts on both sides."""
    state = opened(tmp_path).state()
    before, after = sizes(state, state, Figures(100, 60, "mine", 4, beyond=5, left=7))
    assert (before.tokens, after.tokens, before.counter) == (105, 67, "mine")
    assert sizes(state, state, None)[0].tokens is None


@pytest.mark.parametrize("place", ["the log itself", "its sidecar"])
def test_a_retry_is_acknowledged_once_it_is_durable(tmp_path: Path, place: str) -> None:
    """The first try was told that it may be lost: its line is there, and the retry syncs it before it says so."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines("1-4") if place == "the log itself" else FOREIGN)
    synced: list[str] = []
    broken = True

    def fsync(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        if broken:
            raise OSError(errno.EIO, "Input/output error")

    holder = str(path) if place == "the log itself" else f"{path}.ctxkit/ops.jsonl"
    if place == "its sidecar":
        Log.open(path).mark("there")
    before = Path(holder).read_bytes()
    with mock.patch.object(os, "fsync", fsync):
        for _ in range(2):  # the second finds the op, and can say no more than the first
            log = Log.open(path)
            log.op_id = "once"
            with pytest.raises(WriteFailed, match="written, but perhaps not on disk"):
                log.forget("2")
        broken, synced = False, []
        log = Log.open(path)
        log.op_id = "once"
        assert log.forget("2") is not None and log.said == "op once is there already: nothing appended."
    assert synced[0] == holder
    assert Path(holder).read_bytes().startswith(before) and Path(holder).read_bytes().count(b'"once"') == 1
    log.dry_run, synced = True, []
    log.forget("2")
    assert synced == []


DAMAGED = ("forget x", "forget 2 sum=x", "forget 2 at=9", "forget 2 last=x", "rewind to=nowhere")


@pytest.mark.parametrize("command", ["redo", "undo 2", "redo in a pipe", "redo --dry-run"])
@pytest.mark.parametrize("damaged", DAMAGED)
def test_what_is_damaged_stays_undone(tmp_path: Path, damaged: str, command: str) -> None:
    """No op is appended that brings back one that no reader takes: the log would be refused from then on."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(f"1-4 | {damaged} | undo @1"))
    before = path.read_bytes()
    log = Log.open(io.BytesIO(before) if "pipe" in command else path)
    log.dry_run = "dry" in command
    with pytest.raises(DamagedOp if "forget x" in damaged or "sum" in damaged else Misfit) as refused:
        log.undo("2") if command == "undo 2" else log.redo()
    assert "op 1 (" in refused.value.message and refused.value.message.endswith(": it stays undone")
    assert path.read_bytes() == before and b"".join(log.copy_out()) == before
    log.force = True
    assert log.redo() is not None
