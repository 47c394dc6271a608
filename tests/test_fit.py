"""An op is applied to the messages it was written for, or refused: filtered, changed, cut, replaced, grown logs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import CtxkitError, Log
from ctxkit.core.context import shown_names
from ctxkit.errors import ExitCode, Misfit, UpdatedElsewhere
from tests.effort import examples, part
from tests.lawful import (
    COMMANDS,
    ROOT,
    Command,
    Records,
    as_bytes,
    cli,
    conversations,
    copied,
    exported,
    opened,
    ops,
    picture,
    tried,
)
from tests.shared import SHARED

READERS = (["show"], ["export", "--to=chat"], ["mark"], ["forget", "1"], ["rewind"], ["clear"], ["window", "2h"])
PROBES = sorted((ROOT / "fixtures/truth-claude-code").glob("p*.jsonl"))
SMALL = [
    path for path in sorted((SHARED / "transcripts/claude-code").glob("*.jsonl")) if path.stat().st_size < 1_000_000
]
CUTS = part(40)
"""How many cuts of one file are tried, evenly, where it has more rows."""


def refused(log: bytes) -> None:
    """Every command refuses: exit 65, nothing on stdout."""
    for command, *rest in READERS:
        code, out, err = cli(command, "-", *rest, stdin=log)
        assert (code, out) == (ExitCode.REFUSED, b""), (command, err)


def with_op(records: Records) -> list[bytes]:
    """The lines of a log whose last line is an op that knows all messages."""
    log = opened(as_bytes(records))
    log.mark("here")
    return copied(log).splitlines(keepends=True)


@given(records=conversations(), which=st.integers(0, 100))
@settings(max_examples=15)
def test_an_op_on_a_filtered_log_is_refused(records: Records, which: int) -> None:
    """A message before it is gone."""
    lines = with_op(records)
    del lines[which % (len(lines) - 1)]
    refused(b"".join(lines))


@given(records=conversations(), role=st.booleans())
@settings(max_examples=15)
def test_an_op_behind_another_last_message_is_refused(records: Records, role: bool) -> None:
    """Another message stands in its place."""
    lines = with_op(records)
    last = json.loads(lines[-2])
    changed: dict[str, Any] = {"role": "developer" if role else last["role"], "content": "something else"}
    refused(b"".join([*lines[:-2], json.dumps(changed).encode() + b"\n", lines[-1]]))


@given(records=conversations(), keep=st.floats(0, 0.99))
@settings(max_examples=15)
def test_an_op_on_a_log_cut_short_is_refused(records: Records, keep: float) -> None:
    """Messages at its end are gone, the op is still there."""
    lines = with_op(records)
    refused(b"".join([*lines[: int(keep * (len(lines) - 1))], lines[-1]]))


def test_a_session_cut_short_is_refused(tmp_path: Path) -> None:
    """The same where the op is in a sidecar; the session's further commands are refused too, nothing is appended."""
    log = Path(shutil.copy(ROOT / "fixtures/guide/session.jsonl", tmp_path))
    Log.open(log).mark("here")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:10]))
    before = (tmp_path / "session.jsonl.ctxkit/ops.jsonl").read_bytes()
    for command, *rest in READERS:
        if command != "mark":
            assert cli(command, str(log), *rest)[:2] == (ExitCode.REFUSED, b"")
    with pytest.raises(Misfit):
        Log.open(log).clear()
    assert (tmp_path / "session.jsonl.ctxkit/ops.jsonl").read_bytes() == before


@given(records=conversations(), commands=st.lists(COMMANDS, max_size=5))
@settings(max_examples=examples(25))
def test_every_prefix_replays(records: Records, commands: list[Command]) -> None:
    """The fold over a prefix and one record more is that over the longer log; a message changes nothing before it."""
    log = opened(as_bytes(records))
    for command in commands:
        tried(log, command)
    lines = copied(log).splitlines(keepends=True)
    before: list[object] = []
    for end in range(len(lines) + 1):
        part = opened(b"".join(lines[:end]))
        names: list[object] = list(shown_names(part.state()))
        if end and b'"ctxkit":"' not in lines[end - 1].split(b'"role"')[0]:
            assert names == [*before, len(part.messages)]
        before = names
        exported(part)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("session", [*PROBES, *SMALL], ids=lambda path: path.stem)
