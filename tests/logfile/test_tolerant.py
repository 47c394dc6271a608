"""One record never takes a log: the net under every reader, and the one around each file of many."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Damage, Message
from ctxkit.core.transcript import Transcript
from ctxkit.errors import Unforeseen, UnknownFormat
from ctxkit.formats import chat, registry
from ctxkit.formats.base import Block, Row
from ctxkit.formats.codex.reader import CodexReader
from ctxkit.logfile.tolerant import MOST, TolerantReader, one_of_many
from ctxkit.store.jsonl import read_blocks
from ctxkit.store.source import Source
from tests.cli.runner import ctxkit
from tests.damage.sessions import ALL, LINES, told
from tests.fuzz.seeds import FAMILIES, seeds

ODD = b'{"timestamp": "2026-02-01T10:00:09Z", "type": "event_msg", "payload": {"type": {}}}'


class OddRow(Row):
    """A row of the format below."""

    x: Any = None


class OddReader:
    """Takes words for messages; fails at a list, and at `after` where `before` came before it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.rows = 0

    def feed(self, block: Block) -> None:
        """Each row changes what is known before it fails, as readers do."""
        for row in block.rows:
            self.rows += 1
            if row.x is None:
                continue
            self.seen.append("opened")
            if row.x == "after" and "before" in self.seen:
                raise KeyError(row.x)
            self.seen[-1] = "" + row.x

    def finish(self) -> Transcript:
        """Each word as the role of a message."""
        messages = [Message(n, 0, 0, word) for n, word in enumerate(self.seen, 1)]
        return Transcript("odd", messages, range(len(messages)), self.rows, [], [])


class OddFormat(chat.ChatFormat):
    """As much of a format as reading needs."""

    row = OddRow

    def reader(self) -> Any:
        """A new one."""
        return OddReader()


def read(values: list[Any], size: int) -> Transcript:
    """What is read of rows with these values, in blocks of so many."""
    raw = b"".join(json.dumps({"x": value}).encode() + b"\n" for value in values)

    def blocks() -> Iterator[Block]:
        for block in read_blocks(Source("log", raw), OddRow, []):
            places = [*range(0, len(block.rows), size), len(block.rows)]
            yield from (block.part(start, end) for start, end in pairwise(places))

    reader = TolerantReader(OddFormat("odd"), blocks)
    for block in blocks():
        reader.feed(block)
    return reader.finish()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("values", "odd"),
    [
        (["a", [], "b"], [2]),
        ([[], "a"], [1]),
        ([[], [], {}, "a", [], "b"], [1, 2, 3, 5]),
        (["a", "before", "b", "after", "c", "after"], [4, 6]),
        (["after", "before", [], "after", "d"], [3, 4]),
        (["a", "b"], []),
    ],
)
def test_only_odd_records_are_passed_over(values: list[Any], odd: list[int], size: int) -> None:
    """Each counts as an empty record, and is damage on its line; what it had changed before it failed is undone."""
    transcript = read(values, size)
    assert [m.role for m in transcript.messages] == [x for n, x in enumerate(values, 1) if n not in odd]
    assert [(one.line, one.code) for one in transcript.damage] == [(line, "unreadable") for line in odd]
    assert transcript.rows == len(values)


def test_what_fails_in_every_place_is_refused() -> None:
    """Each record that fails only behind others costs a reading: there is an end to that."""
    with pytest.raises(UnknownFormat, match="never writes"):
        read(["before", *["after"] * (MOST + 1)], 100)
    assert len(read(["before", *["after"] * (MOST - 1)], 100).damage) == MOST - 1


def test_many_odd_records_are_found_at_once() -> None:
    """Those that fail by themselves are no reason to refuse a log."""
    assert len(read(["a", *[[], "b"] * 500], 64).damage) == 500


