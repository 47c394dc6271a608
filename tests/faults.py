"""Every system call of a writing operation, made to fail in every way: `run_matrix`.

For each k-th call of the operation and each start state, it is run with that call failing or cut short, or is killed
there (in a forked child); then it is tried again undisturbed. What must hold:

- the bytes of the log from before are a prefix of the bytes after it, and its whole records are still read;
- what was acknowledged is there, for a strict reader that parses line by line too;
- a second try succeeds, and its record is then there for the strict reader; a tolerant reader sees its id once;
- nothing but a CtxkitError is raised.

A partial write is one as the kernel makes it: some bytes arrive, the count is returned, and the next write fails.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.core.text.json_text import loads
from ctxkit.errors import CtxkitError
from ctxkit.formats.base import Row
from ctxkit.store.jsonl import read_blocks
from ctxkit.store.source import open_log

Record = dict[str, Any]

CALLS: tuple[tuple[Any, str], ...] = (
    *((os, name) for name in ("open", "write", "pread", "read", "fsync", "lseek", "close", "fstat", "stat", "mkdir")),
    *((os, name) for name in ("replace", "unlink", "link", "fchmod", "ftruncate", "dup")),
    (fcntl, "flock"), (fcntl, "fcntl"),
)  # fmt: skip
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR}
FAULTS = ("SIGKILL", *ERRORS)
WHOLE = b'{"role":"user","content":"one"}\n{"role":"assistant","content":"two"}\n'
STARTS = {
    "clean": WHOLE,
    "torn": WHOLE + b'{"role":"user","content":"thr',
    "empty": b"",
    "nul tail": WHOLE + b"\0" * 64,
}


class Point(NamedTuple):
    """Where and how a run is disturbed: the k-th call, `when` ("before", "after", or bytes of a partial write)."""

    k: int
    call: str
    when: str
    fault: str


@dataclass
class Tally:
    """Runs of one call and fault, and what they violated."""

    operation: str
    call: str
    fault: str
    runs: int = 0
    fired: int = 0
    violations: list[str] = field(default_factory=list)


class Disturber:
    """Counts the wrapped calls, and strikes at one of them."""

    def __init__(self, point: Point | None) -> None:
        self.point = point
        self.calls: list[str] = []
        self.fired = False
        self.full: OSError | None = None

    def wrap(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call`, counted and perhaps disturbed. fsync does nothing: no power is cut here, and disks are slow."""

        def wrapped(*args: Any, **named: Any) -> Any:
            self.calls.append(name)
            if name == "write" and self.full is not None:
                raise self.full
            point = self.point
            if point is None or len(self.calls) != point.k:
                return None if name == "fsync" else call(*args, **named)
            self.fired = True
            if point.when == "before":
                self.strike(point.fault)
            if point.when in ("before", "after"):
                try:
                    return None if name == "fsync" else call(*args, **named)
                finally:
                    self.strike(point.fault)
            content = bytes(args[1])
            size = {"1 byte": 1, "half": len(content) // 2, "n-1": len(content) - 1}[point.when]
            count = call(args[0], content[:size])
            if point.fault == "SIGKILL":
                self.strike(point.fault)
            if point.fault != "EINTR":  # after that one, the rest can be written
                self.full = OSError(ERRORS[point.fault], os.strerror(ERRORS[point.fault]))
            return count

        return wrapped

    def strike(self, fault: str) -> None:
        """Kill the process, or fail."""
        if fault == "SIGKILL":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(ERRORS[fault], os.strerror(ERRORS[fault]))

    @contextmanager
    def installed(self) -> Iterator[None]:
        """All calls go through `wrap`."""
        originals = [(module, name, getattr(module, name)) for module, name in CALLS]
        for module, name, call in originals:
            setattr(module, name, self.wrap(name, call))
        try:
            yield
        finally:
            for module, name, call in originals:
                setattr(module, name, call)


def tolerant(path: Path) -> list[Record]:
    """The records that ctxkit reads; of those with an id, the first of each."""
    found: list[Record] = []
    ids: set[str] = set()
    if not path.exists():
        return found
    with open_log(path) as source:
        for block in read_blocks(source, Row, []):
            for i in range(len(block.rows)):
                record = loads(block.raw(i))
                key = record.get("id")
                if key is None or key not in ids:
                    found.append(record)
                ids.add(key)
    return found


def strict(path: Path) -> list[Record]:
    """The records that a reader sees which knows nothing but lines of JSON and skips what is none."""
    found = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def run_matrix(
    operation: Callable[[Path], None],
    effect: Callable[[Record], bool],
    folder: Path,
    *,
    name: str = "",
    starts: dict[str, bytes] | None = None,
    written: Callable[[Path], Path] = lambda log: log,
    idempotent: bool = True,
    prepare: Callable[[Path], None] = lambda log: None,
    inspect: Callable[[Path, bool], Iterable[str]] = lambda log, acknowledged: (),
    every: int = 1,
    first: int = 0,
) -> list[Tally]:
    """Disturb `operation(log)` at every call.

    It returns when its effect is acknowledged and raises CtxkitError otherwise. `effect` knows the record it appends;
    `written` is the file that this goes to (the log, or a file of its sidecar). `idempotent`: it always appends
    the same id, so that a second try may not be seen twice; a command that mints a new id each time is not.
    `prepare` is run on each fresh log; `inspect(log, acknowledged)` yields further violations after each try. `every`:
    one of so many points is disturbed, from point `first` on; evenly over calls and faults where it is odd.
    """
    tallies: dict[tuple[str, str], Tally] = {}
    log = folder / "run" / "log.jsonl"
    gc.collect()
    gc.freeze()
    try:
        for start, content in (STARTS if starts is None else starts).items():
            _reset(log, content)
            prepare(log)
            for point in islice(_points(_calls(operation, log)), first, None, every):
                _reset(log, content)
                prepare(log)
                tally = tallies.setdefault((point.call, point.fault), Tally(name, point.call, point.fault))
                tally.runs += 1
                for violation in _one(operation, effect, log, content, written, point, idempotent, inspect, tally):
                    place = f"{start}, {point.when} call {point.k} {point.call}, {point.fault}"
                    tally.violations.append(f"{place}: {violation}")
    finally:
        shutil.rmtree(log.parent, ignore_errors=True)
    return list(tallies.values())


def each_run(
    operation: Callable[[Path], None], log: Path, reset: Callable[[], None], *, every: int = 1, first: int = 0
) -> Iterator[tuple[Point, str | None]]:
    """Disturb `operation(log)` at every call, each time on what `reset` makes: where and how, and what was raised.

    For operations on other files than logs: the caller looks at what they left. What was raised is "" where the
    operation acknowledged, None where it was killed.
    """
    gc.collect()
    gc.freeze()
    gc.disable()  # a log that nobody holds any more is closed between runs, not within one
    try:
        reset()
        gc.collect()
        for point in islice(_points(_calls(operation, log)), first, None, every):
            reset()
            gc.collect()
            yield point, _run(operation, log, point, Tally("", point.call, point.fault))
    finally:
        gc.enable()


def table(tallies: list[Tally]) -> str:
    """Operation, call, fault, runs, how often the fault was reached, violations; the first few of these in words."""
    lines = [f"{'operation':<18}{'call':<10}{'fault':<9}{'runs':>5}{'fired':>7}{'violations':>12}"]
    for one in tallies:
        found = len(one.violations)
        lines.append(f"{one.operation:<18}{one.call:<10}{one.fault:<9}{one.runs:>5}{one.fired:>7}{found:>12}")
    runs, violations = sum(t.runs for t in tallies), [v for t in tallies for v in t.violations]
    lines.append(f"{'all':<37}{runs:>5}{sum(t.fired for t in tallies):>7}{len(violations):>12}")
    return "\n".join([*lines, *violations[:20]])


def _reset(log: Path, content: bytes) -> None:
    shutil.rmtree(log.parent, ignore_errors=True)
    log.parent.mkdir(parents=True)
    log.write_bytes(content)


def _points(calls: list[str]) -> Iterator[Point]:
    for k, call in enumerate(calls, 1):
        for when in ("before", "after", *(("1 byte", "half", "n-1") if call == "write" else ())):
            for fault in FAULTS:
                yield Point(k, call, when, fault)


def _calls(operation: Callable[[Path], None], log: Path) -> list[str]:
    """The calls of an undisturbed run."""
    disturber = Disturber(None)
    with disturber.installed():
        operation(log)
    return disturber.calls


def _run(operation: Callable[[Path], None], log: Path, point: Point, tally: Tally) -> str | None:
    """One disturbed run: what was raised, "" where the operation acknowledged, None where it was killed."""
    if point.fault == "SIGKILL":
        child = os.fork()
        if child == 0:
            try:
                _disturbed(operation, log, point)
            finally:
                os._exit(0)
        killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        tally.fired += killed
        return None if killed else "the child was not killed"
    before = _descriptors()
    raised, fired = _disturbed(operation, log, point)
    tally.fired += fired
    gc.collect()  # a log lets go of its file with its last reference, which may be in a cycle of an exception
    for fd in _descriptors() - before:  # what a failed close left: the end of a process closes it
        os.close(fd)
    return raised


def _descriptors() -> set[int]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the one that listed them
            os.fstat(int(name))
            found.add(int(name))
    return found


def _disturbed(operation: Callable[[Path], None], log: Path, point: Point) -> tuple[str, bool]:
    disturber = Disturber(point)
    try:
        with disturber.installed():
            operation(log)
    except Exception as error:
        return type(error).__name__ if isinstance(error, CtxkitError) else f"a traceback: {error!r}", disturber.fired
    return "", disturber.fired


def _one(
    operation: Callable[[Path], None], effect: Callable[[Record], bool], log: Path, content: bytes,
    written: Callable[[Path], Path], point: Point, idempotent: bool,
    inspect: Callable[[Path, bool], Iterable[str]], tally: Tally,
) -> Iterator[str]:  # fmt: skip
    """One run; what it violated."""
    target = written(log)
    whole = [record for record in tolerant(log) if not effect(record)]
    raised = _run(operation, log, point, tally)
    if raised is not None and " " in raised:
        yield raised
    yield from _kept(log, content, whole, effect)
    seen = sum(map(effect, tolerant(target)))
    if raised == "" and not any(map(effect, strict(target))):
        yield "acknowledged, and not there"
    if seen > 1:
        yield f"seen {seen} times"
    yield from inspect(log, raised == "")
    try:
        with Disturber(None).installed():
            operation(log)
    except Exception as error:
        yield f"the second try fails: {type(error).__name__}: {error}"
        return
    yield from _kept(log, content, whole, effect)
    seen = sum(map(effect, tolerant(target)))
    if not any(map(effect, strict(target))):
        yield "the second try is acknowledged, and not there"
    if seen != 1 and (idempotent or not seen):
        yield f"after the second try: seen {seen} times"
    yield from inspect(log, True)


def _kept(log: Path, content: bytes, whole: list[Record], effect: Callable[[Record], bool]) -> Iterator[str]:
    if not log.read_bytes().startswith(content):
        yield "bytes of the log were changed"
    if [record for record in tolerant(log) if not effect(record)][: len(whole)] != whole:
        yield "records of the log are lost"
