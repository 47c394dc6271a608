"""What the chain of ops and the two-client machine come to, as figures: `python -m tests.chains` (just chain).

Pairs of commands by schedules, and what they violated, with and without the look under the lock; changes of op lines
tried and seen; logs without `prev`, read to the same context.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from ctxkit.core.ops import checksum
from ctxkit.core.text.json_text import dumps
from tests.lawful import Records, as_bytes, context, copied, opened, tried
from tests.logfile.test_chain_head import RECORDS, ROWS, flips, ops_of, problems, worked
from tests.test_two_clients import CLIENTS, KINDS, blind, prepared, started, wrong
from tests.whole import FILES, FORMATS, drawn, source

OLD = 40
"""Logs of each format that are read as an older ctxkit wrote them."""


def changes(rows: bytes, ops: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """Every op but the newest taken out, swapped with the next, followed by another one, edited and sealed anew."""
    for k in range(len(ops) - 1):
        yield "deletion", rows + b"".join(ops[:k] + ops[k + 1 :])
        yield "swap", rows + b"".join([*ops[:k], ops[k + 1], ops[k], *ops[k + 2 :]])
        body = json.loads(ops[k])
        by_hand = {key: value for key, value in body.items() if key not in ("prev", "sum")} | {"id": "by-hand"}
        another = dumps(by_hand).encode() + b"\n"
        yield "insertion", rows + b"".join([*ops[: k + 1], another, *ops[k + 1 :]])
        for key, value in (("id", "other"), ("ts", "2026-01-01T00:00:00Z"), ("extra", 1), ("at", {"messages": 1})):
            yield "edit, sealed anew", rows + b"".join([*ops[:k], _sealed({**body, key: value}), *ops[k + 1 :]])


def _sealed(body: dict[str, object]) -> bytes:
    return dumps({**body, "sum": checksum(body)}).encode() + b"\n"


def tampered() -> tuple[Counter[str], Counter[str]]:
    """Changes tried, and not seen, by kind: of a native log, and of the sidecar of one that another program owns."""
    tried_, unseen = Counter[str](), Counter[str]()
    native = copied(worked(opened(as_bytes(RECORDS))))
    start = native.index(b'{"ctxkit"')
    for kind, changed in [*(("flip", raw) for _, raw in flips(native, start, len(native))),
                          *changes(native[:start], ops_of(native))]:  # fmt: skip
        tried_[f"native: {kind}"] += 1
        unseen[f"native: {kind}"] += not problems(changed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(ROWS)
        worked(opened(path))
        beside = Path(folder) / "s.jsonl.ctxkit" / "ops.jsonl"
        raw = beside.read_bytes()
        for kind, changed in [*(("flip", one) for _, one in flips(raw, 0, len(raw))), *changes(b"", ops_of(raw))]:
            beside.write_bytes(changed)
            tried_[f"sidecar: {kind}"] += 1
            unseen[f"sidecar: {kind}"] += not problems(path)
    return tried_, unseen


def older(raw: bytes) -> bytes:
    """A log as a ctxkit before the chain wrote it: no op names the one before it."""
    return b"".join(_unchained(line) if line.startswith(b'{"ctxkit":') else line for line in raw.splitlines(True))


def _unchained(line: bytes) -> bytes:
    body = json.loads(line)
    if "prev" not in body:
        return line
    return _sealed({key: value for key, value in body.items() if key not in ("prev", "sum")})


def read_as_before(name: str, number: int) -> bool:
    """Whether a real session with random ops has the same context where these have no `prev`, and goes on."""
    path, commands = drawn(name, number)
    log = opened(source(path))
    for command in commands:
        tried(log, command)
    old = opened(older(copied(log)))
    same = context(old) == context(log)
    old.mark("next")
    return same and not [one for one in old.check() if one.code in ("chain", "damaged-op", "misfit")]


def native_as_before() -> bool:
    """The same of a native log."""
    log = worked(opened(as_bytes(RECORDS)))
    return context(opened(older(copied(log)))) == context(log)


def pairs(folder: Path, *, again: bool = False, looks: bool = True) -> tuple[int, Records]:
    """All pairs of commands on a log of each kind; how many ran, and what was wrong. `looks`: under the lock."""
    ran, found = 0, []
    for kind in KINDS:
        start = started(kind, _new(folder / f"{kind}{again}"))
        firsts = prepared(start, _new(folder / f"firsts-{kind}{again}"))
        for k, second in enumerate(CLIENTS):
            for place, (name, first) in enumerate(firsts.items()):
                ran += 1
                with nullcontext() if looks else blind():
                    text = wrong(start, folder / f"{kind}{again}-{k}", str(place), first, second, again=again)
                if text:
                    found.append({"log": kind, "first": name, "second": second.name, "wrong": text})
    return ran, found


def _new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def main() -> int:
    """Runs all, and prints the figures; 1 where one of them is not as it should be."""
    begun, bad = time.monotonic(), 0
    tries, unseen = tampered()
    for kind, count in tries.items():
        print(f"{kind}: {count:,} tried, {count - unseen[kind]:,} seen", flush=True)
    bad += sum(unseen.values())
    same = native_as_before()
    bad += not same
    print(f"native log without prev: {'the same context' if same else 'ANOTHER CONTEXT'}")
    for name in FORMATS:
        equal = sum(read_as_before(name, number) for number in range(OLD)) if FILES[name] else 0
        print(f"{name}: {equal} of {OLD if FILES[name] else 0} logs without prev have the same context", flush=True)
        bad += bool(FILES[name]) * (OLD - equal)
    with tempfile.TemporaryDirectory() as folder:
        for words, again in (
            ("another op before it is appended", False),
            ("and one more while it is decided anew", True),
        ):
            ran, found = pairs(Path(folder) / str(again), again=bool(again))
            print(f"pairs, {words}: {ran:,} ran, {len(found)} violations", *found, sep="\n  ", flush=True)
            bad += len(found)
        ran, found = pairs(Path(folder) / "blind", looks=False)
        print(f"pairs, without the look under the lock: {ran:,} ran, {len(found)} violations are caught", flush=True)
        bad += not found
    print(f"{time.monotonic() - begun:.0f} s")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
