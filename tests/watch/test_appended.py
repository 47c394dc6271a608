"""What was appended since a full reading."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.store.source import Source
from ctxkit.watch import appended
from ctxkit.watch.appended import Rewritten, RunningFigures, ops_beside, read_appended
from ctxkit.watch.full_reading import read_fully
from tests.watch.running import Claude, answer, append, calling, log_of, result, user


def seen(path: Path) -> tuple[Any, RunningFigures]:
    """A full reading, and the figures after it."""
    found = read_fully(path)
    return found, RunningFigures.of(found)


def test_native_messages_are_added(tmp_path: Path) -> None:
    """After each append, messages, tokens and whose turn it is are those of a full reading."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    found, running = seen(path)
    for row in (user("read it"), calling("c1", "Read", path="a.py"), result("c1", "x = 1\n" * 50), answer("It is 1.")):
        append(path, row)
        assert read_appended(running, found) == []
        whole = read_fully(path)
        assert (running.used, running.messages) == (whole.status.tokens.used, whole.status.inside)
        assert (running.turns.waits_for, running.recount) == (whole.turns.waits_for, False)


def test_the_provider_s_count_is_taken(tmp_path: Path) -> None:
    """A reply of Claude Code says how large its request was: the estimate before it does not count any more."""
    claude = Claude()
    path = log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=5000))
    found, running = seen(path)
    append(path, claude.user("word " * 3000))
    read_appended(running, found)
    assert running.used is not None and running.used > 7000
    append(path, claude.says("Yes.", used=6000))
    read_appended(running, found)
    whole = read_fully(path).status.tokens.used
    assert whole is not None and abs(running.used - whole) <= 20


def test_only_new_bytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read for an append does not depend on the size of the log."""
    read: list[int] = []
    plain = Source.read

    def noted(self: Source, offset: int, size: int) -> bytes:
        piece = plain(self, offset, size)
        read.append(len(piece))
        return piece

    sums = []
    for count in (10, 5000):
        path = log_of(tmp_path / f"{count}.jsonl", *(user(f"line {i} " + "word " * 40) for i in range(count)))
        found, running = seen(path)
        append(path, answer("hi"))
        monkeypatch.setattr(Source, "read", noted)
        read.clear()
        read_appended(running, found)
        monkeypatch.setattr(Source, "read", plain)
        sums.append(sum(read))
    assert sums[1] <= sums[0] + (64 << 10)  # the digest of the end of a file is that of 64 KiB


def test_half_a_record_waits_for_its_end(tmp_path: Path) -> None:
    """A record that is being written counts when it is whole, once."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    found, running = seen(path)
    line = json.dumps(answer("hi")).encode() + b"\n"
    with path.open("ab", buffering=0) as file:
        file.write(line[:20])
        read_appended(running, found)
        assert running.messages == 1
        file.write(line[20:])
        read_appended(running, found)
    read_appended(running, found)
    assert running.messages == 2


def test_ops_are_told_and_a_look_is_due(tmp_path: Path) -> None:
    """In the log itself, and in the sidecar of a log that another program owns."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    found, running = seen(path)
    op = Log.open(path).forget("1")
    assert op is not None
    assert [(one.id, one.name) for one in read_appended(running, found)] == [(op.id, "forget")]
    assert running.recount

    claude = Claude()
    path = log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=50))
    found, running = seen(path)
    assert ops_beside(running, found) == []
    op = Log.open(path).mark("here")
    assert op is not None
    assert (read_appended(running, found), running.recount) == ([], False)
    assert [(one.id, one.name) for one in ops_beside(running, found)] == [(op.id, "mark")]
    assert running.recount
    assert ops_beside(running, found) == []


def test_a_log_that_was_rewritten(tmp_path: Path) -> None:
    """Shorter, or with other bytes before the place where reading goes on: that is no append."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    found, running = seen(path)
    before = path.read_bytes()
    path.write_bytes(before.replace(b"hello", b"HELLO") + before)
    with pytest.raises(Rewritten):
        read_appended(running, found)
    os.truncate(path, 10)
    with pytest.raises(Rewritten):
        read_appended(running, found)


def test_much_at_once_is_left_to_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than LARGEST bytes are not read here: a full reading is due."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    found, running = seen(path)
    monkeypatch.setattr(appended, "LARGEST", 100)
    append(path, user("word " * 100))
    assert (read_appended(running, found), running.recount, running.messages) == ([], True, 1)
