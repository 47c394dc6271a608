"""Appending: never to another log than was seen, always on a line of its own, together with others."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxkit.core.messages import Damage
from ctxkit.errors import CannotCreate, CtxkitError, NoPermission, NoSuchLog, UpdatedElsewhere, WriteFailed
from ctxkit.formats.chat import ChatRow
from ctxkit.store import durable_append
from ctxkit.store.durable_append import append_line, check_unchanged, create_log
from ctxkit.store.jsonl import BlockReader
from ctxkit.store.source import SeenLog, Source, open_log

LINE = b'{"ctxkit":"mark","id":"a1"}'
PATIENCE = durable_append.PATIENCE
"""That of users: tests have none."""
OLD = b'{"role":"user","content":"one"}\n' * 3


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of three messages."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(OLD)
    return path


def seen(path: Path) -> SeenLog:
    """The log as it is now."""
    with open_log(path) as source:
        assert source.seen is not None
        return source.seen


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", LINE + b"\n"),
        (OLD, OLD + LINE + b"\n"),
        (OLD + b'{"role":"us', OLD + b'{"role":"us\n' + LINE + b"\n"),
        (OLD + b"\0\0\0", OLD + b"\0\0\0\n" + LINE + b"\n"),
        (OLD + b"\n", OLD + b"\n" + LINE + b"\n"),
        (b"\n", b"\n" + LINE + b"\n"),
    ],
    ids=["empty", "clean", "torn", "nul", "blank", "only blank"],
)
def test_the_line_stands_alone(log: Path, before: bytes, after: bytes) -> None:
    """A fragment stays as it is, on its own line; nothing else is added."""
    log.write_bytes(before)
    append_line(log, LINE, seen(log))
    assert log.read_bytes() == after


def _replace(log: Path) -> None:
    other = log.with_name("other")
    other.write_bytes(OLD)
    os.replace(other, log)


def _change(log: Path) -> None:
    with log.open("r+b") as file:
        file.write(b'{"role":"USER"')
    os.utime(log, ns=(1, 1))


def _change_and_grow(log: Path) -> None:
    _change(log)
    with log.open("ab") as file:
        file.write(OLD)


@pytest.mark.parametrize(
    ("happens", "word"),
    [
        (_replace, "replaced"),
        (lambda log: os.truncate(log, 40), "cut from 96 to 40"),
        (_change, "changed"),
        (_change_and_grow, "changed"),
        (lambda log: log.write_bytes(b"[]"), "cut"),
    ],
)
def test_a_log_that_is_not_the_one_seen_is_refused(log: Path, happens: Callable[[Path], None], word: str) -> None:
    """Replaced, cut or changed: exit 75, and not a byte is written."""
    before = seen(log)
    happens(log)
    found = log.read_bytes()
    with pytest.raises(UpdatedElsewhere, match=f"^updated elsewhere: .*{word}.*nothing was written"):
        append_line(log, LINE, before)
    with pytest.raises(UpdatedElsewhere):
        check_unchanged(log, before)
    assert log.read_bytes() == found


def test_touching_a_log_is_no_change(log: Path) -> None:
    """Compared by content, not by time."""
    before = seen(log)
    os.utime(log, ns=(1, 1))
    append_line(log, LINE, before)
    assert log.read_bytes() == OLD + LINE + b"\n"


def test_growth_is_shown_to_recheck(log: Path) -> None:
    """What came since is handed over; a recheck that raises keeps the log as it is."""
    before = seen(log)
    append_line(log, LINE, before, lambda *_: pytest.fail("it did not grow"))
    shown: list[bytes] = []

    def recheck(source: Source, start: int) -> None:
        shown.append(source.read(start, source.size))
        raise UpdatedElsewhere("it now means something else")

    grown = log.read_bytes()
    with pytest.raises(UpdatedElsewhere, match="something else"):
        append_line(log, LINE, before, recheck)
    assert shown == [LINE + b"\n"]
    assert log.read_bytes() == grown


def test_links_stay_links(log: Path, tmp_path: Path) -> None:
    """The target is appended to; links to nowhere and in circles are named, and nothing is created."""
    link, nowhere, circle = tmp_path / "link", tmp_path / "nowhere", tmp_path / "circle"
    link.symlink_to(log)
    nowhere.symlink_to(tmp_path / "gone")
    circle.symlink_to(circle)
    append_line(link, LINE)
    assert link.is_symlink()
    assert log.read_bytes() == OLD + LINE + b"\n"
    for path in (nowhere, circle, tmp_path / "missing"):
        with pytest.raises(NoSuchLog):
            append_line(path, LINE)
    assert not (tmp_path / "gone").exists()


def test_mode_is_kept_and_a_new_log_is_private(tmp_path: Path) -> None:
    """0600 whatever the umask says; what is exists already is not touched."""
    path = tmp_path / "new.jsonl"
    mask = os.umask(0)
    try:
        create_log(path)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    append_line(path, LINE)
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(CannotCreate, match="exists already"):
        create_log(path)
    assert path.read_bytes() == LINE + b"\n"
    with pytest.raises(CannotCreate) as failed:
        create_log(tmp_path / "no" / "such.jsonl")
    assert "mkdir" in failed.value.hint


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [(errno.EACCES, NoPermission, 77), (errno.EROFS, NoPermission, 77), (errno.EIO, CtxkitError, 74)],
)
def test_a_log_that_cannot_be_opened(
    log: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[CtxkitError], code: int
) -> None:
    """The reason is said, with its exit code."""

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(kind) as failed:
        append_line(log, LINE)
    assert int(failed.value.code) == code
    assert os.strerror(number).lower() in failed.value.message


def test_every_size_of_a_full_disk(log: Path) -> None:
    """A real short write at each limit: exit 74, a prefix kept, and the next append heals."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for left in range(len(LINE) + 1):
        log.write_bytes(OLD)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(OLD) + left, hard))
        try:
            with pytest.raises(WriteFailed) as failed:
                append_line(log, LINE)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert log.read_bytes() == OLD + LINE[:left]
        assert ("nothing was written" if not left else "a fragment may be left") in failed.value.message
        append_line(log, LINE)
        assert log.read_bytes() == OLD + (LINE[:left] + b"\n" if left else b"") + LINE + b"\n"


