"""Checkpointing: a reference of less than 1 KB, made before what replaces the context, gives exactly that context."""

from __future__ import annotations

import json
import os
import re
import time
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.checkpointing import PATIENCE, PAUSES, moment, reference, tried
from ctxkit.core.kept import CHECKPOINT, HAND, SMALL, Kept
from ctxkit.core.times import iso
from ctxkit.errors import BadSnapshot, CannotCreate, CtxkitError, NothingChanges, Usage
from ctxkit.keeping import keep, shelf
from ctxkit.restoring import loaded, there
from ctxkit.store import atomic
from tests.cli.runner import FOREIGN, lines, message
from tests.cli.runner import SMALL as CHAT
from tests.lawful import (
    COMMANDS,
    CONDENSE,
    NOW,
    TO_COME,
    Command,
    as_bytes,
    conversations,
    copied,
    opened,
    picture,
)
from tests.lawful import tried as done

WORK = COMMANDS | CONDENSE | TO_COME


def file(folder: Path, content: bytes = CHAT, name: str = "log.jsonl", clock: float = NOW) -> Log:
    """A log in a file, as of a clock that stands still."""
    path = folder / name
    if not path.exists():
        path.write_bytes(content)
    return Log.open(path, clock=lambda: clock)


def kinds(log: Log) -> list[list[str]]:
    """The tags of its checkpoints, the newest first."""
    return [head.tags for head in log.snapshots() if head.kind == CHECKPOINT]


@settings(max_examples=60, deadline=None)
@given(conversations(), st.lists(WORK, max_size=4), st.lists(WORK, max_size=4), st.booleans())
def test_replace_gives_exactly_the_context_of_then(
    records: list[dict[str, Any]], before: list[Command], since: list[Command], whole: bool
) -> None:
    """Whatever was done before and since: messages, order and tokens, and the window of then; undo takes it back."""
    log = opened(as_bytes(records))
    for command in before:
        done(log, command)
    if not log.names():
        return
    kept = keep(log)
    point = reference(log, HAND)
    assert len(json.dumps(point.body, separators=(",", ":"))) < SMALL
    if not whole:  # as where there was no room for the numbers
        point = Kept(point.head, {key: value for key, value in point.body.items() if key != "numbers"})
    log = opened(copied(log))
    for command in since:
        done(log, command)
    target = opened(copied(log))
    was = picture(target)
    assert target.restore(point, replace=True) is not None
    now = keep(target)
    assert list(now.messages) == list(kept.messages)
    assert now.head.tokens == kept.head.tokens
    target.undo()
    assert picture(target) == was


def test_before_what_replaces_the_context(tmp_path: Path) -> None:
    """compact, clear, edit and restore --replace have one, with the context of before; nothing else does."""
    log = file(tmp_path)
    log.mark("a")
    log.forget(3)
    log.protect(11)
    log.set_window(86400)
    log.reset_window()
    log.trim(100_000)
    log.undo()
    assert not (tmp_path / "log.jsonl.ctxkit").exists()
    for what, tag in (
        (lambda: log.compact("5-9", summary="short", keep_steps=0, force=True), "compact"),
        (lambda: log.edit(log.draft().replace("third", "last")), "edit"),
        (lambda: log.clear(), "clear"),
        (lambda: log.restore("before compact", replace=True), "restore"),
    ):
        was, count = keep(log, all=True) if log.names() else None, len(log.snapshots())
        assert what() is not None and len(log.snapshots()) == count + 1
        newest = log.snapshots()[0]
        assert (newest.kind, newest.tags, newest.description) == (CHECKPOINT, [tag], f"before {tag}")
        assert was is not None and list(loaded(log, newest.session_id).messages) == list(was.messages)
    assert log.clear() is not None and log.clear() is None  # cleared already: no op, and no checkpoint
    assert len(kinds(log)) == 5
    log.restore("before compact")
    assert len(kinds(log)) == 5
    assert all(one.size < SMALL for one in shelf(log).checkpoints())


def test_where_none_is_made(tmp_path: Path) -> None:
    """In a dry run, in a pipe, where the config says so, and of an empty context."""
    log = file(tmp_path)
    log.dry_run = True
    assert log.clear() is not None
    off = file(tmp_path, name="off.jsonl")
    off.config = off.config.given({"checkpoint.auto": False})
    assert off.clear() is not None
    assert opened(CHAT).clear() is not None
    empty = file(tmp_path, lines(message("user", "a", 0)), "empty.jsonl")
    empty.forget(1)
    assert empty.edit(empty.draft().replace("#%%", "%%")) is not None
    empty.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl", "log.jsonl", "off.jsonl"]
    with pytest.raises(NothingChanges, match="nothing is in its context"):
        empty.checkpoint()
    with pytest.raises(Usage, match="a stream has no snapshots"):
        opened(CHAT).checkpoint()


