"""The watcher as a real process, with real writers."""

from __future__ import annotations

import json
import os
import signal
import time
from datetime import datetime
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import ExitCode
from ctxkit.watch import claims
from ctxkit.watch.processes import holders
from ctxkit.watch.watcher import AGAIN
from tests.cli.runner import ctxkit
from tests.compressed import pack
from tests.homes import dashes
from tests.watch.running import HANGS, Claude, Watching, answer, append, calling, log_of, result, user


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


def test_colours_at_the_limits(tmp_path: Path) -> None:
    """Green, yellow and red as `status` has them."""
    claude = Claude()
    path = log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=1000))
    with Watching(path) as watching:
        watching.event("status.changed", level="green")
        for used, level in ((145_000, "yellow"), (171_000, "red")):
            append(path, claude.user("more"), claude.says("yes", used=used))
            watching.event("status.changed", level=level)


@pytest.mark.parametrize("how", ["replaced", "truncated", "rewritten", "removed"])
def test_a_log_that_is_no_longer_the_same(tmp_path: Path, how: str) -> None:
    """It is told of, and read anew from its start."""
    path = log_of(tmp_path / "chat.jsonl", user("one"), user("two"), user("three"))
    with Watching(path) as watching:
        watching.event("status.changed", messages=3)
        if how == "replaced":
            other = log_of(tmp_path / "other", user("one"), user("two"))
            os.replace(other, path)
        elif how == "truncated":
            os.truncate(path, path.read_bytes().index(b"\n") + 1)
        elif how == "rewritten":
            path.write_bytes(path.read_bytes().replace(b"three", b"third") + b'{"role":"user","content":"four"}\n')
        else:
            path.unlink()
        watching.event("log.replaced", log=str(path), how=how)
        if how == "removed":
            log_of(path, user("again"))
        told = watching.event("status.changed", after=2)
        assert told["messages"] == {"replaced": 2, "truncated": 1, "rewritten": 4, "removed": 1}[how]
        append(path, answer("and on"))
        watching.event("status.changed", messages=told["messages"] + 1)


def test_a_session_that_is_one_json_text(tmp_path: Path) -> None:
    """Its program writes the file anew each time: that is how it grows, and nothing was replaced."""
    path, messages = tmp_path / "log.json", [user("hello")]
    path.write_text(json.dumps(messages))
    with Watching(path) as watching:
        watching.event("status.changed", messages=1)
        for count in (2, 3):
            messages.append(answer("hi"))
            new = tmp_path / "new"
            new.write_text(json.dumps(messages))
            os.replace(new, path)
            watching.event("status.changed", messages=count, counted=True)
    assert {one["event"] for one in watching.events} == {"status.changed"}


def test_a_compressed_session(tmp_path: Path) -> None:
    """Its size on disk says nothing of what is in it; its ops are in the sidecar of the plain name."""
    claude = Claude()
    rows = [claude.user("hello"), claude.says("hi", used=1000)]
    path = pack(log_of(tmp_path / "s.jsonl", *rows))
    with Watching(path) as watching:
        watching.event("status.changed", messages=2)
        op = Log.open(path).mark("here")
        assert op is not None
        assert watching.event("updated.elsewhere")["op"] == op.id
        (tmp_path / "new").mkdir()
        other = pack(log_of(tmp_path / "new/s.jsonl", *rows, claude.user("more")))
        os.replace(other, path)
        watching.event("status.changed", messages=3)
    assert {one["event"] for one in watching.events} == {"status.changed", "updated.elsewhere"}


def test_an_op_from_elsewhere(tmp_path: Path) -> None:
    """It is told once, with its id, and the figures are those behind it."""
    claude = Claude()
    for path in (
        log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi")),
        log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=1000)),
    ):
        with Watching(path) as watching:
            watching.event("status.changed", messages=2)
            op = Log.open(path).forget("1")
            assert op is not None
            assert watching.event("updated.elsewhere")["op"] == op.id
            watching.event("status.changed", messages=Log.open(path).status().inside)
            mark = Log.open(path).mark("here")
            assert mark is not None
            watching.event("updated.elsewhere", op=mark.id, name="mark")
            told = watching.event("status.changed", marks=["here"])
            assert told["last_op"]["name"] == "mark"
        assert [one["op"] for one in watching.events if one["event"] == "updated.elsewhere"] == [op.id, mark.id]