def test_a_write_that_is_cut_short_goes_on(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the first write ends, the second one begins there: the line stands once, and whole."""
    real, written = os.write, [0]

    def short(fd: int, payload: bytes) -> int:
        written[0] += 1
        return real(fd, payload[:most] if written[0] == 1 else payload)

    monkeypatch.setattr(os, "write", short)
    for most in range(1, len(LINE) + 1):
        log.write_bytes(OLD)
        written[0] = 0
        append_line(log, LINE, seen(log))
        assert (log.read_bytes(), written[0]) == (OLD + LINE + b"\n", 2), most


def test_failed_fsync_is_not_acknowledged(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with words that it may be there."""
    calls = []

    def fail(fd: int) -> None:
        calls.append(fd)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteFailed, match="written, but perhaps not on disk"):
        append_line(log, LINE)
    assert len(calls) == 1


def test_a_line_glued_by_another_program_is_written_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that does not lock writes half a line between our look and our write."""
    plain, agent = os.write, [b'{"role":"as']

    def write(fd: int, content: bytes) -> int:
        if agent:
            with log.open("ab") as file:
                file.write(agent.pop())
        return plain(fd, content)

    monkeypatch.setattr(os, "write", write)
    append_line(log, LINE)
    assert log.read_bytes() == OLD + b'{"role":"as' + LINE + b"\n" + LINE + b"\n"


def test_gives_up_on_a_log_that_glues_every_line(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for ever."""
    plain = os.write

    def write(fd: int, content: bytes) -> int:
        with log.open("ab") as file:
            file.write(b"{")
        return plain(fd, content)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(WriteFailed, match="not acknowledged"):
        append_line(log, LINE)