@pytest.mark.parametrize("place", range(1, 12))
def test_a_codex_session_without_one_event(place: int) -> None:
    """A real reader: all messages are as they were, `check` names the record, and ops find their messages."""
    lines = LINES["codex"].lines
    log = Log.open(io.BytesIO(b"\n".join([*lines[:place], ODD, *lines[place:]]) + b"\n"))
    assert told(log) == told(Log.open(io.BytesIO(LINES["codex"].clean)))
    assert [(one.line, one.code) for one in log.check()] == [(place + 1, "unreadable")]
    log.forget("2")
    assert len(list(log.session("codex").pieces)) > 0
    assert isinstance(log.opening.reader._reader, CodexReader)


def test_a_log_that_grows(tmp_path: Path) -> None:
    """What is odd among the new records is passed over in the same way."""
    path = tmp_path / "rollout.jsonl"
    lines = LINES["codex"].lines
    path.write_bytes(b"\n".join([*lines[:5], ODD, *lines[5:8]]) + b"\n")
    log = Log.open(path)
    with path.open("ab") as file:
        file.write(b"\n".join([*lines[8:10], ODD, *lines[10:]]) + b"\n")
    log.forget("1")
    assert told(log) == told(Log.open(io.BytesIO(LINES["codex"].clean)))
    assert [one.line for one in log.check() if one.code == "unreadable"] == [6, 12]


@pytest.mark.parametrize("family", [name for name in FAMILIES if name in registry.DETECTED])
def test_no_sound_record_fails_alone(family: str) -> None:
    """Records are tried one by one where one failed: that must blame none that its program writes."""
    format = registry.by_name(family)
    for seed in seeds(family):
        raw = seed.files[seed.name]
        damage: list[Damage] = []
        for block in read_blocks(Source(seed.name, raw), format.row, damage):
            for i in range(len(block.rows)):
                format.reader().feed(block.part(i, i + 1))


def test_a_message_that_cannot_be_read_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its number and says so; the others are read, and `check` names its line."""
    real = chat.ChatFormat.content

    def content(self: chat.ChatFormat, message: Message, rows: list[dict[str, Any]]) -> Any:
        return real(self, message, rows) if message.n != 5 else rows[0]["nothing"]

    monkeypatch.setattr(chat.ChatFormat, "content", content)
    log = Log.open(io.BytesIO(LINES["chat"].clean))
    assert "unreadable" in log.text(5)
    assert "unreadable" not in log.text(3)
    assert [(one.line, one.code) for one in log.check()] == [(5, "unreadable")]
    assert len(list(log.export("chat").values)) == len(log.messages)


@pytest.mark.parametrize(
    "command", [("sessions", "."), ("recall", ".", "question"), ("sessions", ".", "--grep", "que")]
)
def test_a_bug_takes_one_file(command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a folder all others are listed and searched; the file is named, and the bug is said to be one: exit 65."""
    for name, session in ALL.items():
        (tmp_path / f"{name.partition('.')[0]}-{session.name}").write_bytes(session.clean)
    monkeypatch.chdir(tmp_path)
    before = ctxkit(*command, "--json")
    real = CodexReader.finish

    def finish(self: CodexReader) -> Transcript:
        raise ZeroDivisionError

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(CodexReader, "finish", finish)
    ran = ctxkit(*command, "--json")
    monkeypatch.setattr(CodexReader, "finish", real)
    assert (before.code, ran.code) == (0, 65)
    assert {str(one) for one in ran.values} == {str(one) for one in before.values if "rollout" not in str(one)}
    assert ran.err.count("skipped: a bug: ZeroDivisionError") == 1
    assert "rollout" in ran.err


def test_only_bugs_are_netted() -> None:
    """What ends a command on purpose does, and errors of ours keep their words."""
    for error in (UnknownFormat("x"), OSError("y"), KeyboardInterrupt()):
        with pytest.raises(type(error)), one_of_many("f"):
            raise error
    with (
        pytest.raises(Unforeseen, match=r"f: skipped: a bug: AssertionError at test_tol"),
        one_of_many("f"),
    ):
        raise AssertionError
