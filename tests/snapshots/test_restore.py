"""Restoring: a snapshot comes back into its own log, and into others, exactly."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core.item_names import ItemName
from ctxkit.core.ops import Restore
from ctxkit.core.snapshot import Snapshot
from ctxkit.core.times import iso
from ctxkit.core.visibility import Visibilities
from ctxkit.errors import BadSnapshot, NoSuchLog, NoSuchSnapshot, NothingChanges, Usage
from ctxkit.snapshots.restore import as_log, is_own, loaded, steps_of, strange
from ctxkit.snapshots.snapshot import keep
from tests.cli.runner import FOREIGN, SMALL, good, lines, message
from tests.effort import examples
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
    tried,
)
from tests.shared import transcripts

WORK = COMMANDS | CONDENSE | TO_COME


def file(folder: Path, content: bytes = SMALL, name: str = "log.jsonl") -> Log:
    """A log in a file, as of a clock that stands still."""
    path = folder / name
    if not path.exists():
        path.write_bytes(content)
    return opened(path)


def texts(log: Log) -> list[Any]:
    """What the context says."""
    return [record["content"] for record in keep(log, all=True).messages]


def worked_on(log: Log, before: list[Command], since: list[Command]) -> Snapshot | None:
    """The snapshot that was taken of it between these commands; None if there was nothing to take."""
    for command in before:
        tried(log, command)
    if not log.names():
        return None
    kept = log.snapshot("x").kept
    for command in since:
        tried(log, command)
    return kept


@settings(max_examples=examples(150), deadline=None)
@given(conversations(), st.lists(WORK, max_size=4), st.lists(WORK, max_size=4), conversations(2))
def test_replace_gives_exactly_the_snapshot(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, Any]],
    before: list[Command],
    since: list[Command],
    other: list[dict[str, Any]],
) -> None:
    """Whatever was done before and since: messages, order and tokens; undo gives the context from before. Also in
    another log, and in a pipe.
    """
    log = opened(as_bytes(records))
    for command in before:
        tried(log, command)
    if not log.names():
        return
    kept = log.snapshot("x").kept
    log = opened(copied(log))
    for command in since:
        tried(log, command)
    for target, own in ((opened(copied(log)), True), (opened(as_bytes(other)), False)):
        assert is_own(target, kept) is own or not own
        was = picture(target)
        assert target.restore(kept, replace=True) is not None
        now = keep(target)
        assert list(now.messages) == list(kept.messages)
        assert now.head.tokens is not None and kept.head.tokens is not None
        if now.head.tokens.counter == kept.head.tokens.counter:
            assert now.head.tokens.count == kept.head.tokens.count
        target.undo()
        assert picture(target) == was


@settings(max_examples=examples(100), deadline=None)
@given(conversations(), st.lists(WORK, max_size=3), st.lists(WORK, max_size=3))
def test_append_brings_what_is_missing(
    records: list[dict[str, Any]], before: list[Command], since: list[Command]
) -> None:
    """What is visible stays where it is, but for steps that come whole; a second time there is nothing to bring."""
    log = opened(as_bytes(records))
    kept = worked_on(log, before, since)
    if kept is None:
        return
    was = list(log.names())
    op = log.restore(kept, append=True)
    now = list(log.names())
    if op is None:
        assert now == was
        return
    brought: list[Any] = [item.n for item in op.items if item.n is not None]  # type: ignore[attr-defined]
    stayed, state = [name for name in was if name not in brought], log.state()
    behind = [name for name in now if name in stayed or not state.is_preamble(name)]
    assert behind[: len(stayed)] == stayed and len(now) == len(stayed) + len(op.items)  # type: ignore[attr-defined]
    assert log.restore(kept, append=True) is None


@settings(max_examples=examples(150), deadline=None)
@given(conversations(), st.lists(WORK, max_size=3), st.lists(WORK, max_size=3))
def test_messages_return_to_their_places(
    records: list[dict[str, Any]], before: list[Command], since: list[Command]
) -> None:
    """Whatever was done: what is visible keeps its order, and what comes back stands between it as in the snapshot; a
    second time there is nothing to bring, and undo gives the context from before.
    """
    log = opened(as_bytes(records))
    kept = worked_on(log, before, since)
    if kept is None:
        return
    was, shape = list(log.names()), picture(log)
    op = log.restore(kept)
    now = list(log.names())
    if op is None:
        assert now == was
        return
    assert isinstance(op, Restore) and op.mode == "place"
    brought = {item.n for item in op.items if item.n is not None}
    assert [name for name in now if name in was and name not in brought] == [
        name for name in was if name not in brought
    ]
    came = {str(item.n or item.origin): item.n or ItemName(op.id, k) for k, item in enumerate(op.items, start=1)}
    standing = [came.get(one, one) for one in (str(held.n or held.origin) for held in kept.held)]
    places = [list(map(str, now)).index(str(name)) for name in standing if str(name) in map(str, now)]
    stayed = [was.index(name) for held in kept.held if (name := held.n or 0) in was and name not in brought]
    assert stayed != sorted(stayed) or places == sorted(places)
    assert set(came.values()) <= set(now)
    assert log.restore(kept) is None
    log.undo()
    assert picture(log) == shape


@settings(max_examples=examples(100), deadline=None)
@given(conversations(), st.lists(st.sampled_from(["forget", "remember", "clear"]), min_size=1, max_size=3), st.data())
def test_a_context_that_was_taken_apart_is_whole_again(
    records: list[dict[str, Any]], since: list[str], drawn: st.DataObject
) -> None:
    """After any forget, remember and clear it is the one of the snapshot."""
    log = opened(as_bytes(records))
    kept, was = log.snapshot("x").kept, list(log.names())
    for name in since:
        number = drawn.draw(st.integers(1, len(records)))
        tried(log, Command(name, number, drawn.draw(st.integers(0, 5))))
    log.restore(kept)
    assert list(log.names()) == was


@settings(max_examples=examples(150), deadline=None)
@given(conversations(), st.lists(WORK, max_size=3), st.lists(WORK, max_size=3), st.booleans())
def test_no_summary_brings_back_what_was_forgotten(
    records: list[dict[str, Any]], before: list[Command], since: list[Command], replace: bool
) -> None:
    """Whatever was done: it comes if nothing that it was made of was forgotten since."""
    log = opened(as_bytes(records))
    kept = worked_on(log, before, since)
    if kept is None:
        return
    seen, shape = Visibilities(log.state()), picture(log)
    gone = [held.n for held in kept.held if held.n and seen.of(held.n).kind in ("forget", "remember")]
    try:
        op = log.restore(kept, replace=replace, summary=True)
    except NothingChanges as refused:
        assert picture(log) == shape and "forgotten by op" in refused.message
        assert any(entry.name in ("forget", "remember") and not entry.void for entry in log.ledger.entries)
    else:
        assert not gone and op is not None


@pytest.mark.parametrize(
    ("before", "since", "comes"),
    [
        ("", "forget 3", False),
        ("", "forget 3, clear", False),
        ("", "clear", True),
        ("", "remember 1-4", False),
        ("", "forget 3, undo 1", True),
        ("", "forget 3, recall 3", True),
        ("forget 3", "", True),
        ("forget 3", "forget 9", False),
        ("compact 2-4", "forget 3", False),
        ("compact 2-4, forget 9", "clear", True),
    ],
)
def test_a_summary_after_a_forget(tmp_path: Path, before: str, since: str, comes: bool) -> None:
    """Nor what a summary in the snapshot told; what was forgotten before it, or is back, is no hindrance."""
    log = file(tmp_path)
    now = [0.0]
    log.clock = lambda: NOW + now[0]
    taken: list[Snapshot] = []
    for commands in (before, since):
        for command in filter(None, commands.split(", ")):
            now[0] += 10
            name, _, names = command.partition(" ")
            if name == "compact":
                log.compact(names, summary="Looked at a.py.")
            else:
                getattr(log, name)(*([names] if names else []))
        now[0] += 10
        taken.append(keep(log))
    if comes:
        assert log.restore(taken[0], summary=True) is not None
    else:
        with pytest.raises(NothingChanges, match=r"may contain [\d,-]+, forgotten by op \d: nothing was changed"):
            log.restore(taken[0], summary=True)


def test_times(tmp_path: Path) -> None:
    """The original is shown; for windows it is as new as the restore, which is no older than the log (replay 37)."""
    log = file(tmp_path, lines(message("user", "old", 0), message("user", "new", 300)))
    kept = keep(log)
    log.set_window(3600)
    assert texts(log) == ["old", "new"] and len(log.names()) == 1
    op = log.restore(kept)
    assert op is not None and op.ts == iso(int(NOW)) and log.names() == [1, 2]  # what was seen still is (65)
    assert log.state().original(1) == log.state().times.of(1) and log.state().effective(1) == NOW
    late = opened(lines(message("user", "a", ts="2031-01-01T00:00:00.5Z")))
    forgot = late.snapshot().kept
    late.forget(1)
    found = late.restore(forgot)
    assert found is not None and found.ts == "2031-01-01T00:00:00.500000Z"


def test_its_own_log(tmp_path: Path) -> None:
    """By its messages: a log that grew is the same, one that was rewritten is another."""
    log = file(tmp_path)
    kept = log.snapshot().kept
    log.mark("a")
    log.add_message({"role": "user", "content": "more"})
    assert is_own(log, kept) and list(strange(log, kept)) == []
    other = file(tmp_path, SMALL.replace(b"brief", b"short"), "other.jsonl")
    assert not is_own(other, kept) and "of another log (log.jsonl)" in next(strange(other, kept))
    assert not is_own(file(tmp_path, b"".join(SMALL.splitlines(True)[:5]), "cut.jsonl"), kept)


def test_another_model(tmp_path: Path) -> None:
    """Is told; where one of the two is not known there is nothing to tell."""
    kept = file(tmp_path, FOREIGN, "session.jsonl").snapshot().kept
    log = file(tmp_path, FOREIGN, "session.jsonl")
    log.config = log.config.given({"model": "gpt-4o"})
    assert list(strange(log, kept)) == []  # the log's own model goes before the config
    other = opened(FOREIGN.replace(b"claude-x", b"claude-y"))
    assert list(strange(other, kept))[-1].endswith(" was taken for claude-x, and this log is for claude-y")


def test_found(tmp_path: Path) -> None:
    """What is beside the log goes before a file of that name; a file will do; what is neither is named."""
    log = file(tmp_path)
    taken = log.snapshot("x")
    assert loaded(log, "x") == taken.kept == loaded(log, str(taken.path))
    assert loaded(opened(SMALL), str(taken.path)) == taken.kept
    with pytest.raises(NoSuchSnapshot, match="'y'"):
        loaded(log, "y")
    with pytest.raises(NoSuchLog, match="no such snapshot"):
        loaded(opened(SMALL), "y")
    with pytest.raises(NoSuchLog, match="not a snapshot"):
        loaded(opened(SMALL), str(tmp_path))


def test_damage_appends_nothing(tmp_path: Path) -> None:
    """A file that was changed, or is of a newer version: refused, whoever is asked."""
    log = file(tmp_path)
    taken = log.snapshot("x")
    assert taken.path is not None
    raw = taken.path.read_bytes()
    for changed in (raw.replace(b"first question", b"another"), raw.replace(b'"v":1', b'"v":2', 1), raw[:-20], b"{}"):
        taken.path.write_bytes(changed)
        for call in (lambda: log.restore(str(taken.path)), lambda: log.restore("20260528T202640Z-" + taken.id[:8])):
            with pytest.raises(BadSnapshot, match="nothing was changed"):
                call()
    assert (tmp_path / "log.jsonl").read_bytes() == SMALL


def test_a_message_that_grew(tmp_path: Path) -> None:
    """What its program added to a message later is not in the snapshot: it comes as a copy."""
    row = json.loads(FOREIGN.splitlines()[1])
    more = {**row, "uuid": "u9", "parentUuid": "u2"}
    more["message"] = {**row["message"], "content": [{"type": "text", "text": "and more"}]}
    first = b"".join(FOREIGN.splitlines(True)[:2])
    log = file(tmp_path, first, "s.jsonl")
    kept = log.snapshot().kept
    with (tmp_path / "s.jsonl").open("ab") as held:
        held.write(lines(more))
    log = file(tmp_path, b"", "s.jsonl")
    assert is_own(log, kept) and keep(log).messages != kept.messages
    op = log.restore(kept, replace=True)
    assert op is not None and [item.n for item in op.items] == [1, None]  # type: ignore[attr-defined]
    assert keep(log).messages == kept.messages


def test_grown_meanwhile(tmp_path: Path) -> None:
    """Another process that brought the same back: it is there, nothing is appended; new messages are no hindrance."""
    kept = file(tmp_path).snapshot().kept
    file(tmp_path).forget("9-11")
    slow, fast = file(tmp_path), file(tmp_path)
    assert fast.restore(kept) is not None
    assert slow.restore(kept) is None and "visible already" in slow.said
    fast.forget("9-11")
    slow = file(tmp_path)
    fast.add_message({"role": "user", "content": "more"})
    assert slow.restore(kept) is not None
    assert slow.names()[-4:] == [12, 9, 10, 11] or set(slow.names()) == set(range(1, 13))


def test_steps_of() -> None:
    """A call and its results, in whatever form they are written."""
    kept = opened(SMALL).snapshot().kept
    assert list(steps_of(kept)) == [0, 1, 2, 2, 4, 5, 6, 6, 8, 9, 10]
    split = Snapshot(kept.head, kept.body, list(reversed(kept.messages)), list(reversed(kept.held)))
    assert len(set(steps_of(split))) == 11


def test_a_head_alone(tmp_path: Path) -> None:
    """What holds no messages has none to bring."""
    kept = file(tmp_path).snapshot().kept
    with pytest.raises(Usage, match="holds no messages"):
        file(tmp_path).restore(Snapshot(kept.head, kept.body))


def test_a_stream_gets_the_same_op(tmp_path: Path) -> None:
    """Law 3."""
    kept = file(tmp_path).snapshot("x").kept
    for more in ({}, {"replace": True}, {"summary": True}):
        log = opened(SMALL)
        if "summary" in more:
            log.clear()
        else:
            log.forget("3-6")
        raw = copied(log)
        path = tmp_path / f"{len(more)}{sorted(more)}.jsonl"
        path.write_bytes(raw)
        log, pipe = opened(path), opened(raw)
        log.op_id = pipe.op_id = "same"
        assert log.restore(kept, **more) == pipe.restore(kept, **more)
        assert path.read_bytes() == copied(pipe)


REAL = transcripts("claude-code", "codex", "pi", "copilot-cli", "swe-agent", "mini-swe-agent", under=1_500_000)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_sessions(path: Path, tmp_path: Path) -> None:
    """Their context comes back exactly after a clear, after any forget and replacing restore, and in an empty log."""
    log = Log.open(path, sidecar=tmp_path / "beside", clock=lambda: NOW)
    if not log.names():
        pytest.skip("nothing is in its context")
    kept, was = log.snapshot().kept, list(log.names())
    if leaving := was[1::3]:
        log.forget(leaving, include_protected=True)  # type: ignore[arg-type]  # they are numbers
        part = keep(log)
        log.restore(kept)
        assert list(log.names()) == was
        if part.messages:
            log.restore(part, replace=True)
            log.restore(kept)
            now = keep(log)
            assert now.messages == kept.messages
    log.clear()
    assert log.restore("latest", replace=True) is not None
    now = keep(log)
    assert now.messages == kept.messages and now.head.session_id == kept.head.session_id
    other = Log.open(BytesIO(b""), clock=lambda: NOW, env=dict(os.environ))
    other.restore(kept, replace=True)
    assert keep(other).messages == kept.messages


def test_a_snapshot_as_a_log_is_whole(tmp_path: Path) -> None:
    """Whatever windows the user's own config has: they are of logs."""
    kept = file(tmp_path).snapshot().kept
    good("config", "--user", "set", "window.messages", "3")
    assert len(as_log(kept).names()) == len(kept.messages) > 3
