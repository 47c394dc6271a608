"""Appending: stamped, to the right log, and merged where it belongs to another program."""

from __future__ import annotations

import gc
import io
import os
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.errors import BadMessage, CtxkitError, ForeignLog, NothingChanges, UpdatedElsewhere, Usage
from ctxkit.logfile.append import check_id, new_id, require_message
from tests.build import lines
from tests.cli.runner import FOREIGN, good


def test_new_ids() -> None:
    """Twelve hex digits, the first a letter: never taken for a number."""
    found = {new_id() for _ in range(500)}
    assert len(found) == 500
    for one in found:
        assert len(one) == 12 and one[0] in "abcdef" and int(one, 16)
        check_id(one)


def test_an_op_that_no_log_could_read(tmp_path: Path) -> None:
    """A value of another type, given by a program, is refused: the log would be refused from then on."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(before := b'{"role": "user", "content": "a"}\n')
    with pytest.raises(Usage, match="nothing was appended"):
        Log.open(path).mark(5)  # type: ignore[arg-type]
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["a", "run-7", "01J0ABC", "x_1", "A" * 128])
def test_ids(text: str) -> None:
    """Letters, digits, - and _."""
    check_id(text)


@pytest.mark.parametrize("text", ["", "7", "7-8", "7.a", "a b", "a,b", "_a", "-a", "é", "a\n", "A" * 129])
def test_ids_that_are_none(text: str) -> None:
    """What would read as a number, a range, a list or an item."""
    with pytest.raises(Usage):
        check_id(text)


@pytest.mark.parametrize("record", [{}, {"role": 1}, {"role": ""}, {"role": " "}, {"role": "user", "ctxkit": "mark"}])
def test_require_message(record: dict[str, object]) -> None:
    """What would not be read back as a message."""
    with pytest.raises(BadMessage):
        require_message(record)
    require_message({"role": "user", "ctxkit": 7})


def test_stamp() -> None:
    """Id, time by the clock that was given, who wrote it."""
    log = Log.open(io.BytesIO(lines("1-2")), clock=lambda: 1770000000.7)
    log.args = ("mark", "-")
    op = log.mark()
    assert op is not None and op.ts == "2026-02-02T02:40:00Z"
    assert op.by["args"] == ["mark", "-"] and op.by["version"]
    assert (op.at.messages, op.at.rows, len(op.at.last or "")) == (2, 2, 12)


@pytest.mark.parametrize("change", ["replaced", "cut", "changed"])
def test_updated_elsewhere(tmp_path: Path, change: str) -> None:
    """A log that was replaced, cut or changed since it was read gets nothing; one that grew does."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines("1-4"))
    log = Log.open(path)
    if change == "replaced":
        path.unlink()
        path.write_bytes(lines("1-4"))
        (tmp_path / "held").write_bytes(b"")
    elif change == "cut":
        path.write_bytes(lines("1-3"))
    else:
        path.write_bytes(lines("1-4").replace(b"m3", b"M3"))
    before = path.read_bytes()
    try:
        log.forget(2)
    except CtxkitError as error:
        assert isinstance(error, UpdatedElsewhere) and path.read_bytes() == before
    else:
        assert change == "replaced", "a file system may give the same inode to the new file"


def test_grown_is_fine(tmp_path: Path) -> None:
    """What slipped in stays and is not touched by the op."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines("1-4"))
    log = Log.open(path)
    path.write_bytes(path.read_bytes() + lines("1-6")[len(lines("1-4")) :])
    log.clear()
    assert [int(str(name)) for name in log.names()] == [5, 6]


def test_an_op_in_the_log_of_another_program(tmp_path: Path) -> None:
    """A pipe's result may be written over the log: an op in it that came meanwhile is looked at, not decided past."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    log = Log.open(path)
    path.write_bytes(good("forget", "-", "2", stdin=FOREIGN).out)
    with pytest.raises(NothingChanges):
        log.forget("2")
    assert not Path(f"{path}.ctxkit/ops.jsonl").exists()


def test_foreign_streams_and_files(tmp_path: Path) -> None:
    """A session gets its op in the sidecar; `merged` is the session with it; a message is refused."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN)
    log = Log.open(path)
    log.forget(3)
    assert path.read_bytes() == FOREIGN
    merged = b"".join(log.merged())
    assert merged.startswith(FOREIGN) and merged.count(b"\n") == 4
    with pytest.raises(ForeignLog):
        log.add_message({"role": "user", "content": "x"})


def test_looking_back_appends_nothing(tmp_path: Path) -> None:
    """Ops are appended to the present."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines("1-2 | mark a"))
    log = Log.open(path)
    log.at = "1"
    with pytest.raises(Usage):
        log.mark()
    assert path.read_bytes() == lines("1-2 | mark a")


@pytest.mark.parametrize("content", [lines("1-4"), FOREIGN], ids=["native", "claude-code"])
def test_a_file_is_closed_with_its_log(tmp_path: Path, content: bytes) -> None:
    """Not when the interpreter looks for circles: a program that opens many logs would run out of files."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    gc.collect()
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        for k in range(3):
            Log.open(path).mark(str(k))
        assert len(os.listdir("/proc/self/fd")) == before
    finally:
        gc.enable()
