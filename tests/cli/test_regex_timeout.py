"""A pattern that backtracks for ever is stopped; an honest one is not."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.cli import regex_timeout
from ctxkit.cli.regex_timeout import RegexTimeout
from ctxkit.errors import BadPattern
from tests.cli.runner import ctxkit

EVIL = "(a+)+$"


def log_of(tmp_path: Path, *texts: str) -> Log:
    """A log of user messages."""
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in texts))
    return Log.open(path)


def test_a_runaway_pattern_is_stopped(tmp_path: Path) -> None:
    """It is an error of the pattern, and the log stays as it was."""
    log = log_of(tmp_path, "a" * 40 + "!")
    log.limit = RegexTimeout(EVIL, 0.2)
    before = (tmp_path / "chat.jsonl").read_bytes()
    with pytest.raises(BadPattern, match="too slow"):
        log.forget(grep=EVIL)
    assert (tmp_path / "chat.jsonl").read_bytes() == before


def test_many_slow_messages_are_one_slow_pattern(tmp_path: Path) -> None:
    """The deadline is for the command: messages that each stay below it do not add up to ten times as much."""
    log = log_of(tmp_path, *["a" * 21 + "!"] * 200)
    log.limit = RegexTimeout(EVIL, 0.2)
    began = time.process_time()
    with pytest.raises(BadPattern, match="too slow"):
        log.forget(grep=EVIL)
    assert time.process_time() - began < 20  # each takes some tenths of a second: all of them a minute


def test_searches_that_are_slow_in_small_add_up(tmp_path: Path) -> None:
    """Each far below what a large text may take: a thousand of them are one slow pattern all the same."""
    log = log_of(tmp_path, *["a" * 15 + "!"] * 1000)
    log.limit = RegexTimeout(EVIL, 0.2)
    with pytest.raises(BadPattern, match="too slow"):
        log.forget(grep=EVIL)


def test_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search takes beyond an honest one of its size; reading between two searches does not."""
    now = [0.0]
    monkeypatch.setattr(regex_timeout, "thread_time", lambda: now[0])
    limit = RegexTimeout("x", 0.1)

    def search(size: int, took: float) -> None:
        limit.restart(size)
        now[0] += took
        limit.stop()
        now[0] += 60

    for _ in range(1000):
        search(50, 0.00002)
    search(10_000_000, 0.9)
    for _ in range(20):
        search(50, 0.00503)
    search(50, 0.004)
    with pytest.raises(BadPattern):
        search(50, 0)


def test_one_deadline_for_all_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`recall` over a folder: many logs with a slow message each are one slow pattern, which is said once."""
    monkeypatch.setattr(RegexTimeout.__init__, "__defaults__", (0.2,))
    for n in range(60):
        (tmp_path / f"{n}.jsonl").write_text(json.dumps({"role": "user", "content": "a" * 18 + "!"}) + "\n")
    for words in (("--regex", "-e", EVIL), ("a", "--grep", EVIL)):
        ran = ctxkit("recall", tmp_path, *words)
        assert ran.code == 2
        assert ran.err.count("too slow") == 1


def test_the_timer_is_off_after_a_selection(tmp_path: Path) -> None:
    """Nothing goes off later, while the op is appended."""
    import signal

    log = log_of(tmp_path, "one", "two")
    log.limit = RegexTimeout("two", 5)
    assert log.forget(grep="two") is not None
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
