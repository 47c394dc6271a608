"""What is read of a log that is watched: whole, then what was appended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import CtxkitError
from ctxkit.logfile.append import AppendableLog
from ctxkit.store.jsonl import BlockReader
from ctxkit.watch.reading import MUCH, LogReading, config_files, read, read_on
from tests.watch.running import Claude, answer, append, calling, log_of, result, user


def size(path: Path) -> int:
    """Bytes of a file now."""
    return path.stat().st_size


def test_it_says_what_status_says(tmp_path: Path) -> None:
    """Tokens, messages, marks, newest op and checkpoint are those of the log; whose turn it is, is told."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"), user("go on"), calling("c1", "Read", path="a"))
    log = Log.open(path)
    op = log.mark("here")
    log.checkpoint("kept")
    found = read(path)
    assert found.status == Log.open(path).status()
    assert (found.last_op and found.last_op.name, found.checkpoint and found.checkpoint.label) == ("mark", "kept")
    assert (found.turns.waits_for, found.turns.tools) == ("tool", ["Read"])
    assert op is not None
    assert (found.size, found.ops, found.can_go_on(size(path))) == (size(path), {op.id: "mark"}, True)


def test_after_each_append_it_is_what_a_whole_reading_says(tmp_path: Path) -> None:
    """Of a native log and of one of Claude Code, with ops in between and one that was undone."""
    claude = Claude()
    native = [user("read it"), calling("c1", "Read", path="a.py"), result("c1", "x = 1\n" * 50), answer("It is 1.")]
    foreign = [claude.user("hello"), claude.says("hi", used=5000)]
    rows = [claude.user("word " * 300), claude.calls("t1", "Read", used=6000), claude.result("t1", "x = 1")]
    for path, more in (
        (log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi")), native),
        (log_of(tmp_path / "s.jsonl", *foreign), [*rows, claude.says("Yes.", used=6100)]),
    ):
        found = read(path)

        def same(found: LogReading, path: Path) -> LogReading:
            found, whole = read_on(found), read(path)
            for name in ("status", "turns", "ops", "last_op", "checkpoint", "notices", "size"):
                assert getattr(found, name) == getattr(whole, name), name
            return found

        for i, row in enumerate(more):
            append(path, row)
            found = same(found, path)
            if i % 2:
                Log.open(path).forget(str(i))
                found = same(found, path)
        Log.open(path).undo()
        assert len(same(found, path).ops) == 3


def test_only_new_rows_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decoded for an append does not depend on the size of the log."""
    decoded: list[int] = []
    plain = BlockReader.__iter__

    def noted(self: BlockReader) -> Any:
        for block in plain(self):
            decoded.append(len(block.rows))
            yield block

    for count in (10, 5000):
        path = log_of(tmp_path / f"{count}.jsonl", *(user(f"line {i} " + "word " * 40) for i in range(count)))
        found = read(path)
        append(path, answer("hi"))
        with monkeypatch.context() as patched:
            patched.setattr(BlockReader, "__iter__", noted)
            decoded.clear()
            assert read_on(found).status.inside == count + 1
        assert decoded == [1]


def test_half_a_record_waits_for_its_end(tmp_path: Path) -> None:
    """A record that is being written counts when it is whole, once."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    found = read(path)
    line = json.dumps(answer("hi")).encode() + b"\n"
    with path.open("ab", buffering=0) as file:
        file.write(line[:20])
        found = read_on(found)
        assert found.status.inside == 1
        file.write(line[20:])
        found = read_on(found)
    assert (read_on(found).status.inside, found.status.damaged) == (2, 0)


def test_new_ops_beside_a_log(tmp_path: Path) -> None:
    """They are noticed without an append, and so is their end."""
    claude = Claude()
    path = log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=50))
    found = read(path)
    assert not found.has_new_ops()
    op = Log.open(path).mark("here")
    assert op is not None and found.has_new_ops()
    found = read_on(found)
    assert (found.ops, found.has_new_ops()) == ({op.id: "mark"}, False)
    (tmp_path / "s.jsonl.ctxkit/ops.jsonl").unlink()
    assert found.has_new_ops()
    found = read_on(found)
    assert (found.ops, found.has_new_ops()) == ({}, False)


def test_what_happened_to_a_log(tmp_path: Path) -> None:
    """It grew, or other bytes stand where reading would go on, or it is shorter, or another file."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    found, before = read(path), path.read_bytes()
    append(path, user("more"))
    assert found.replacement() is None
    path.write_bytes(before.replace(b"hello", b"HELLO") + before)
    assert found.replacement() == "rewritten"
    os.truncate(path, 10)
    assert found.replacement() == "truncated"
    os.replace(log_of(tmp_path / "other", user("hello")), path)
    assert found.replacement() == "replaced"


def test_where_it_is_read_whole_again(tmp_path: Path) -> None:
    """A file without a message yet, one JSON text, and where much was appended at once."""
    for content in ("", '[{"role":"user","content":"hi"}]\n'):
        path = tmp_path / "log.jsonl"
        path.write_text(content)
        assert not read(path).can_go_on(size(path))
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    found = read(path)
    assert [found.can_go_on(size(path) + more) for more in (MUCH, MUCH + 1)] == [True, False]


def test_mistakes_of_the_config_are_notices(tmp_path: Path) -> None:
    """A wrong key does not end the reading; a change of a config file is seen."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    before = read(path).files
    (tmp_path / "ctxkit.toml").write_text("limit = 'much'\n")
    found = read(path)
    assert any("limit must be" in notice for notice in found.notices)
    assert found.files == config_files(path) != before


def test_a_config_that_changes_during_a_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files are those from before, so that the change is seen afterwards."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))

    def opened(*given: Any, **named: Any) -> AppendableLog:
        found = AppendableLog.open(*given, **named)
        (tmp_path / "ctxkit.toml").write_text("limit = 500\n")
        return found

    monkeypatch.setattr("ctxkit.watch.reading.AppendableLog", SimpleNamespace(open=opened))
    assert read(path).files != config_files(path)


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """A log that is let go of is closed, also where it was read on, and where reading fails."""
    path = log_of(tmp_path / "a.jsonl", Claude().user("hello"))
    other = tmp_path / "b.jsonl"
    other.write_text("no log\n")
    read(path)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        read_on(read_on(read(path)))
        with pytest.raises(CtxkitError):
            read(other)
    assert not before or len(os.listdir("/proc/self/fd")) <= before + 1
