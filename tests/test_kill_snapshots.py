"""snapshot and snapshots --rm are killed, or fail, at each of their calls: a file is there whole or not at all.

Whatever happens, the log keeps its bytes, nothing but an error in words is raised, a second try succeeds, and nobody
else can read what was kept: private text stands in no temporary place.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.snapshot import SNAPSHOT
from ctxkit.errors import CtxkitError
from ctxkit.snapshots.snapshot import shelf
from ctxkit.store import atomic
from ctxkit.store.snapshot_files import read
from tests.effort import one_of
from tests.faults import each_run
from tests.lawful import NOW

pytestmark = pytest.mark.torture

CANARY = "canary-5f1e"
RECORDS = [{"role": role, "content": f"{CANARY} {n}"} for n, role in enumerate(("user", "assistant", "user"))]
CONTENT = b"".join(json.dumps(record).encode() + b"\n" for record in RECORDS)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the log will be; temporary files of the system go below it, too, so that they are searched."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    os.umask(0)
    yield tmp_path / "work" / "log.jsonl"  # type: ignore[misc]
    os.umask(0o022)


def fresh(log: Path) -> None:
    """A log, and nothing beside it."""
    shutil.rmtree(log.parent, ignore_errors=True)
    log.parent.mkdir()
    log.write_bytes(CONTENT)


def with_three(log: Path) -> None:
    """A log with three snapshots."""
    fresh(log)
    for name in "abc":
        opened(log).snapshot(name)


def opened(log: Path) -> Log:
    """As of a clock that stands still."""
    return Log.open(log, clock=lambda: NOW)


def warmed(log: Path) -> None:
    """Tokens are counted, so that each run makes the same calls."""
    fresh(log)
    take(log)
    opened(log).snapshot("another")


def take(log: Path) -> None:
    """The command that is disturbed."""
    opened(log).snapshot("kept")


def remove(log: Path) -> None:
    """The other: whatever of a and b is there goes."""
    files = (log.parent / "log.jsonl.ctxkit/snapshots").iterdir()
    going = [path for path in files if json.loads(path.read_text())["description"] in "ab"]
    shelf(opened(log)).remove(going)


def wrong(log: Path, kept: set[str]) -> Iterator[str]:
    """What must not be; `kept`: descriptions of snapshots that may be there."""
    if log.read_bytes() != CONTENT:
        yield "the log was changed"
    for path in log.parents[1].rglob("*"):
        if path == log or not path.is_file():
            continue
        private = CANARY.encode() in path.read_bytes()
        whole = path.parent.name == "snapshots" and path.suffix == ".json"
        if private and not whole:
            yield f"private text in {path}"
        if whole and (read(path).head.kind != SNAPSHOT or read(path).head.description not in kept):
            yield f"{path} is not what was kept"
        if whole and stat.S_IMODE(path.stat().st_mode) != 0o600:
            yield f"others can read {path}"


def kept(log: Path) -> list[str]:
    """What is listed, none of it damaged."""
    found = shelf(opened(log)).found()
    assert all(one.head for one in found)
    return sorted(one.head.description for one in found if one.head)


@pytest.mark.one_in(3, first=1)
@pytest.mark.parametrize("first", range(3))
def test_snapshot(first: int, log: Path) -> None:
    """None, or one, whole; what was acknowledged is there."""
    runs, acknowledged, calls = 0, 0, set()
    warmed(log)
    for point, raised in each_run(take, log, lambda: fresh(log), every=one_of(3) * 3, first=first):
        runs, acknowledged = runs + 1, acknowledged + (raised == "")
        calls.add(point.call)
        assert raised is None or " " not in raised, (point, raised)
        assert list(wrong(log, {"kept"})) == [], point
        assert kept(log) in ([["kept"]] if raised == "" else [[], ["kept"]]), point
        take(log)
        assert kept(log) == ["kept"] and list(wrong(log, {"kept"})) == [], point
    assert runs > 100 / one_of(3) and {"open", "write", "link", "mkdir", "fsync"} <= calls


def test_remove(log: Path) -> None:
    """Each is there whole, or gone; what nobody named stays."""
    runs, left = 0, set()
    for point, raised in each_run(remove, log, lambda: with_three(log), every=one_of(3) * 3):
        runs += 1
        assert raised is None or " " not in raised, (point, raised)
        assert list(wrong(log, {"a", "b", "c"})) == [], point
        left.add("".join(kept(log)))
        assert raised != "" or kept(log) == ["c"], point
        remove(log)
        assert kept(log) == ["c"], point
    assert runs > 50 / one_of(3) and {"abc", "c"} <= left <= {"abc", "ac", "bc", "c"}


def test_without_unnamed_files(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has none: what a kill leaves nobody else can read, and a write after an hour takes it."""
    opening = os.open

    def refuse(path: Any, flags: int, *more: int, **named: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "no")
        return opening(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refuse)
    warmed(log)
    left = 0
    for point, raised in each_run(take, log, lambda: fresh(log), every=one_of(3) * 5):
        assert raised is None or " " not in raised, (point, raised)
        parts = list(log.parents[1].rglob(f"{atomic.PREFIX}*"))
        assert len(parts) <= 1 and all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in parts), point
        left += len(parts)
        for path in parts:
            os.utime(path, (1, 1))
        assert kept(log) in ([], ["kept"]), point
        opened(log).snapshot("another")
        assert list(log.parents[1].rglob(f"{atomic.PREFIX}*")) == [], point
    assert left


def test_a_torn_file_is_noticed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise no run above would prove anything: a writer that writes in place leaves parts, and they are seen."""

    def naive(path: Path, pieces: Iterator[bytes]) -> None:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            for piece in pieces:
                os.write(fd, piece)
            os.close(fd)
        except OSError as error:
            raise CtxkitError(str(error)) from error

    monkeypatch.setattr(atomic, "create", naive)
    warmed(log)
    found = 0
    for _, _ in each_run(take, log, lambda: fresh(log), every=one_of(3) * 5):
        try:
            found += bool(list(wrong(log, {"kept"}))) or kept(log) not in ([], ["kept"])
        except (AssertionError, CtxkitError):
            found += 1
    assert found > 5
