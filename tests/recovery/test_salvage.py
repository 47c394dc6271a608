"""Salvage: whatever was done to a log, its copy has no damage, reads as the log does, and every other byte is told."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.text.json_spelling import MENDS
from ctxkit.core.text.json_text import finite
from ctxkit.errors import ManyConversations, NothingToSend, UnknownFormat
from ctxkit.recovery.salvage import Salvaged
from tests.cli.runner import SMALL, lines
from tests.damage import test_documents as documents
from tests.damage.rows import ALL as ROWS
from tests.damage.rows import TEN, damaged
from tests.damage.sessions import ALL, DOCUMENTS, LINES, sent, told
from tests.damage.test_any import damaged as anyhow
from tests.effort import part, some
from tests.shared import shared

FOLDER = "transcripts/derived-corrupt"
OF_LINKS = {"dup-key", "missing-parent", "cycle", "reused-id", "other-session", "no-result", "no-call"}
"""What `check` finds in whole records: nothing is wrong with the file."""


def opened(raw: bytes) -> Log:
    """A log from memory."""
    return Log.open(io.BytesIO(raw))


def requests(log: Log) -> Any:
    """What goes out of it, to two providers."""
    try:
        return [[finite(one) for one in log.export(to, assembly=False).values] for to in ("chat", "anthropic")]
    except NothingToSend:
        return None


def copied(raw: bytes) -> tuple[bytes, Salvaged]:
    """The copy, with all that is promised of it: no damage, the same context and ops, every byte accounted for."""
    log = opened(raw)
    made = log.salvage()
    copy = b"".join(made.pieces)
    again = opened(copy)
    assert again.transcript.damage == [] and again.transcript.format == log.transcript.format
    assert {one.code for one in again.check() if one.where.startswith("line")} <= OF_LINKS
    assert (again.transcript.rows, len(again.messages)) == (log.transcript.rows, len(log.messages))
    assert [one.id for one in again.ledger.entries] == [one.id for one in log.ledger.entries]
    assert [kind for kind, _ in told(again)] == [kind for kind, _ in told(log)]
    assert requests(again) == requests(log)
    assert made.size == len(copy) and (copy == raw) == (not made.ranges)
    accounted(raw, copy, made)
    assert b"".join(again.salvage().pieces) == copy
    return copy, made


def accounted(raw: bytes, copy: bytes, made: Salvaged) -> None:
    """The log without the ranges is the copy; what was mended stands in it as one line, a line end where one is due."""
    at, into = 0, 0
    for one in made.ranges:
        assert one.offset >= at and one.line == raw.count(b"\n", 0, one.offset) + 1 and one.text
        kept = raw[at : one.offset]
        assert copy[into : into + len(kept)] == kept
        into, at = into + len(kept), one.offset + one.size
        if one.kind == "mended":
            rest = copy[into:]
            end = json.JSONDecoder().raw_decode(rest.decode("utf-8", "surrogatepass"))[1] if rest else 0
            into += len(rest.decode("utf-8", "surrogatepass")[:end].encode("utf-8", "surrogatepass"))
        elif copy[into : into + 1] == b"\n" and raw[at : at + 1] != b"\n" and kept[-1:] not in (b"\n", b""):
            into += 1
        elif one.kind == "parted":
            assert copy[into : into + 1] == b"\n"
            into += 1
    assert copy[into:].startswith(raw[at:])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("row", [*ROWS, *TEN])
def test_every_damage(row: str) -> None:
    """Each row of the failure catalogue, in the formats of a record a line: the words are those of the log."""
    for name in some([*LINES], 3, [*ROWS, *TEN].index(row)):
        mended(damaged(row, name))


def mended(raw: bytes) -> None:
    """What a copy of it says, and what it says of the damage."""
    copy, made = copied(raw)
    assert sent(opened(copy)) == sent(opened(raw))
    kinds = {one.code for one in made.ranges}
    read = {one.code for one in opened(raw).transcript.damage}
    assert kinds <= read | {*MENDS, "bom", "not-json", "nul-block"} and (made.ranges or not read)


@pytest.mark.one_in(3, first=1)
@pytest.mark.parametrize("row", documents.ROWS)
def test_one_json_text(row: str) -> None:
    """The same of what is one JSON text, or a refusal that says so; a cut off one is closed."""
    for name in some([*DOCUMENTS], 3, [*documents.ROWS].index(row)):
        raw = documents.ROWS[row].made(DOCUMENTS[name].clean)
        try:
            copied(raw)
        except UnknownFormat as error:
            assert row.startswith(("F06", "J13", "J16")), (row, name)
            assert "nothing was written" in error.message and error.hint.startswith("ctxkit export")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ALL)
def test_any_damage(name: str) -> None:
    """Bytes flipped, cut, put in, the same in every run. Of a record that is nothing but such a number in a place of
    its structure, null may read otherwise: those are left out."""
    chance = random.Random(f"salvage {name}")
    done = 0
    for _ in range(part(250)):
        raw = anyhow(ALL[name].clean, chance)
        try:
            if not _numbers(raw):
                copied(raw)
                done += 1
        except UnknownFormat:
            continue
    assert done > part(250) / 5


def _numbers(raw: bytes) -> bool:
    made = opened(raw).salvage()
    b"".join(made.pieces)
    return any("null" in one.text for one in made.ranges)


@pytest.mark.parametrize("name", LINES)
def test_sound(name: str) -> None:
    """A log without damage gives an equal copy."""
    for raw in (LINES[name].clean, LINES[name].clean[:-1], LINES[name].clean.replace(b"\n", b"\r\n\r\n")):
        made = opened(raw).salvage()
        assert b"".join(made.pieces) == raw and made.ranges == [] and made.records == len(LINES[name].lines)


def test_files() -> None:
    """The kinds of damage that users reported."""
    paths = sorted(shared(FOLDER).glob("*.jsonl"))
    assert len(paths) == 10
    for path in paths:
        copied(path.read_bytes())


def test_ops_stay(tmp_path: Path) -> None:
    """Those of a native log fit the copy, whatever stands between the records."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    log = Log.open(path)
    log.mark("here")
    log.forget("3")
    log.protect("4")
    rows = path.read_bytes().splitlines()
    raw = (
        b"\xef\xbb\xbf"
        + rows[0]
        + rows[1]
        + b"\0" * 9
        + b"\n"
        + b'{"role":"us'
        + b"\r\n".join(rows[2:])
        + b'\n{"ctxkit":"fo'
    )
    copy, made = copied(raw)
    again = opened(copy)
    assert [entry.op.name for entry in again.ledger.entries] == ["mark", "forget", "protect"]
    assert again.names() == Log.open(path).names() and copy.replace(b"\r\n", b"\n") == path.read_bytes()
    told_of = [(one.code, one.kind, one.size) for one in made.ranges]
    assert told_of == [
        ("bom", "left", 3), ("glued", "added", 0), ("nul-block", "left", 9), ("torn-prefix", "left", 11),
        ("torn-tail", "left", 13),
    ]  # fmt: skip


