"""The Python API: a method per command, which returns the op it appended."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.errors import NothingChanges, Usage
from tests.build import lines


def written(tmp_path: Path, spec: str = "1-6") -> Path:
    """A log as a file."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(spec))
    return path


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("mark", ("a",), {}),
    ("forget", ("2",), {}),
    ("forget", (), {"role": "user", "last": "1"}),
    ("remember", ([3, "4"],), {}),
    ("clear", (), {}),
    ("protect", (5,), {}),
    ("unprotect", (1,), {}),
    ("set_window", (10800,), {}),
    ("shift_window", (3600,), {}),
    ("reset_window", (), {}),
    ("window_off", (), {"agent": "sam"}),
    ("undo", (), {}),
]


@pytest.mark.parametrize(("name", "args", "more"), CALLS, ids=lambda value: str(value))
def test_methods(tmp_path: Path, name: str, args: tuple[Any, ...], more: dict[str, Any]) -> None:
    """Each appends one line and returns its op; the log knows it at once, and so does who opens it again."""
    path = written(tmp_path, "1-6 | window 7200")
    if name == "window_off":
        path = written(tmp_path, "1-6 | window 7200 agent=sam")
    before = path.read_bytes()
    log = Log.open(path)
    op = getattr(log, name)(*args, **more)
    assert op is not None and op.id and op.sum is None and log.said
    assert path.read_bytes().startswith(before) and path.read_bytes().count(b"\n") == before.count(b"\n") + 1
    assert [entry.id for entry in log.ledger.entries][-1] == op.id
    assert list(Log.open(path).names()) == list(log.names())


def test_counts(tmp_path: Path) -> None:
    """What changes the context says how many messages it had and has."""
    log = Log.open(written(tmp_path))
    op = log.forget("2-3")
    assert op is not None and op.before is not None and op.after is not None
    assert (op.before.messages, op.after.messages) == (6, 4)


def test_dry_run(tmp_path: Path) -> None:
    """The op, and nothing appended."""
    path = written(tmp_path)
    log = Log.open(path)
    log.dry_run = True
    assert log.forget("2") is not None
    assert path.read_bytes() == lines("1-6")


def test_nothing_to_do(tmp_path: Path) -> None:
    """The wished state holds: None. Nothing was found: an error. Neither appends."""
    path = written(tmp_path)
    log = Log.open(path)
    log.protect(3)
    before = path.read_bytes()
    assert log.protect(3) is None and "Already protected" in log.said
    log.forget(2)
    with pytest.raises(NothingChanges):
        log.forget(2)
    assert path.read_bytes().startswith(before)


def test_retry_by_id(tmp_path: Path) -> None:
    """The same id again: the op that is there, nothing decided; an id that cannot be read is refused."""
    path = written(tmp_path)
    for _ in range(2):
        log = Log.open(path)
        log.op_id = "once"
        op = log.forget(2)
        assert op is not None and op.id == "once"
    assert path.read_bytes().count(b'"once"') == 1
    path.write_bytes(path.read_bytes() + b'{"ctxkit":"frobnicate","id":"odd"}\n')
    log = Log.open(path)
    log.op_id = "odd"
    with pytest.raises(Usage):
        log.mark()


def test_stream() -> None:
    """A stream is copied out with the op behind it."""
    log = Log.open(io.BytesIO(lines("1-3")))
    log.forget(2)
    out = b"".join(log.copy_out())
    assert out.startswith(lines("1-3")) and out.count(b"\n") == 4
    assert [int(str(name)) for name in log.names()] == [1, 3]


def test_an_op_id_of_another_op_is_refused(tmp_path: Path) -> None:
    """An id is for one op and its retries: success would be a lie."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines("1-4"))
    log = Log.open(path)
    log.op_id = "retry-one"
    assert log.mark("m") is not None
    with pytest.raises(Usage, match="a mark: nothing was appended"):
        log.forget("2")
