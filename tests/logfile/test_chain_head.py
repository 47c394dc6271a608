"""The chain of ops and the head of a log: whatever is done to an op shows (replay 61)."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit import CtxkitError, Log
from ctxkit.core.chain import link
from ctxkit.core.ops import checksum
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import ExitCode, Usage
from ctxkit.logfile.chain_head import head, parting, proved
from tests.cli.runner import ctxkit, good
from tests.effort import some
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
    """All bits of all ops of a native log, line ends too; a push takes one of five, so that each byte is struck."""
    start = native.index(b'{"ctxkit"')
    assert problems(native) == []
    assert [what for what, changed in some(list(flips(native, start, len(native))), 5) if not problems(changed)] == []


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
    for what, changed in some(list(flips(raw, 0, len(raw))), 5):
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
    assert wrong.text == "a record before op 4 was changed since this head was taken"
    grown = Log.open(io.BytesIO(native + as_bytes(RECORDS[:1])), env={})
    grown.mark("later")
    entry, found = proved(grown, kept)
    assert found == [] and entry is not None and entry.number == 4
    assert proved(log, f"head: {kept}\n") == proved(log, kept)  # the line as it is printed
    with pytest.raises(Usage, match="is not a head"):
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


def test_a_damaged_op_is_reported_once(tmp_path: Path, native: bytes) -> None:
    """The break of the chain right after a damaged op is not reported too, but with --strict and by `check`."""
    path, ops = tmp_path / "log.jsonl", ops_of(native)
    path.write_bytes(native.replace(ops[0], ops[0].replace(b"\\u00e9", b"e")))
    assert path.read_bytes() != native
    shown = ctxkit("show", str(path))
    assert shown.code == ExitCode.REFUSED and "is damaged" in shown.err and "follow" not in shown.err
    forced = ctxkit("show", str(path), "--force-replay")
    assert forced.err.count("ctxkit: ") == 1, forced.err
    assert "follow" in ctxkit("show", str(path), "--strict").err
    assert b"does not follow" in ctxkit("check", str(path)).out


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
    assert ran.code == ExitCode.NO and "its newest ops are missing" in ran.out.decode()
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
    ran = good("recover", path, "-o", str(tmp_path / "new.jsonl"))
    assert problems(tmp_path / "new.jsonl") == [] and ran.err.count("head of") == 2
    assert "an op before it is damaged or gone" in ran.err
    path.write_bytes(native)
    good("recover", path, "-o", str(tmp_path / "same.jsonl"))
    assert (tmp_path / "same.jsonl").read_bytes() == native


def test_where_two_copies_part(native: bytes) -> None:
    """`diff LOG1 LOG2` names the last op that both have."""
    one, other = Log.open(io.BytesIO(native), env={}), Log.open(io.BytesIO(native), env={})
    assert parting(one, other) == ""
    one.mark("here")
    other.forget("1")
    other.undo()
    assert parting(one, other) == "ops: the same up to op 4 (protect); then 1 and 2"


def heads(path: Path) -> list[str]:
    """The head that `check` prints."""
    ran = ctxkit("check", str(path))
    return [line.removeprefix("head: ") for line in ran.out.decode().splitlines() if line.startswith("head: ")]


def test_a_head_taken_after_a_break_was_accepted_vouches_for_all(tmp_path: Path) -> None:
    """One taken before says for what it does not; what is changed on either side of the break shows in the other."""
    path, log = tmp_path / "log.jsonl", Log.open(io.BytesIO(as_bytes(RECORDS)), env={})
    for label in "abcd":
        log.mark(label)
    native, whole = b"".join(log.copy_out()), str(head(log))
    path.write_bytes(native.replace(ops_of(native)[1], b""))
    [early] = heads(path)
    for head_, part in ((early, "covers ops 2-3, not op 1"), (whole, "covers ops 2-3, not op 1")):
        ran = ctxkit("check", str(path), "--head", head_)
        assert ran.code == ExitCode.NO and part in ran.out.decode()
    good("check", path, "--accept")
    [late] = heads(path)
    assert late.split("-")[0] != early.split("-")[0] and late.split("-")[1] == early.split("-")[1]
    assert "the head is that of op 3" in good("check", path, "--head", late).err
    assert "take a new head" in ctxkit("check", str(path), "--head", early).out.decode()
    good("mark", path, "later")
    assert "1 op came since" in good("check", path, "--head", late).err
    assert good("check", path, "--head", heads(path)[0]).code == 0
    first, *others = ops_of(path.read_bytes())
    body = json.loads(first) | {"label": "changed"}
    body["sum"] = checksum(body)
    for changed in (b"", dumps(body).encode() + b"\n"):
        path.write_bytes(path.read_bytes().replace(first, changed))
        good("check", path, "--accept")  # whoever writes the log can write what is accepted
        assert "no op of this head" in ctxkit("check", str(path), "--head", late).out.decode()
        path.write_bytes(b"".join([native[: native.index(first)], first, *others]))
    assert good("check", path, "--head", late).code == 0


def test_a_damaged_op_that_is_undone_can_be_accepted(tmp_path: Path, native: bytes) -> None:
    """It does no harm and cannot be mended: noted once, it is no finding any more; another damage is."""
    path = tmp_path / "log.jsonl"
    raw = native.replace(b'"ids":"2"', b'"ids":"3"')
    path.write_bytes(raw)
    assert problems(path) == ["damaged-op-void", "chain"]
    assert "1 break of the chain and 1 undone op accepted" in good("check", path, "--accept").err
    assert problems(path) == [] and "(accepted)" in good("check", path).out.decode()
    path.write_bytes(raw.replace(b'"ids":"3"', b'"ids":"4"', 1))
    assert problems(path) == ["damaged-op-void", "chain"]


def test_interrupted_lines_of_the_same_row(tmp_path: Path) -> None:
    """The log's program says that it was interrupted behind an op of ours, or before: at the same row of the log, so
    the replay takes it first. The chain knows which came first, and vouches for the line once an op names it.
    """
    path, stopped = tmp_path / "s.jsonl", b'{"ctxkit":"interrupted"}\n'
    path.write_bytes(ROWS + stopped)
    for number in range(3):
        Log.open(path, env={}).mark(str(number))
        with path.open("ab") as file:
            file.write(stopped)
        assert problems(path) == []
    Log.open(path, env={}).forget("2")
    [kept] = heads(path)
    assert problems(path) == [] and good("check", path, "--head", kept).code == 0
    path.write_bytes(ROWS + stopped * 3)
    assert problems(path) == ["chain"]


def test_ops_in_another_order(tmp_path: Path) -> None:
    """Rows that its program drops can let a later op of a sidecar stand before an earlier one: said."""
    rows = ROWS.splitlines(keepends=True)
    noise = [b'{"type":"progress","uuid":"p%d"}\n' % n for n in range(9)]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join([*rows, *noise[:3]]))
    Log.open(path, env={}).mark("a")
    path.write_bytes(b"".join([*rows, *noise]))
    Log.open(path, env={}).mark("b")
    beside = tmp_path / "s.jsonl.ctxkit" / "ops.jsonl"
    path.write_bytes(b"".join([*rows, *noise[:4]]))
    assert [entry.body["label"] for entry in Log.open(path, env={}).ledger.entries] == ["b", "a"]
    log = Log.open(path, env={})
    [found] = [one for one in log.check() if one.code == "reordered"]
    assert found.where == "op 2" and "was written before op 1" in found.text
    assert beside.read_bytes().count(b"\n") == 2
