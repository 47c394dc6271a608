"""The chain of ops and the head of a log: whatever is done to an op shows (REPLAY 61)."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit import CtxkitError, Log
from ctxkit.chain import head, parting, proved
from ctxkit.core.chain import link
from ctxkit.core.jsontext import dumps
from ctxkit.core.ops import checksum
from ctxkit.errors import ExitCode, Usage
from tests.cli.runner import ctxkit, good
from tests.lawful import as_bytes

RECORDS = [{"role": ("user", "assistant")[n % 2], "content": f"m{n} é"} for n in range(4)]
ROWS = as_bytes(
    {"type": record["role"], "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "s",
     "timestamp": f"2026-02-01T10:0{n}:00Z", "message": record}
    for n, record in enumerate(RECORDS)
)  # fmt: skip


def worked(log: Log) -> Log:
    """A log with ops of several kinds."""
    log.mark("é")
    log.forget("2")
    log.undo()
    log.protect("3")
    return log


@pytest.fixture
def native() -> bytes:
    """A log with its ops."""
    log = worked(Log.open(io.BytesIO(as_bytes(RECORDS)), env={}))
    return b"".join(log.copy_out())


def problems(raw: bytes | Path) -> list[str]:
    """What `check` finds, or the error that reading ends with; notes are none."""
    try:
        log = Log.open(io.BytesIO(raw) if isinstance(raw, bytes) else raw, env={})
        log.state()
        return [one.code for one in log.check()]
    except CtxkitError as error:
        return [type(error).__name__]


def flips(raw: bytes, start: int, end: int) -> Iterator[tuple[str, bytes]]:
    """Every single bit of these bytes, flipped."""
    for place in range(start, end):
        for bit in range(8):
            changed = bytearray(raw)
            changed[place] ^= 1 << bit
            yield f"byte {place} {raw[place : place + 1]!r} bit {bit}", bytes(changed)


def ops_of(raw: bytes) -> list[bytes]:
    """The lines that are ops."""
    return [line for line in raw.splitlines(keepends=True) if b'"ctxkit"' in line]


def test_every_flipped_bit_shows(native: bytes) -> None:
    """All bits of all ops of a native log, line ends too."""
    start = native.index(b'{"ctxkit"')
    assert problems(native) == []
    assert [what for what, changed in flips(native, start, len(native)) if not problems(changed)] == []


def test_every_flipped_bit_of_a_sidecar_shows(tmp_path: Path) -> None:
    """The same for the ops of a log that another program owns."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(ROWS)
    log = Log.open(path, env={})
    log.mark("a")
    log.forget("2")
    beside = tmp_path / "s.jsonl.ctxkit" / "ops.jsonl"
    raw = beside.read_bytes()
    unseen = []
    for what, changed in flips(raw, 0, len(raw)):
        beside.write_bytes(changed)
        if not problems(path):
            unseen.append(what)
    assert unseen == []
    beside.write_bytes(b"")
    assert problems(path) == []  # its first op may be on its way
    os.utime(beside, (0, 0))
    assert problems(path) == ["no-ops"]
    beside.write_bytes(raw + b'{"no":"op"}\n')
    assert problems(path) == ["not-an-op"]


def test_deleting_swapping_inserting_and_editing_show(native: bytes) -> None:
    """Every op but the newest taken out, every two neighbours swapped, every op said twice under another id, every op
    edited and sealed anew.
    """
    rows, ops = native[: native.index(b'{"ctxkit"')], ops_of(native)
    for k in range(len(ops) - 1):
        assert problems(rows + b"".join(ops[:k] + ops[k + 1 :])), f"op {k + 1} is gone"
        swapped = [*ops[:k], ops[k + 1], ops[k], *ops[k + 2 :]]
        assert problems(rows + b"".join(swapped)), f"op {k + 1} is swapped with the next"
        body = json.loads(ops[k])
        for key, value in (("id", "other"), ("ts", "2026-01-01T00:00:00Z"), ("extra", 1)):
            edited = {**body, key: value}
            edited["sum"] = checksum(edited)
            line = dumps(edited).encode() + b"\n"
            assert problems(rows + b"".join([*ops[:k], line, *ops[k + 1 :]])), f"op {k + 1}: {key} is edited"
            assert key != "id" or problems(rows + b"".join([*ops[: k + 1], line, *ops[k + 1 :]]))
        bare = {key: value for key, value in body.items() if key not in ("prev", "sum")} | {"id": "by-hand"}
        line = dumps(bare).encode() + b"\n"
        assert problems(rows + b"".join([*ops[: k + 1], line, *ops[k + 1 :]]))
    assert problems(native + line) == ["chain"]


