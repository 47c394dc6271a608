"""A pattern that backtracks for ever is stopped; an honest one is not."""

from __future__ import annotations

import json
import time
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


def test_many_slow_messages_are_one_slow_pattern(tmp_path: Path) -> None:
    """The deadline is for the command: messages that each stay below it do not add up to ten times as much."""
    log = log_of(tmp_path, *["a" * 21 + "!"] * 200)
    log.limit = Deadline(EVIL, 0.2)
    began = time.process_time()
    with pytest.raises(BadPattern, match="too slow"):
        log.forget(grep=EVIL)
    assert time.process_time() - began < 20  # each takes some tenths of a second: all of them a minute


def test_the_timer_is_off_after_a_selection(tmp_path: Path) -> None:
    """Nothing goes off later, while the op is appended."""
    import signal

    log = log_of(tmp_path, "one", "two")
    log.limit = Deadline("two", 5)
    assert log.forget(grep="two") is not None
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
