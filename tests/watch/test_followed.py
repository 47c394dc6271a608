"""One log that is followed: what is told of it, and what is done by itself."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.watch import claims, followed
from ctxkit.watch.events import StatusChanged
from ctxkit.watch.followed import AGAIN
from tests.cli.runner import ctxkit
from tests.compressed import pack
from tests.watch.running import Claude, Watched, Watching, answer, append, calling, log_of, result, user


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


def test_a_first_reading_that_took_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Watched]
) -> None:
    """What is appended after it is told at once: it costs far less."""
    monkeypatch.setattr(followed, "APART", 1e6)
    one = watched(path := log_of(tmp_path / "chat.jsonl", user("hello")))
    one.until(lambda: one.messages() == [1])
    append(path, answer("hi"))
    one.until(lambda: one.messages() == [1, 2])


def test_the_next_exchange_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, watched: Callable[..., Watched]
) -> None:
    """The one before it gets its checkpoint then, also if it had not settled; each event says how late it is."""
    monkeypatch.setattr(followed, "SETTLED", 1e6)
    one = watched(path := log_of(tmp_path / "chat.jsonl", user("hello"), answer("hi")), checkpoints=True)
    one.until(lambda: one.messages() == [2])
    append(path, user("write"), calling("c1", "Write", path="a.py"), result("c1", "ok"), answer("done"))
    one.until(lambda: one.messages()[-1] == 6)
    append(path, user("more"))
    one.until(lambda: one.made() == ["a.py written"])
    first, *later = [event for event in one.events if isinstance(event, StatusChanged) and event.checkpoint is None]
    assert first.lag is None and all(event.lag is not None for event in later)