def test_only_the_head_sees_what_is_gone_at_the_end(native: bytes) -> None:
    """The newest ops taken out, a record changed: the log itself cannot show it, its head does."""
    log = Log.open(io.BytesIO(native), env={})
    kept = str(head(log))
    assert proved(log, kept)[1] == [] and proved(log, kept[:20] + "-" + kept.split("-")[1][:16])[1] == []
    for shorter in (native[: native.rindex(b'{"ctxkit"')], native[: native.index(b'{"ctxkit"')]):
        assert problems(shorter) == []
        assert [one.code for one in proved(Log.open(io.BytesIO(shorter), env={}), kept)[1]] == ["head"]
    changed = native.replace(b"m1", b"M1", 1)
    assert problems(changed) == []
    [wrong] = proved(Log.open(io.BytesIO(changed), env={}), kept)[1]
    assert wrong.text == "a record before op 4 is not what it was when this head was taken"
    grown = Log.open(io.BytesIO(native + as_bytes(RECORDS[:1])), env={})
    grown.mark("later")
    entry, found = proved(grown, kept)
    assert found == [] and entry is not None and entry.number == 4
    with pytest.raises(Usage, match="is no head"):
        proved(log, "abc")


def test_a_text_with_backslashes_is_spelled_as_it_was_written() -> None:
    """Words that look like an escape are no escape."""
    log = Log.open(io.BytesIO(as_bytes(RECORDS)), env={})
    log.mark(r"\u00E9 \\u00E9")
    assert log.check() == []


def test_older_ops_go_on_as_they_are() -> None:
    """Ops without `prev` are read as ever, and said once not to be chained; the next op names the last of them."""
    old = {"ctxkit": "forget", "v": 1, "id": "a1", "at": {"messages": 4}, "ids": "2"}
    raw = as_bytes([*RECORDS, old])
    log = Log.open(io.BytesIO(raw), env={})
    assert problems(raw) == [] and log.names() == [1, 3, 4]
    assert [one.code for one in log.check(notes=True)] == ["unchained"]
    op = log.protect("3")
    assert op is not None and op.prev == link(old)
    assert log.check() == [] and [one.where for one in log.check(notes=True)] == ["op 1"]


def test_a_look_warns_once_and_strict_refuses(tmp_path: Path, native: bytes) -> None:
    """One line on stderr; with --strict 65; once accepted, silence, and `check` lists it."""
    path, ops = tmp_path / "log.jsonl", ops_of(native)
    path.write_bytes(native.replace(ops[0], b"").replace(ops[1], b"").replace(ops[2], b""))
    shown = ctxkit("show", str(path))
    assert shown.code == 0 and shown.err.count("does not follow the op before it") == 1
    assert ctxkit("show", str(path), "--strict").code == ExitCode.REFUSED
    assert ctxkit("check", str(path)).code == ExitCode.NO
    before = path.read_bytes()
    accepted = good("check", path, "--accept")
    assert "1 break of the chain accepted" in accepted.err and "(accepted)" in accepted.out.decode()
    assert "follow" not in good("show", path, "--strict").err and path.read_bytes() == before
    assert ctxkit("check", "-", "--accept", stdin=before).code == ExitCode.USAGE


def test_check_prints_the_head_and_compares(tmp_path: Path, native: bytes) -> None:
    """What is printed, given back, is found; with an op gone it is not."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(native)
    line = good("check", path).out.decode().splitlines()[-1]
    told = line.removeprefix("head: ")
    assert line.startswith("head: ") and len(told) == 129
    assert "the head is that of op 4 (protect); 0 ops came since" in good("check", path, "--head", told).err
    path.write_bytes(native[: native.rindex(b'{"ctxkit"')])
    ran = ctxkit("check", str(path), "--head", told)
    assert ran.code == ExitCode.NO and "its newest ops are gone" in ran.out.decode()
    digests = [value["digest"] for value in good("log", path, "--json").values]
    assert digests[-1] == json.loads(ops_of(native)[3])["prev"]


def test_pipes_are_chained(native: bytes) -> None:
    """Op after op through pipes is one chain."""
    for words in (["mark", "-"], ["window", "-", "8h"], ["undo", "-"]):
        native = ctxkit(*words, stdin=native).out
        assert problems(native) == []
    prevs = [json.loads(line)["prev"] for line in ops_of(native)]
    assert prevs[0] == "" and len(set(prevs)) == len(prevs) == 7


def test_salvage_writes_the_chain_anew(tmp_path: Path, native: bytes) -> None:
    """A damaged op is not taken: the copy is whole again, and its report says which ops name another one."""
    path, ops = tmp_path / "log.jsonl", ops_of(native)
    path.write_bytes(native.replace(ops[0], ops[0][:60] + b"\n"))
    assert problems(path)
    ran = good("salvage", path, "-o", str(tmp_path / "new.jsonl"))
    assert problems(tmp_path / "new.jsonl") == [] and ran.err.count("head of") == 2
    assert "an op before it is damaged or gone" in ran.err
    path.write_bytes(native)
    good("salvage", path, "-o", str(tmp_path / "same.jsonl"))
    assert (tmp_path / "same.jsonl").read_bytes() == native


def test_where_two_copies_part(native: bytes) -> None:
    """`diff LOG1 LOG2` names the last op that both have."""
    one, other = Log.open(io.BytesIO(native), env={}), Log.open(io.BytesIO(native), env={})
    assert parting(one, other) == ""
    one.mark("here")
    other.forget("1")
    other.undo()
    assert parting(one, other) == "ops: the same up to op 4 (protect); then 1 and 2"