def test_another_programs_log(tmp_path: Path) -> None:
    """Beside its ops, in its sidecar, or where --sidecar says; it is not written to."""
    log = file(tmp_path, FOREIGN, "session.jsonl")
    was = keep(log)
    log.clear()
    os.chmod(tmp_path / "session.jsonl", 0o400)
    again = Log.open(tmp_path / "session.jsonl")
    assert list(loaded(again, "latest").messages) == list(was.messages)
    assert again.restore("latest", replace=True) is not None
    assert list(keep(again).messages) == list(was.messages) and (tmp_path / "session.jsonl").read_bytes() == FOREIGN
    other = Log.open(tmp_path / "session.jsonl", sidecar=tmp_path / "mine")
    other.clear()
    assert len(list((tmp_path / "mine/snapshots").iterdir())) == 1


@pytest.mark.parametrize(
    ("old", "new"), [(b"first question", b"worst question"), (rb'\{"ctxkit":"mark".*?"here".*?\n', b"")]
)
def test_a_log_that_was_changed(tmp_path: Path, old: bytes, new: bytes) -> None:
    """A message or an op that is another one: refused, nothing is appended. One that grew is the same."""
    log = file(tmp_path)
    log.mark("here")
    point = log.checkpoint("x")
    assert point is not None
    log.mark("more")
    log.add_message({"role": "user", "content": "more"})
    assert log.restore(point.id) is None  # all of it is there
    raw = (tmp_path / "log.jsonl").read_bytes()
    changed = re.sub(old, new, raw, count=1)
    assert changed != raw
    (tmp_path / "log.jsonl").write_bytes(changed)
    with pytest.raises(BadSnapshot, match=r"does not fit .*log\.jsonl, which was changed since"):
        loaded(Log.open(tmp_path / "log.jsonl"), point.id)
    (tmp_path / "log.jsonl").write_bytes(raw[: raw.index(b"\n", 300) + 1])
    with pytest.raises(BadSnapshot):
        loaded(Log.open(tmp_path / "log.jsonl"), point.id)


def test_the_window_of_then(tmp_path: Path) -> None:
    """The config's windows and clock of then count, whatever they are now."""
    records = [message("user", str(n), n * 60, agent="frodo" if n % 2 else None) for n in range(6)]
    log = file(tmp_path, lines(*records))
    log.config = log.config.given({"window.default": "2h", "agents.frodo.window": "3h"})
    log.now = "2026-02-01T15:30:00Z"
    was = keep(log)
    assert 0 < len(was.messages) < 6
    point = log.checkpoint("x")
    assert point is not None and point.kept.body["windows"] == [("frodo", 10800), (None, 7200)]
    for now in (None, "2026-02-01T20:00:00Z"):
        again = Log.open(tmp_path / "log.jsonl")
        again.now = now
        assert list(loaded(again, "x").messages) == list(was.messages)


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


def test_by_hand(tmp_path: Path) -> None:
    """Once the same is there already; its summary is made when it is asked for."""
    log = file(tmp_path)
    first, again = log.checkpoint("x"), log.checkpoint("x")
    assert first is not None and again is not None and first.new and not again.new
    assert (again.id, again.path, log.said) == (
        first.id,
        first.path,
        "The same checkpoint is there already: nothing was written.",
    )
    assert [head.short for head in log.snapshots()] == [first.kept.head.short]
    op = log.restore("x", summary=True)
    assert op is not None and "read a.py" in op.items[0].message["content"]  # type: ignore[attr-defined]
    assert "[Summary of checkpoint " in op.items[0].message["content"]  # type: ignore[attr-defined]


def test_tokens_where_they_are_known(tmp_path: Path) -> None:
    """compact counts them anyway; nothing is counted for a clear."""
    log = file(tmp_path)
    log.compact("2-6", summary="short", keep_steps=0, force=True)
    counted = log.snapshots()[0].tokens
    assert counted is not None and counted == keep(log.seen_at("1^")).head.tokens
    log.clear()
    assert log.snapshots()[0].tokens is None


