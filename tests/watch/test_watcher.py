"""The watcher as a real process, with real writers."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from ctxkit.api.log import Log
from ctxkit.errors import ExitCode
from ctxkit.watch import claims
from tests.cli.runner import ctxkit
from tests.homes import dashes
from tests.watch.running import HANGS, Claude, Watching, answer, append, calling, log_of, result, user
from tests.watch.test_followed import full


def programs(path: Path) -> list[str]:
    """The command lines of all processes that name a file."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(one.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [words for words in found if str(path) in words]


def test_two_formats_grow(tmp_path: Path) -> None:
    """Each append to a native log and to one of Claude Code is an event with the figures as they are then."""
    claude = Claude()
    native = log_of(tmp_path / "chat.jsonl", user("hello"))
    foreign = log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=1000))
    with Watching(native, foreign) as watching:
        watching.event("status.changed", log=str(native), messages=1)
        watching.event("status.changed", log=str(foreign), messages=2, waits_for="user")
        append(native, answer("hi"), user("go on"), calling("c1", "Bash", command="ls"))
        told = watching.event("status.changed", log=str(native), messages=4)
        assert (told["waits_for"], told["tools"], told["format"]) == ("tool", ["Bash"], "chat")
        append(native, result("c1", "a.py"))
        assert watching.event("status.changed", log=str(native), messages=5)["waits_for"] == "model"
        append(foreign, claude.user("more"), claude.says("yes", used=120_000))
        told = watching.event("status.changed", log=str(foreign), messages=4)
        assert (told["limit"], told["level"], told["used"] >= 120_000) == (200_000, "green", True)
        assert watching.end() == 128 + signal.SIGTERM
    last = [one for one in watching.events if one["log"] == str(native)][-1]
    assert last["used"] == Log.open(native).status().tokens.used
    assert watching.errors == ""


def test_two_watchers(tmp_path: Path) -> None:
    """The second says who holds the log, and looks on; when the first ends, it is the one who acts."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    with Watching(path) as first:
        first.event("status.changed")
        with Watching(path) as second:
            second.event("status.changed")
            assert second.until(lambda: f"another watcher (pid {first.run.pid}, since" in second.errors)
            append(path, answer("hi"))
            for one in (first, second):
                one.event("status.changed", messages=2)
            first.end()
            end = time.monotonic() + 30
            while not (isinstance(held := claims.claim(path, os.environ), claims.Note) and held.pid == second.run.pid):
                if isinstance(held, claims.Claim):
                    held.release()
                assert time.monotonic() < end
                time.sleep(0.2)
        assert "ended.abnormally" not in [one["event"] for one in second.events]


def test_a_watcher_that_was_killed(tmp_path: Path) -> None:
    """The next one says so, once, with the newest checkpoint and the command to type."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    kept = Log.open(path).checkpoint("before")
    assert kept is not None
    os.utime(path, (time.time() - 3600,) * 2)
    with Watching(path) as first:
        first.event("status.changed")
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    with Watching(path) as second:
        told = second.event("ended.abnormally")
        assert (told["pid"], told["compacting"], told["at_work"]) == (first.run.pid, False, None)
        assert told["remedy"] == f"ctxkit recover {path}"
        assert told["checkpoint"]["label"] == "before"
        second.event("status.changed")
        second.end()
    with Watching(path) as third:
        third.event("status.changed")
    assert [one["event"] for one in third.events] == ["status.changed"]


def test_new_sessions_of_a_project(tmp_path: Path) -> None:
    """A session that appears in an agent's folder is followed, one of another project is not."""
    here, home = tmp_path / "here", Path(os.environ["HOME"])
    (here / ".git").mkdir(parents=True)
    folder = home / ".claude/projects"
    folder.mkdir(parents=True)
    before = os.getcwd()
    os.chdir(here)
    try:
        watching = Watching("--here")
    finally:
        os.chdir(before)
    with watching:
        for name, cwd in (("other", "/elsewhere"), ("mine", str(here))):
            claude = Claude(cwd)
            place = folder / dashes(cwd)
            place.mkdir(exist_ok=True)
            log_of(place / f"{name}.jsonl", claude.user("hello"), claude.says("hi", used=1000))
        told = watching.event("status.changed")
        assert told["log"].endswith("mine.jsonl")
        append(Path(told["log"]), claude.user("more"))
        watching.event("status.changed", log=told["log"], messages=3)
    assert {one["log"] for one in watching.events} == {told["log"]}


def test_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """Not without --compact or `compact.auto`; not by a watcher that looks on; not while a call is open."""
    path = full(tmp_path / "chat.jsonl")
    with Watching(path) as watching:
        watching.event("status.changed", level="red")
        with Watching("--compact", path) as second:
            second.event("status.changed", level="red")
            append(path, user("go"), calling("c1", "Bash", command="make"))
            watching.event("status.changed", waits_for="tool")
            second.event("status.changed", waits_for="tool")
            watching.end()
            (tmp_path / "ctxkit.toml").write_text("limit = 5000\n")
            second.event("status.changed", limit=5000)
            assert "compaction.started" not in [one["event"] for one in second.events]
            append(path, result("c1", "done"), answer("It is made."))
            second.event("compaction.done")
    assert "compaction.started" not in [one["event"] for one in watching.events]


def test_killed_in_the_middle_of_a_compaction(tmp_path: Path) -> None:
    """The log is whole, the next watcher says what happened, and `recover` offers the newest checkpoint."""
    path = full(tmp_path / "chat.jsonl", 400, 60_000)
    kept = Log.open(path).checkpoint("before")
    assert kept is not None
    append(path, user("without an answer"))
    before = path.read_bytes()
    os.utime(path, (time.time() - 3600,) * 2)
    with Watching("--compact", path) as first:
        first.event("compaction.started")
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    end = time.monotonic() + HANGS
    while (there := any("ctxkit.watch.compaction" in one for one in programs(path))) and time.monotonic() < end:
        time.sleep(0.01)
    assert not there, "its compaction goes on"
    assert path.read_bytes() == before
    assert ctxkit("check", path).code == ExitCode.DONE
    with Watching(path) as second:
        told = second.event("ended.abnormally")
        assert (told["pid"], told["compacting"], told["at_work"]) == (first.run.pid, True, None)
        second.event("status.changed")
    found = ctxkit("recover", path)
    assert "checkpoint: [" in found.text + found.err