def test_no_whole_record() -> None:
    """Of a log whose only append was cut off nothing is left."""
    made = opened(b'{"role":"us').salvage()
    assert b"".join(made.pieces) == b"" and [one.size for one in made.ranges] == [11]
    assert b"".join(opened(b"").salvage().pieces) == b""


def test_much_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than can be looked at line by line is one range."""
    monkeypatch.setattr("ctxkit.recovery.salvage.LARGE", 100)
    first, *others = lines({"role": "user", "content": "a"}, {"role": "user", "content": "b"}).splitlines(keepends=True)
    made = opened(first + b"\0" * 999 + b"\n" + b"".join(others)).salvage()
    assert b"".join(made.pieces) == first + b"".join(others)
    assert [(one.offset, one.code) for one in made.ranges] == [(len(first) - 1, "nul-block")]


def test_conversations_a_line() -> None:
    """A file of them, one cut off: the whole ones."""
    rows = [json.dumps({"id": n, "messages": [{"role": "user", "content": f"hi {n}"}]}).encode() for n in range(3)]
    raw = b"\n".join([rows[0], rows[1][:20], rows[2], b""])
    with pytest.raises(ManyConversations):
        opened(raw)
    log = Log.open(io.BytesIO(raw), conversation=2)
    assert b"".join(log.salvage().pieces) == rows[0] + b"\n" + rows[2] + b"\n"
    marked = Log.open(io.BytesIO(b"\xef\xbb\xbf" + raw), conversation=2)
    assert b"".join(marked.salvage().pieces) == rows[0] + b"\n" + rows[2] + b"\n"


def test_another_format() -> None:
    """A copy that would be read as something else is none: the damage had kept it from that."""
    one = json.dumps({"id": 1, "messages": [{"role": "user", "content": "hi"}]}).encode()
    log = opened(b'{"ro\n' * 3 + one + b"\n" + SMALL)
    with pytest.raises(UnknownFormat, match="as another format: nothing was written"):
        b"".join(log.salvage().pieces)