def test_tries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three, within two seconds in all; then the command goes on, and a warning says what is missing."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert sum(PAUSES) + (len(PAUSES) + 1) * PATIENCE <= 2
    calls: list[int] = []

    def fails(*_: Any) -> None:
        calls.append(1)
        raise CannotCreate("no room")

    monkeypatch.setattr(atomic, "create", fails)
    log = file(tmp_path)
    assert log.clear() is not None
    assert (len(calls), slept, log.warned) == (3, list(PAUSES), ["no checkpoint was made: no room"])
    assert log.mark("x") is not None and not log.warned
    with pytest.raises(CannotCreate):
        log.checkpoint("x")
    assert len(calls) == 4  # whoever asks for one is told at once
    answers = iter([CannotCreate("once"), CannotCreate("twice"), None])

    def third() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "done"

    assert tried(third) == "done"


def test_no_place_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the sidecar's place: the op is appended all the same."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    (tmp_path / "log.jsonl.ctxkit").write_bytes(b"x")
    log = file(tmp_path)
    assert log.clear() is not None and "no checkpoint was made" in log.warned[0]
    with pytest.raises(CtxkitError):
        log.checkpoint("x")


def test_retention(tmp_path: Path) -> None:
    """The newest so many stay, for so many days; those by hand stay, whatever their age."""
    day = 86400
    log = file(tmp_path)
    log.checkpoint("mine")
    log.config = log.config.given({"checkpoint.keep": 2})
    for n in range(3):
        log.clock = lambda n=n: NOW + n  # type: ignore[misc]
        log.clear()
        log.undo()
    assert log.notes == [] and len(kinds(log)) == 3
    log.clock = lambda: NOW + 3
    log.clear()
    assert log.notes == ["checkpoints removed: 1 beyond the newest 2"]
    assert sorted(map(tuple, kinds(log))) == [("clear",), ("clear",), (HAND,)]
    log.undo()
    log.clock = lambda: NOW + 31 * day
    log.clear()
    assert log.notes == ["checkpoints removed: 2 older than 30 days"] and sorted(kinds(log)) == [["clear"], [HAND]]


def test_what_age_counts_from() -> None:
    """CTXKIT_NOW where it is a time; a time in a file stands still, and is no clock."""
    env = {"HOME": "/nonexistent"}
    for given_, expected in (("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"), ("wall", iso(NOW)), ("last", iso(NOW))):
        log = Log.open(BytesIO(CHAT), env={**env, "CTXKIT_NOW": given_})
        assert iso(moment(log.config, lambda: NOW)) == expected
    log.config = log.config.given({"now": "2026-03-01T00:00:00Z"})
    assert moment(log.config, lambda: NOW) == NOW


def test_a_file_that_is_no_checkpoint(tmp_path: Path) -> None:
    """One without its point is refused in words."""
    log = file(tmp_path)
    point = log.checkpoint("x")
    assert point is not None
    with pytest.raises(BadSnapshot, match="cannot be read"):
        there(log, Kept(point.kept.head, {"ops": "?"}))


def test_by_itself(tmp_path: Path) -> None:
    """One per exchange, the newest with anything first; a second run keeps nothing."""

    def call(name: str, n: int, said: str, **arguments: Any) -> list[dict[str, Any]]:
        body = {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        return [
            {"role": "assistant", "content": "so:", "tool_calls": [body]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": said},
        ]

    log = file(tmp_path, lines(message("user", "hello", 0), message("assistant", "hi", 1)))
    assert log.checkpoint(auto=True) is None and log.said == "No checkpoint: nothing to keep since the last one."
    for record in call("Write", 1, "ok", file_path="/x/a.py", content="1"):
        log.add_message(record)
    first = log.checkpoint(auto=True)
    assert first is not None and (first.kept.head.tags, first.kept.head.description) == (["code"], "a.py written")
    assert log.checkpoint(auto=True) is None
    for record in call("Write", 2, "ok", file_path="/x/b.py", content="1"):
        log.add_message(record)
    assert log.checkpoint(auto=True) is None
    log.add_message({"role": "user", "content": "next"})
    assert log.checkpoint(auto=True) is None
    for record in (*call("Bash", 3, "exit code 1", command="make"), *call("Bash", 4, "exit code 0", command="make")):
        log.add_message(record)
    log.add_message({"role": "user", "content": "and now?"})
    log.add_message({"role": "assistant", "content": "I have decided to rest."})
    found = log.checkpoint("label", auto=True)
    assert found is not None and (found.kept.head.tags, found.kept.head.description) == (["error_resolution"], "label")
    assert log.checkpoint(auto=True) is None
    said = log.checkpoint(auto=True, also=["decision"])
    assert said is not None and said.kept.head.tags == ["decision"]
