"""Shares add up, and files are told by what calls touch them."""

from __future__ import annotations

import io
from typing import Any, get_args

import pytest

from ctxkit.counting import Counting
from ctxkit.log import Log
from ctxkit.shares import By, Shares, Touched
from tests.cli.runner import SMALL, lines
from tests.test_trimming import step


def edited() -> Log:
    """A file that is read, edited and read again, another one read once, and a command."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    calls = [("Read", "a.py"), ("Read", "b.py"), ("Edit", "a.py"), ("Read", "a.py")]
    for n, (tool, path) in enumerate(calls):
        rows += step(n, tool, {"file_path": path}, f"text {n} " * 50)
    rows += step(9, "bash", {"command": "make"}, "ok")
    return Log.open(io.BytesIO(lines(*rows)), env={})


@pytest.mark.parametrize("kind", get_args(By))
def test_they_add_up(kind: By) -> None:
    """Each message is in one share, whatever they are shared out by; the largest come first, but for exchanges."""
    for log in (Log.open(io.BytesIO(SMALL), env={}), edited()):
        found = Shares(log).by(kind)
        assert sum(share.tokens for share in found) == Counting(log).of(log.names())
        assert sum(share.messages for share in found) == len(log.names())
        if kind != "exchange":
            assert [share.tokens for share in found] == sorted((share.tokens for share in found), reverse=True)


def test_what_they_are_called() -> None:
    """By role, tool of the call or result, opening message, path."""
    shares = Shares(edited())
    assert {share.what for share in shares.by("role")} == {"user", "assistant", "tool"}
    assert {share.what: share.messages for share in shares.by("tool")} == {
        "Read": 6,
        "Edit": 2,
        "bash": 2,
        "(no tool)": 1,
    }
    assert [(share.what, share.first) for share in shares.by("exchange")] == [("from 1", "1")]
    assert {share.what: share.messages for share in shares.by("file")} == {"a.py": 6, "b.py": 2, "(no file)": 3}


def test_largest() -> None:
    """By their number."""
    found = Shares(edited()).largest(2)
    assert [share.what for share in found] == ["tool", "tool"] and found[0].tokens >= found[1].tokens > 100


def test_files() -> None:
    """Newest touch first; a read is superseded by whatever touches the file later."""
    shares = Shares(edited())
    a, b = shares.files()
    assert (a.path, a.reads, a.writes, a.last, a.superseded) == ("a.py", ["2", "8"], ["6"], "8", ["2"])
    assert b == Touched("b.py", ["4"], [], "4", shares.tokens[4] + shares.tokens[5], [])
    assert a.tokens == sum(shares.tokens[n] for n in (2, 3, 6, 7, 8, 9))
