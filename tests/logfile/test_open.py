"""A log that was opened: content, text, now, looking back."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.messages import Call, Text
from ctxkit.errors import BadTime, NoSuchOp, UnknownAgent, UnknownOp
from tests.build import lines
from tests.cli.runner import SMALL


def opened(raw: bytes, **more: object) -> Log:
    """A log from bytes; `more`: attributes to set."""
    log = Log.open(io.BytesIO(raw), env={"HOME": "/nonexistent"}, clock=lambda: 1770000000.0)
    for key, value in more.items():
        setattr(log, key, value)
    return log


def test_content_is_read_again() -> None:
    """Message n in full, with its calls and results; its words are what --grep sees."""
    log = opened(SMALL)
    assert [type(part) for part in log.content(3).parts] == [Text, Call]
    assert log.content(4).role == "tool"
    assert log.text(3) == 'looking\nRead\n{"path": "a.py"}' and log.text(4) == "print(1)"


def test_now() -> None:
    """last: the newest time in the log; wall: the clock; or a time; the words say which."""
    raw = lines("1-3")
    assert (opened(raw).now_seconds(), opened(raw).now_name()) == (None, "last (2026-02-01T10:03:00Z)")
    assert opened(raw, now="wall").now_seconds() == 1770000000
    assert opened(raw, now="2026-02-01T00:00:00Z").now_name() == "2026-02-01T00:00:00Z"
    assert opened(b"").now_name() == "last (no message has a time)"
    assert opened(b"").reference() == 1770000000
    with pytest.raises(BadTime):
        opened(raw, now="soon").now_seconds()


def test_now_of_the_environment() -> None:
    """CTXKIT_NOW, where nothing was typed."""
    log = Log.open(io.BytesIO(lines("1")), env={"CTXKIT_NOW": "2026-03-01T00:00:00Z", "HOME": "/nonexistent"})
    assert log.now_name() == "2026-03-01T00:00:00Z"


def test_looking_back() -> None:
    """The messages and ops up to an op; undos after it do not count."""
    raw = lines("1-3 | forget 2 | 4-5 | undo @1")
    assert [int(str(n)) for n in opened(raw).names()] == [1, 2, 3, 4, 5]
    assert [int(str(n)) for n in opened(raw, at="1").names()] == [1, 3]
    assert len(opened(raw, at="1").state().messages) == 3
    with pytest.raises(NoSuchOp):
        opened(raw, at="9").state()


def test_unknown() -> None:
    """An agent that no message has; an op that this ctxkit does not know."""
    with pytest.raises(UnknownAgent):
        list(opened(SMALL, lens_agent="sam").entries())
    opened(SMALL).known_ops()
    with pytest.raises(UnknownOp):
        opened(SMALL + b'{"ctxkit":"frobnicate","id":"x1","at":{"messages":11}}\n').known_ops()


def test_answered() -> None:
    """Calls whose result stands anywhere."""
    assert opened(SMALL).answered == {"c1", "c2"}


def test_path_without_home(tmp_path: Path) -> None:
    """A log needs neither a home nor a config."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(SMALL)
    assert len(Log.open(path, env={}).messages) == 11


def test_agents_beside_a_log(tmp_path: Path) -> None:
    """Only of a format whose program keeps them so, and of a file."""
    from tests.formats.claude_code import logs as claude

    raw = claude.log(claude.user("q", None, "words"))
    (tmp_path / "one/subagents").mkdir(parents=True)
    (tmp_path / "one/subagents/agent-a.jsonl").write_bytes(raw)
    (tmp_path / "one.jsonl").write_bytes(raw)
    assert Log.open(tmp_path / "one.jsonl").agents() == {"a": tmp_path / "one/subagents/agent-a.jsonl"}
    assert Log.open(tmp_path / "one/subagents/agent-a.jsonl").agents() == {}
    assert Log.open(io.BytesIO(raw)).agents() == {}
    (tmp_path / "one.jsonl").write_bytes(b'{"role": "user", "content": "words"}\n')
    assert Log.open(tmp_path / "one.jsonl").agents() == {}
