"""cat: a log byte for byte, its sidecar's ops merged in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import FOREIGN, SMALL, good, lines, numbers, shown, small


def test_native(tmp_path: Path) -> None:
    """A native log holds its ops: the same as plain cat."""
    path = small(tmp_path, marks=["a"])
    assert good("cat", path).out == path.read_bytes()


@pytest.mark.parametrize(
    "raw", [b"", b"\x00" * 9 + SMALL, b'{"garb', SMALL.rstrip(b"\n"), SMALL.replace(b"\n", b"\r\n")]
)
def test_bytes_stay(raw: bytes) -> None:
    """Nothing is repaired."""
    assert good("cat", "-", stdin=raw).out == raw


def test_ops_of_a_sidecar(tmp_path: Path) -> None:
    """They stand after the row that they were written after, so that a pipe gives the same context as the file."""
    path = tmp_path / "s.jsonl"
    rows = FOREIGN.splitlines(keepends=True)
    path.write_bytes(b"".join(rows[:2]))
    good("mark", path, "early")
    path.write_bytes(FOREIGN)
    good("forget", path, "2")
    out = good("cat", path).out
    assert [b'"ctxkit"' in line for line in out.splitlines()] == [False, False, True, False, True]
    assert b"".join(line for line in out.splitlines(keepends=True) if b'"ctxkit"' not in line) == FOREIGN
    assert numbers(good("show", "-", "--json", stdin=out)) == shown(path) == [1, 3]
    assert path.read_bytes() == FOREIGN


def test_torn_end(tmp_path: Path) -> None:
    """An op never joins a line that was cut off."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN + b'{"type":"user","uu')
    good("mark", path)
    out = good("cat", path).out
    assert out.startswith(FOREIGN + b'{"type":"user","uu\n{"ctxkit"') or out.startswith(FOREIGN + b'{"ctxkit"')
    assert numbers(good("show", "-", "--json", stdin=out)) == [1, 2, 3]


def test_a_log_that_does_not_fit(tmp_path: Path) -> None:
    """cat looks at no op: what is there is printed."""
    path = tmp_path / "m.jsonl"
    op = {"ctxkit": "mark", "v": 1, "id": "m1", "at": {"messages": 9, "rows": 9}}
    path.write_bytes(SMALL + lines(op | {"at": {"messages": 99, "rows": 99}}))
    assert good("cat", path).out == path.read_bytes()