def test_an_op_between_two_rows_still_fits_when_the_rest_arrives(session: Path, tmp_path: Path) -> None:
    """Every cut of a session (evenly sampled where it is long): the op fits and names the messages that it named."""
    rows = session.read_bytes().splitlines(keepends=True)
    whole = [(message.key, message.role) for message in opened(session).messages]
    for cut in range(1, len(rows) + 1, -(-len(rows) // CUTS)):
        log = tmp_path / "log.jsonl"
        log.write_bytes(b"".join(rows[:cut]))
        shutil.rmtree(tmp_path / "log.jsonl.ctxkit", ignore_errors=True)
        pipe, file = opened(log.read_bytes()), opened(log)
        known = [(message.key, message.role) for message in pipe.messages]
        assert known == whole[: len(known)]
        for target in (pipe, file):
            tried(target, Command("forget", len(known) - 1), "a0001")
            tried(target, Command("mark"), "a0002")
        named = [body.get("ids") for body in ops(pipe)]
        with log.open("ab") as rest:
            rest.write(b"".join(rows[cut:]))
        file, pipe = opened(log), opened(copied(pipe) + b"".join(rows[cut:]))
        assert [(message.key, message.role) for message in pipe.messages] == whole
        assert [body.get("ids") for body in ops(file)] == [body.get("ids") for body in ops(pipe)] == named
        assert pipe.names() == file.names()
        assert not [one for one in (*pipe.check(), *file.check()) if "op" in one.where]


def replaced(log: Path) -> None:
    """Another file under the same name, as editors save."""
    other = log.with_name("other")
    shutil.copy(log, other)
    os.replace(other, log)


def cut(log: Path) -> None:
    """Shorter than it was."""
    os.truncate(log, log.stat().st_size - 5)


def changed(log: Path) -> None:
    """A byte in the middle, its time as before."""
    times = log.stat()
    content = log.read_bytes()
    log.write_bytes(content[:-20] + b"#" + content[-19:])
    os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))


def cut_and_grown(log: Path) -> None:
    """Rewritten without its last line, and larger than before since."""
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:-1], *lines[:3]]))


CALLS: dict[str, Callable[[Log], object]] = {
    "mark": lambda log: log.mark(),
    "forget": lambda log: log.forget("2"),
    "undo": lambda log: log.undo(),
    "window": lambda log: log.set_window(3600),
    "add": lambda log: log.add_message({"role": "user", "content": "more"}),
}
CASES = [(fixture, name) for fixture in ("chat", "session") for name in CALLS if (fixture, name) != ("session", "add")]


@pytest.mark.parametrize(("fixture", "name"), CASES)
@pytest.mark.parametrize("change", [replaced, cut, changed, cut_and_grown], ids=lambda change: change.__name__)
def test_a_log_that_is_another_one_now(change: Callable[[Path], None], fixture: str, name: str, tmp_path: Path) -> None:
    """Between opening and appending it was replaced, cut or changed: exit 75, and nothing is written."""
    log = Path(shutil.copy(ROOT / f"fixtures/guide/{fixture}.jsonl", tmp_path))
    Log.open(log).mark("here")
    target = Log.open(log)
    target.state()
    beside = tmp_path / f"{fixture}.jsonl.ctxkit/ops.jsonl"
    change(log)
    before = log.read_bytes(), beside.read_bytes() if beside.exists() else b""
    with pytest.raises(UpdatedElsewhere, match=r"^updated elsewhere: .*nothing was written") as caught:
        CALLS[name](target)
    assert caught.value.code == ExitCode.TRY_AGAIN
    assert (log.read_bytes(), beside.read_bytes() if beside.exists() else b"") == before


@pytest.mark.parametrize(("fixture", "name"), CASES)
def test_a_log_that_only_grew_is_appended_to(fixture: str, name: str, tmp_path: Path) -> None:
    """What came meanwhile is later than the op, wherever it stands (replay 22)."""
    log = Path(shutil.copy(ROOT / f"fixtures/guide/{fixture}.jsonl", tmp_path))
    rows = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(rows[:-2]))
    Log.open(log).mark("here")
    target = Log.open(log)
    count = len(target.messages)
    with log.open("ab") as file:
        file.write(b"".join(rows[-2:]))
    CALLS[name](target)
    found = Log.open(log)
    assert len(found.messages) == count + 2 + (name == "add")
    assert [body["at"]["messages"] for body in ops(found)] == [count] * (2 - (name == "add"))
    assert [one for one in found.check() if "op" in one.where] == []
    assert count + 2 in found.names() or name == "window"


def test_a_clear_leaves_alone_what_slipped_in(tmp_path: Path) -> None:
    """Native, sidecar and stream agree: the message that came while it was decided stays."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(as_bytes([{"role": "user", "content": "one"}]))
    target = Log.open(log)
    with log.open("ab") as file:
        file.write(as_bytes([{"role": "user", "content": "two"}]))
    target.clear()
    assert Log.open(log).names() == [2]
    assert picture(opened(log)) == picture(opened(log.read_bytes()))


def test_a_mended_log_replays(tmp_path: Path) -> None:
    """`undo OP --force-replay` voids the op that does not fit, and the log is readable again (replay 23)."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(with_op([{"role": "user", "content": w} for w in ("one", "two")])[1:]))
    with pytest.raises(CtxkitError):
        Log.open(log).names()
    assert cli("undo", str(log), "1", "--force-replay")[0] == 0
    assert Log.open(log).names() == [1]
