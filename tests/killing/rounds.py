"""A round: a writer and a loop of commands on one log, killed at a random moment; then `recover --yes`, and a judge.

What must hold in every round is a violation where it does not: old bytes are there, every record that the writer knew
to be whole is read, an op that was told is there, no command found a bug, nothing private stands in a temporary place,
no half file is left. Whether it was recovered is counted: the context ends at the last exchange that the writer knew to
be whole, or later, and what is left of the one behind that is whole.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from ctxkit import Log
from tests.cli.runner import ctxkit
from tests.killing import commands, writer
from tests.killing.writer import CANARY, Row, known, rows

HEAD = 12
"""Rows that the log holds before."""
EXPECTED, NO = {0, 1, 75}, "there is no message"
"""How commands may end; whoever names a number that the log does not have yet, is told so (exit 2)."""
LONGEST = 0.4
"""Seconds until the kill, at most."""


class Outcome(NamedTuple):
    """`reason`: why it was not recovered, "" where it was; `violations`: what must never happen."""

    seed: int
    native: bool
    reason: str
    violations: list[str]
    written: int
    ran: int
    appended: bool
    torn: bool


def play(seed: int, folder: Path, *, native: bool) -> Outcome:
    """One round in an empty folder."""
    place = Place(folder, seed, native=native)
    random = Random(seed)
    processes = [forked(place.write), forked(place.commands)]
    time.sleep(0.02 + random.random() * LONGEST)
    random.shuffle(processes)
    for process in processes:
        os.kill(process, signal.SIGKILL)
        if random.random() < 0.5:
            time.sleep(random.random() * 0.01)
    ended = [os.waitpid(process, 0)[1] for process in processes]
    return place.judged(by_itself=[status for status in ended if status != signal.SIGKILL])


def forked(work: Callable[[], None]) -> int:
    """A process that does it."""
    process = os.fork()
    if process:
        return process
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(quiet, fd)
        work()
    finally:
        os._exit(1)


class Place:
    """The files of a round. `log/`: the log and its sidecar, `tmp/`: temporary files, `notes/`: journals."""

    def __init__(self, folder: Path, seed: int, *, native: bool) -> None:
        self.seed, self.native = seed, native
        for name in ("log", "tmp", "notes"):
            (folder / name).mkdir()
        self.folder, self.log = folder, folder / "log" / "log.jsonl"
        made = rows(Random(seed), native=native)
        self.start: list[Row] = [next(made) for _ in range(HEAD)]
        while self.start[-1].kind != "answer":
            self.start.append(next(made))
        self.head = b"".join(row.raw.encode() + b"\n" for row in self.start)
        self.log.write_bytes(self.head)

    def write(self) -> None:
        """The writer."""
        last = self.start[-1]
        journal = self.folder / "notes" / "rows"
        writer.write(self.log, journal, self.seed + 1, native=self.native, first=last.n + 1, exchange=last.exchange + 1)

    def commands(self) -> None:
        """The loop."""
        os.environ["TMPDIR"] = str(self.folder / "tmp")
        commands.run(self.log, self.folder / "notes" / "commands", self.seed + 2)

    def judged(self, by_itself: list[int]) -> Outcome:
        """What the kill left, before and after `recover --yes`."""
        wrong = [f"a process ended by itself: {status}" for status in by_itself]
        whole = [*self.start, *known(self.folder / "notes" / "rows")]
        done = commands.done(self.folder / "notes" / "commands")
        wrong += self._bytes(whole)
        wrong += [f"{call}: {code}: {said}" for call, code, _, said in done if code not in EXPECTED and NO not in said]
        raw = self.log.read_bytes()
        before = self.seen()
        ran = ctxkit("recover", self.log, "--yes", "--json")
        if not self.log.read_bytes().startswith(raw):
            wrong.append("recover changed a byte")
        wrong += self._bytes(whole)
        wrong += self._left()
        appended = ran.code == 0 and json.loads(ran.out)["op"] is not None
        reason = f"exit {ran.code}: {ran.err.strip()[-200:]}" if ran.code else ""
        if not reason:
            reason = self._reason(before, self.seen(), whole, [*self.start, *self._there(raw, whole[-1].n)])
            ops = {entry.id for entry in Log.open(self.log).ledger.entries}
            wrong += [f"{call} told of op {op}, which is gone" for call, _, op, _ in done if op and op not in ops]
            if ctxkit("recover", self.log, "--yes").err.startswith("Back at"):
                wrong.append("a second recover found something to do")
        return Outcome(
            self.seed, self.native, reason, wrong, len(whole) - len(self.start), len(done), appended,
            not raw.endswith(b"\n"),
        )  # fmt: skip

    def _there(self, raw: bytes, known: int) -> Iterator[Row]:
        """Rows that are whole in the log, also one that the writer was killed behind before it knew."""
        last = self.start[-1]
        for row in rows(Random(self.seed + 1), native=self.native, first=last.n + 1, exchange=last.exchange + 1):
            if row.raw.encode() in raw:
                yield row
            elif row.n > known:
                return

    def seen(self) -> list[int] | None:
        """Which messages the context has, by what they say; None where it cannot be told."""
        ran = ctxkit("export", self.log, "--to", "chat")
        if ran.code:
            return [] if "nothing to send" in ran.err else None
        return [int(n) for n in re.findall(rf"{CANARY} m(\d+) ", ran.text)]

    def _reason(self, before: list[int] | None, after: list[int] | None, whole: list[Row], there: list[Row]) -> str:
        """Why the context is not what it should be. `whole`: what the writer knew, `there`: what it had written."""
        if before is None or after is None:
            return "the context cannot be told"
        ended = max(row.exchange for row in whole if row.kind == "answer")
        apart = {
            row.exchange for row in whole if row.n not in before
        }  # by an op: it is no whole exchange of the context
        closed = [row.n for row in whole if row.exchange <= ended and row.exchange not in apart]
        lost = sorted(set(closed) - set(after))
        if lost:
            return f"messages of whole exchanges left: {lost}"
        ended = max(row.exchange for row in there if row.kind == "answer")
        open = [row for row in there if row.exchange > ended and row.n in after]
        results = {call for row in open if row.kind == "result" for call in row.calls}
        waiting = [row.n for row in open if row.kind == "call" and not results.issuperset(row.calls)]
        if waiting:
            return f"calls without results stayed: {waiting}"
        unanswered = open and all(row.kind == "question" for row in open)
        answered = any(row.kind in ("call", "answer") and row.n in after for row in there)
        return f"a question without an answer stayed: {open[0].n}" if unanswered and answered else ""

    def _bytes(self, whole: list[Row]) -> list[str]:
        """What happened to bytes that were there, and to whole records."""
        raw = self.log.read_bytes()
        wrong = [] if raw.startswith(self.head) else ["the start of the log was changed"]
        at, lost = 0, []
        for row in whole:
            found = raw.find(row.raw.encode(), at)
            if found < 0:
                lost.append(row.n)
            at = max(at, found)
        if lost:
            wrong.append(f"records that the writer wrote are not there in one piece: {lost}")
        if not self.native and b'"ctxkit"' in raw:
            wrong.append("an op stands in another program's log")
        return wrong

    def _left(self) -> list[str]:
        """What stands in temporary places, and half files beside the log."""
        found = [path for path in (self.folder / "tmp").rglob("*") if path.is_file()]
        beside = [path for path in (self.folder / "log").rglob("*") if path.is_file() and path != self.log]
        kept = re.compile(r"ops\.jsonl|config\.toml|\.lock|snapshots/[^./]+\.json")
        sidecar = self.folder / "log" / "log.jsonl.ctxkit"
        strange = [path for path in beside if not kept.fullmatch(str(path.relative_to(sidecar)))]
        loose = [path for path in beside if path.stat().st_mode & 0o077]
        return [f"left behind: {path}" for path in (*found, *strange)] + [f"not private: {path}" for path in loose]