def test_a_config_that_changes(tmp_path: Path) -> None:
    """A new limit counts at once; a mistake is said once, and the watcher goes on."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    with Watching(path) as watching:
        watching.event("status.changed", limit=None)
        (tmp_path / "ctxkit.toml").write_text("limit = 5000\n")
        watching.event("status.changed", limit=5000)
        (tmp_path / "ctxkit.toml").write_text("limit = 6000\nlimt = 5\n")
        watching.event("status.changed", limit=6000)
        assert watching.until(lambda: "unknown key limt" in watching.errors)
        append(path, answer("hi"))
        (tmp_path / "ctxkit.toml").write_text("limit = 7000\nlimt = 5\n")
        watching.event("status.changed", limit=7000, messages=2)
    assert watching.errors.count("unknown key limt") == 1


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


def test_its_note_says_how_far_it_read(tmp_path: Path) -> None:
    """Soon after the newest of many appends, too: `metrics` tells by it what is not read yet."""
    path = log_of(tmp_path / "chat.jsonl", user("hello"))
    with Watching(path) as watching:
        watching.event("status.changed", messages=1)
        for _ in range(5):
            append(path, user("more"))
        watching.event("status.changed", messages=6)
        end = time.monotonic() + 30
        while not (isinstance(held := claims.claim(path, os.environ), claims.Note) and held.messages == 6):
            assert time.monotonic() < end
            time.sleep(0.1)
        assert held.bytes == path.stat().st_size


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


def full(path: Path, exchanges: int = 12, limit: int = 4000) -> Path:
    """A native log that is fuller than the threshold."""
    (path.parent / "ctxkit.toml").write_text(f"limit = {limit}\n")
    rows = []
    for i in range(exchanges):
        rows += [user(f"question {i} " + f"word{i} " * 80), answer(f"answer {i} " + f"reply{i} " * 80)]
    return log_of(path, *rows)


def test_a_full_context_is_compacted(tmp_path: Path) -> None:
    """In the background: appends go on, updates come meanwhile, and nothing is lost. Its op is not from elsewhere."""
    path = full(tmp_path / "chat.jsonl")
    before = path.read_bytes()
    with Watching("--compact", path) as watching:
        watching.event("compaction.started")
        append(path, user("meanwhile"), answer("yes"))
        done = watching.event("compaction.done")
        watching.event("status.changed", level="green", counted=True)
    raw = path.read_bytes()
    assert raw.startswith(before)
    log = Log.open(path)
    assert [(one.id, one.name) for one in log.ledger.entries] == [(done["op"], "compact")]
    assert log.messages[-1].role == "assistant" and len(log.messages) == 26
    assert "updated.elsewhere" not in [one["event"] for one in watching.events]
    assert [one["event"] for one in watching.events].count("compaction.started") == 1


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


def test_config_asks_for_it(tmp_path: Path) -> None:
    """`compact.auto = true` in the folder of a log; set while the watcher runs."""
    path = full(tmp_path / "chat.jsonl")
    with Watching(path) as watching:
        watching.event("status.changed", level="red")
        (tmp_path / "ctxkit.toml").write_text("limit = 4000\ncompact.auto = true\n")
        watching.event("compaction.done")


def test_a_reason_is_told_once(tmp_path: Path) -> None:
    """What cannot be condensed is told once, and not tried again and again."""
    (tmp_path / "ctxkit.toml").write_text("limit = 100\n")
    path = log_of(tmp_path / "chat.jsonl", user("word " * 200))
    with Watching("--compact", path) as watching:
        assert watching.event("compaction.skipped")["reason"] == "nothing to condense"
        append(path, answer("hi"), user("more"))
        watching.event("status.changed", messages=3)
    assert [one["event"] for one in watching.events].count("compaction.started") == 1


def test_a_call_that_comes_while_it_begins(tmp_path: Path) -> None:
    """The compaction is skipped, and made soon after the call has its result."""
    path = full(tmp_path / "chat.jsonl")
    with Watching("--compact", path) as watching:
        watching.event("compaction.started")
        append(path, user("go"), calling("c1", "Bash", command="make"))
        ends = ("compaction.done", "compaction.skipped")
        assert watching.until(lambda: any(one["event"] in ends for one in watching.events))
        first = next(one for one in watching.events if one["event"] in ends)
        append(path, result("c1", "done"), answer("It is made."))
        done = watching.event("compaction.done")
        if first["event"] == "compaction.skipped":  # else it was faster than the call
            assert first["reason"] == "open call"
            waited = datetime.fromisoformat(done["time"]) - datetime.fromisoformat(first["time"])
            assert waited.total_seconds() < AGAIN


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
    while holders(path) and time.monotonic() < end:
        time.sleep(0.01)
    assert not holders(path), "its compaction goes on"
    assert path.read_bytes() == before
    assert ctxkit("check", path).code == ExitCode.DONE
    with Watching(path) as second:
        told = second.event("ended.abnormally")
        assert (told["pid"], told["compacting"], told["at_work"]) == (first.run.pid, True, None)
        second.event("status.changed")
    found = ctxkit("recover", path)
    assert "checkpoint: [" in found.text + found.err


def test_checkpoints_by_watching(tmp_path: Path) -> None:
    """A finished exchange that wrote a file has a checkpoint with its tag; `sessions` and `recover` know it."""
    claude = Claude()
    native = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi"))
    foreign = log_of(tmp_path / "s.jsonl", claude.user("hello"), claude.says("hi", used=1000))
    with Watching("--checkpoint", native, foreign) as watching:
        for path in (native, foreign):
            watching.event("status.changed", log=str(path))
        append(native, user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done"))
        append(
            foreign, claude.user("write"), claude.calls("t1", "Write", used=1200, file_path="/work/b.py", content="1")
        )
        append(foreign, claude.result("t1", "File created"), claude.says("done", used=1300))
        for path, label in ((native, "a.py written"), (foreign, "b.py written")):
            made = watching.event("checkpoint.made", log=str(path))
            assert (made["label"], made["tags"], made["over"]) == (label, ["code"], 0)
            told = watching.event("status.changed", log=str(path), messages=6)
            assert told["waits_for"] == "user"
            [head] = Log.open(path).snapshots()
            assert (head.short, head.kind) == (made["id"], "checkpoint")
            assert [one["checkpoints"] for one in ctxkit("sessions", "--json", path).values] == [1]
    assert "checkpoint.made" not in [one["event"] for one in _without(native)]


def test_a_checkpoint_in_a_busy_session(tmp_path: Path) -> None:
    """An answer and the next prompt in one append; and a log that was empty when it was found."""
    path, empty = log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi")), log_of(tmp_path / "empty.jsonl")
    with Watching("--checkpoint", path, empty) as watching:
        for one in (path, empty):
            watching.event("status.changed", log=str(one))
            rows = user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done"), user("more")
            with one.open("ab") as file:
                file.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
            made = watching.event("checkpoint.made", log=str(one))
            assert (made["label"], made["tags"]) == ("a.py written", ["code"])


def _without(path: Path) -> list[dict[str, object]]:
    """The events of a watcher that is asked for no checkpoints."""
    with Watching(path) as watching:
        watching.event("status.changed")
        append(path, user("write"), calling("c2", "Write", path="b.py"), result("c2", "ok"), answer("done"))
        watching.event("status.changed", messages=10)
        watching.event("status.changed", messages=10, waits_for="user")
    return list(watching.events)
