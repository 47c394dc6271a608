"""ctxkit watch: what is printed, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from ctxkit.errors import ExitCode
from tests.cli.runner import ctxkit
from tests.watch.running import Watching, answer, append, calling, log_of, result, user


def test_one_round(tmp_path: Path) -> None:
    """A line for each log, or an object, and the end."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    ran = ctxkit("watch", "--once", path)
    assert (ran.code, ran.err) == (ExitCode.DONE, "")
    assert ran.text.endswith("chat.jsonl: 14 tokens, waits for the user\n")
    [told] = ctxkit("watch", "--once", "--json", path).values
    assert (told["event"], told["messages"], told["counted"]) == ("status.changed", 2, True)


def test_nothing_to_watch(tmp_path: Path) -> None:
    """A log that is not there, several ways to say which, and a round without any session."""
    assert ctxkit("watch", tmp_path / "none.jsonl").code == ExitCode.NO_LOG
    assert ctxkit("watch", "--here", "--all").code == ExitCode.USAGE
    assert ctxkit("watch", "-").code == ExitCode.USAGE
    assert ctxkit("watch", tmp_path, "--all").code == ExitCode.USAGE
    assert ctxkit("watch", "--once", "--all").code == ExitCode.NO


def test_lines_in_a_pipe(tmp_path: Path) -> None:
    """Without --json each event is a line in words; Ctrl-C ends it, and leaves no note."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    with Watching(path, json=False) as watching:
        assert watching.until(lambda: len(watching.lines) >= 1)
        append(path, answer("hi"))
        assert watching.until(lambda: any("waits for the user" in line for line in watching.lines))
        assert watching.end(signal.SIGINT) == 128 + signal.SIGINT
    state = Path(os.environ["HOME"]) / ".local/state/ctxkit/watch"
    assert list(state.iterdir()) == []


def test_warnings_in_structured_logs(tmp_path: Path) -> None:
    """Each has its reason and the digest of its log, which the token log has too; no path and no text."""
    path, other = log_of(tmp_path / "chat.jsonl", user("hello")), log_of(tmp_path / "other.jsonl", user("hi"))
    (tmp_path / "chat.jsonl.ctxkit").mkdir()
    (tmp_path / "chat.jsonl.ctxkit/snapshots").write_text("a file")
    (tmp_path / "chat.jsonl.ctxkit/config.toml").write_text("limt = 5\n")
    with Watching("--log-format", "json", "--checkpoint", path, other) as watching:
        watching.event("status.changed", log=str(path))
        watching.event("status.changed", log=str(other))
        append(path, user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done"))
        other.write_text("no log\n")
        assert watching.until(lambda: watching.errors.count("\n") >= 3)
    found = {one["reason"]: one for one in map(json.loads, watching.errors.splitlines())}
    assert found["config"]["event"] == "warning" and found["checkpoint-failed"]["event"] == "checkpoint"
    digests = [found[reason]["log"] for reason in ("config", "checkpoint-failed", "unknown-format")]
    assert digests[0] == digests[1] != digests[2] and None not in digests
    assert str(tmp_path) not in watching.errors and found["unknown-format"]["code"] == ExitCode.REFUSED


def test_the_terminal_of_a_reader_that_left(tmp_path: Path) -> None:
    """A pipe that nobody reads any more ends it quietly."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    with Watching(path) as watching:
        watching.event("status.changed")
        assert watching.run.stdout is not None
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, watching.run.stdout.fileno())
        os.close(null)
        end = time.monotonic() + 30
        while watching.run.poll() is None and time.monotonic() < end:
            append(path, answer("hi"))
            time.sleep(0.1)
        assert watching.run.returncode == 128 + signal.SIGPIPE
    assert watching.errors == ""
