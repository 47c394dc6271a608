"""A pattern that backtracks for ever is stopped; an honest one is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxkit.cli.deadline import Deadline
from ctxkit.errors import BadPattern
from ctxkit.log import Log

EVIL = "(a+)+$"


def log_of(tmp_path: Path, *texts: str) -> Log:
    """A log of user messages."""
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in texts))
    return Log.open(path)


def test_a_runaway_pattern_is_stopped(tmp_path: Path) -> None:
    """It is an error of the pattern, and the log stays as it was."""
    log = log_of(tmp_path, "a" * 40 + "!")
    log.limit = Deadline(EVIL, 0.2)
    before = (tmp_path / "chat.jsonl").read_bytes()
    with pytest.raises(BadPattern, match="too slow"):
        log.forget(grep=EVIL)
    assert (tmp_path / "chat.jsonl").read_bytes() == before


def test_the_timer_is_off_after_a_selection(tmp_path: Path) -> None:
    """Nothing goes off later, while the op is appended."""
    import signal

    log = log_of(tmp_path, "one", "two")
    log.limit = Deadline("two", 5)
    assert log.forget(grep="two") is not None
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