def test_a_record_that_is_being_written_comes_to_its_end(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of ours does not break one in two whose writer takes several writes; what came is looked at."""
    pieces, looks = [b'user","con', b'tent":"two"}', b"\n"], []

    def another(seconds: float) -> None:
        with log.open("ab") as file:
            file.write(pieces.pop(0))

    with log.open("ab") as file:
        file.write(b'{"role":"')
    monkeypatch.setattr("time.sleep", another)
    monkeypatch.setattr(durable_append, "PATIENCE", 5)
    append_line(log, LINE, seen(log), lambda source, start: looks.append(source.read(start, source.size)))
    assert log.read_bytes() == OLD + b'{"role":"user","content":"two"}\n' + LINE + b"\n"
    assert looks == [b'user","content":"two"}\n']


def test_a_record_that_begins_while_others_are_checked(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a last look before the write."""

    def finish(seconds: float) -> None:
        with log.open("ab") as file:
            file.write(b'user"}\n')

    def begin(source: Source, start: int) -> None:
        with log.open("ab") as file:
            file.write(b'{"role":"')

    monkeypatch.setattr("time.sleep", finish)
    monkeypatch.setattr(durable_append, "PATIENCE", 5)
    append_line(log, LINE, None, begin)
    assert log.read_bytes() == OLD + b'{"role":"user"}\n' + LINE + b"\n"


def test_a_torn_end_does_not(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for what is torn, and not at all for what was torn a while ago."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setattr(durable_append, "PATIENCE", PATIENCE)
    for _ in range(2):
        with log.open("ab") as file:
            file.write(b"{")
        append_line(log, LINE)
        assert sum(slept) < 0.21
    assert len(slept) == 2 * PATIENCE and log.read_bytes().endswith(b"{\n" + LINE + b"\n")
    with log.open("ab") as file:
        file.write(b"{")
    os.utime(log, (1, 1))
    append_line(log, LINE)
    assert len(slept) == 2 * PATIENCE


def test_one_write_with_o_append_and_nothing_that_rewrites(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise not to change a byte, seen from the calls."""
    opened, written = [], []
    plain_open, plain_write = os.open, os.write
    monkeypatch.setattr(os, "open", lambda *a, **k: opened.append(a[1]) or plain_open(*a, **k))
    monkeypatch.setattr(os, "write", lambda fd, content: written.append(content) or plain_write(fd, content))
    for name in ("replace", "rename", "unlink", "truncate", "ftruncate", "pwrite"):
        monkeypatch.setattr(os, name, lambda *_: pytest.fail("a log is never rewritten"))
    append_line(log, LINE)
    assert written == [LINE + b"\n"]
    assert all(flags & os.O_APPEND and not flags & os.O_TRUNC for flags in opened)


def test_a_log_replaced_while_waiting_for_the_lock(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line goes to the file that the path leads to when the lock is ours."""
    plain, times = durable_append.lock, []

    def lock(fd: int, name: str, deadline: float) -> None:
        if not times:
            _replace(log)
        times.append(1)
        plain(fd, name, deadline)

    monkeypatch.setattr(durable_append, "lock", lock)
    append_line(log, LINE)
    assert len(times) == 2
    assert log.read_bytes() == OLD + LINE + b"\n"


@pytest.mark.parametrize("line", [b'{"a":\n1}'])
def test_a_line_with_a_line_end_is_refused(log: Path, line: bytes) -> None:
    """One record, one line."""
    with pytest.raises(WriteFailed):
        append_line(log, line)
    assert log.read_bytes() == OLD


def _write(log: Path, who: int, count: int) -> None:
    for n in range(count):
        filler = "x" * (20_000 if n % 50 == 0 else n)
        append_line(log, json.dumps({"role": "user", "content": filler, "id": f"{who}.{n}"}).encode())


def _watch(log: Path, stop: Path) -> None:
    while not stop.exists():
        damage: list[Damage] = []
        with open_log(log) as source:
            rows = sum(len(block.rows) for block in BlockReader(source, ChatRow, damage, live=True))
        if damage or not rows:
            os._exit(9)
        time.sleep(0.002)


def test_many_writers_and_readers(log: Path, tmp_path: Path) -> None:
    """Eight processes append 200 lines each while four read: none is lost, each writer's in order, no false damage."""
    stop = tmp_path / "stop"
    jobs: list[Callable[[], None]] = [lambda who=who: _write(log, who, 200) for who in range(8)]
    jobs += [lambda: _watch(log, stop)] * 4
    children = []
    for job in jobs:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.fsync = lambda fd: None  # the disk is not what is tested
                job()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    try:
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children[:8]]
        stop.touch()
        statuses += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children[8:]]
    except BaseException:
        for child in children:
            os.kill(child, signal.SIGKILL)
        raise
    assert statuses == [0] * 12
    lines = log.read_bytes().split(b"\n")
    ids = [json.loads(line)["id"] for line in lines[3:-1]]
    assert lines[-1] == b""
    for who in range(8):
        assert [one for one in ids if one.startswith(f"{who}.")] == [f"{who}.{n}" for n in range(200)]
    assert len(ids) == 1600
