"""Pinning: a context in less than 1 KB, whatever it consists of."""

from __future__ import annotations

from io import BytesIO
from itertools import count
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.snapshot import SMALL
from ctxkit.core.times import iso
from ctxkit.errors import Usage
from ctxkit.snapshots.context_reference import first_rows, moment, rows_digests
from ctxkit.snapshots.restore import loaded
from ctxkit.snapshots.snapshot import keep, prefix
from tests.cli.runner import FOREIGN, lines, message
from tests.cli.runner import SMALL as CHAT
from tests.lawful import NOW


def file(folder: Path, content: bytes = CHAT, name: str = "log.jsonl", clock: float = NOW) -> Log:
    """A log in a file, as of a clock that stands still."""
    path = folder / name
    if not path.exists():
        path.write_bytes(content)
    return Log.open(path, clock=lambda: clock)


def test_always_small(tmp_path: Path) -> None:
    """What is long is left out, numbers first; what cannot be is refused."""
    records = [message("user", "a", n, agent=f"agent number {n} of many") for n in range(400)]
    log = file(tmp_path, lines(*records), "n" * 200 + ".jsonl")
    log.forget(list(range(2, 400, 3)))
    log.config = log.config.given({"window.default": "7d", **{f"agents.a{n}.window": "7d" for n in range(90)}})
    was = keep(log)
    point = log.checkpoint("l" * 100)
    assert point is not None and point.path.stat().st_size < SMALL
    assert not {"numbers", "windows"} & set(point.kept.body) and point.kept.head.log is not None
    assert list(loaded(log, "l" * 100).messages) == list(was.messages)
    with pytest.raises(Usage, match="the label is too long for a checkpoint"):
        log.checkpoint("é" * 200)
    with pytest.raises(Usage, match="a label is one line"):
        log.checkpoint("a\nb")


@pytest.mark.parametrize("content", [CHAT, FOREIGN, CHAT.replace(b"\n", b"\nnoise\n\n"), CHAT[:-1]])
def test_one_digest_of_rows(tmp_path: Path, content: bytes) -> None:
    """A checkpoint's is that of a snapshot, also with gaps between rows: `check` compares both with the log."""
    log = file(tmp_path, content)
    assert rows_digests(log, first_rows(log.messages)) == [prefix(log, len(log.messages))]


def test_tokens_where_they_are_known(tmp_path: Path) -> None:
    """compact counts them anyway; nothing is counted for a clear, which is of a later second."""
    ticks = count(int(NOW))
    log = file(tmp_path)
    log.clock = lambda: float(next(ticks))
    log.compact("2-6", summary="short", keep_steps=0, force=True)
    counted = log.snapshots()[0].tokens
    assert counted is not None and counted == keep(log.seen_at("1^")).head.tokens
    log.clear()
    assert log.snapshots()[0].tokens is None


def test_what_age_counts_from() -> None:
    """CTXKIT_NOW where it is a time; a time in a file stands still, and is no clock."""
    env = {"HOME": "/nonexistent"}
    for given_, expected in (("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"), ("wall", iso(NOW)), ("last", iso(NOW))):
        log = Log.open(BytesIO(CHAT), env={**env, "CTXKIT_NOW": given_})
        assert iso(moment(log.config, lambda: NOW)) == expected
    log.config = log.config.given({"now": "2026-03-01T00:00:00Z"})
    assert moment(log.config, lambda: NOW) == NOW
