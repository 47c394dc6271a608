"""Every writing command is killed, or fails, at its calls; nothing acknowledged is lost, nothing old changed.

Each command runs through the API on a native log and, with a sidecar, on a Claude Code session, from clean and torn
starts; `faults.run_matrix` disturbs it and tries it again with the same op id. The table is always printed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from itertools import product
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.snapshot import Snapshot
from ctxkit.errors import WriteFailed
from ctxkit.logfile import append
from ctxkit.snapshots import make_checkpoint
from ctxkit.store.sidecar import Sidecar
from tests.build import lines
from tests.effort import one_of
from tests.faults import FAULTS, Record, Tally, run_matrix
from tests.lawful import NOW, ROOT

pytestmark = pytest.mark.torture

OP = "c0ffee000001"
WORDS = "words that nobody else says"
NATIVE = lines("1 system | 2 user | 3 call=x,y | 4 result=x | 5 result=y | 6-10")
TORN = b'{"role":"user","content":"thr'
FOREIGN = (ROOT / "fixtures/guide/session.jsonl").read_bytes()

Call = Callable[[Log], object]


@cache
def scene(native: bool) -> Snapshot:
    """A snapshot of the log's first eight rows."""
    rows = (NATIVE if native else FOREIGN).splitlines(keepends=True)
    return Log.open(BytesIO(b"".join(rows[:8])), clock=lambda: NOW).snapshot().kept


COMMANDS: dict[str, Call] = {
    "mark": lambda log: log.mark("b"),
    "rewind": lambda log: log.rewind("a"),
    "forget": lambda log: log.forget("3"),
    "remember": lambda log: log.remember("6"),
    "clear": lambda log: log.clear(),
    "edit": lambda log: log.edit(log.draft().replace("\n%% 3 ", "\n#%% 3 ")),
    "recall": lambda log: log.recall("10"),
    "compact": lambda log: log.compact(force=True, keep_last=0, strategy="truncate", target=0),
    "protect": lambda log: log.protect("6"),
    "unprotect": lambda log: log.unprotect("9"),
    "window set": lambda log: log.set_window(7200),
    "window add": lambda log: log.shift_window(3600),
    "window reset": lambda log: log.reset_window(),
    "window off": lambda log: log.window_off(),
    "undo": lambda log: log.undo(),
    "redo": lambda log: log.redo(),
    "restore": lambda log: log.restore(scene(log.native), replace=True),
    "add": lambda log: log.add_message({"role": "user", "content": WORDS}),
}
PREPARED: tuple[Call, ...] = (
    lambda log: log.protect("9"), lambda log: log.set_window(36000), lambda log: log.forget("10"),
    lambda log: log.mark("z"), lambda log: log.undo(),
)  # fmt: skip
"""What the logs hold before: something for every command to act on, behind a mark `a`."""


def opened(log: Path) -> Log:
    """The log, as of a clock that stands still."""
    return Log.open(log, clock=lambda: NOW)


def before(kind: str, folder: Path) -> tuple[bytes, bytes]:
    """The log that all runs start with, and its sidecar's ops."""
    log = folder / "log.jsonl"
    rows = (NATIVE if kind == "native" else FOREIGN).splitlines(keepends=True)
    log.write_bytes(b"".join(rows[:8]))
    opened(log).mark("a")
    with log.open("ab") as file:
        file.write(b"".join(rows[8:]))
    for call in PREPARED:
        call(opened(log))
    beside = Sidecar(log).ops_path
    return log.read_bytes(), beside.read_bytes() if beside.exists() else b""


def is_ours(record: Record) -> bool:
    """The op or message that the disturbed command appends."""
    return record.get("id") == OP or record.get("content") == WORDS


def disturbed(name: str) -> Callable[[Path], None]:
    """The command through the API, as one process would run it."""

    def operation(log: Path) -> None:
        target = opened(log)
        target.op_id = OP
        COMMANDS[name](target)

    return operation


def lawful(name: str, expected: list[str], whole: Path, ops: bytes) -> Callable[[Path, bool], Iterator[str]]:
    """What must hold after each try, beside what the harness looks at.

    Acknowledged: the context is what the command makes of it (`expected[1]`); else that, or the one before. `check`
    finds no op that does not fit. A log that another program owns is as it was, and so are the ops `ops` beside it.
    """
    foreign = whole.read_bytes() if ops else b""

    def inspect(log: Path, acknowledged: bool) -> Iterator[str]:
        target = opened(log)
        found = look(target)
        again = name == "add" and found == expected[1].replace(" 1 ", " 2 ").replace(",11 ", ",11-12 ")
        if found != expected[1] and (acknowledged or found != expected[0]) and not again:
            yield f"{name}: the context is {found}, not {expected[acknowledged]}"
        wrong = [one for one in target.check() if one.code in ("misfit", "damaged-op", "dangling-op", "op-conflict")]
        if wrong:
            yield f"{name}: check finds {wrong}"
        if ops and not (log.read_bytes() == foreign and Sidecar(log).ops_path.read_bytes().startswith(ops)):
            yield f"{name}: bytes of the session or of its sidecar were changed"

    return inspect


def look(log: Log) -> str:
    """The state, in words."""
    state = log.state()
    words = [log.text(name) for name in log.names() if log.text(name) == WORDS]
    marks = [mark.label for mark in state.marks]
    return f"{state.say(state.shown())} {len(words)} {marks} {state.windows} {state.board.protected}"


RUNS: list[Tally] = []
KINDS = ("native", "claude-code")
CASES = [(kind, name) for kind, name in product(KINDS, COMMANDS) if (kind, name) != ("claude-code", "add")]
EVERY = one_of(47)
"""Of about 400 points a command; the next case begins one point later, so that together they strike all over."""


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that fails is tried again at once: there is nobody to wait for."""
    monkeypatch.setattr(make_checkpoint, "PAUSES", (0.0, 0.0))


@pytest.fixture(scope="module", autouse=True)
def _table(request: pytest.FixtureRequest) -> Iterator[None]:
    """What was run, printed whatever is captured."""
    yield
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("", *summary(RUNS, "operation"), "", *summary(RUNS, "call"), sep="\n")


def summary(tallies: list[Tally], by: str) -> list[str]:
    """A line per command, or per call: runs by fault, and what was violated."""
    found = [f"{by:<26}" + "".join(f"{fault:>9}" for fault in FAULTS) + f"{'runs':>9}{'violations':>12}"]
    for key in [*dict.fromkeys(getattr(tally, by) for tally in tallies), "all"]:
        mine = [tally for tally in tallies if key in (getattr(tally, by), "all")]
        runs = [sum(tally.runs for tally in mine if tally.fault == fault) for fault in FAULTS]
        broken = sum(len(tally.violations) for tally in mine)
        found.append(f"{key:<26}" + "".join(f"{run:>9}" for run in runs) + f"{sum(runs):>9}{broken:>12}")
    return found


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("kind", "name"), CASES, ids=[" ".join(case) for case in CASES])
def test_no_fault_breaks_a_promise(kind: str, name: str, tmp_path: Path) -> None:
    """Wherever it is killed or fails, old bytes stay, what it acknowledged holds, and a second try does no harm."""
    native = kind == "native"
    content, beside = before(kind, tmp_path)
    for start, tail in (("clean", b""), ("torn", TORN)):

        def prepare(log: Path, ops: bytes = beside + tail) -> None:
            if not native:
                Sidecar(log).folder.mkdir(exist_ok=True)
                Sidecar(log).ops_path.write_bytes(ops)

        log = tmp_path / "log.jsonl"
        log.write_bytes(content + tail)
        prepare(log)
        expected = [look(opened(log))]
        disturbed(name)(log)
        expected.append(look(opened(log)))
        assert expected[0] != expected[1]
        RUNS.extend(
            run_matrix(
                disturbed(name), is_ours, tmp_path, name=f"{name}, {kind}", starts={start: content + tail},
                written=lambda log: log if native else Sidecar(log).ops_path, idempotent=name != "add",
                prepare=prepare, inspect=lawful(name, expected, log, b"" if native else beside + tail),
                every=EVERY, first=CASES.index((kind, name)) % EVERY,
            )
        )  # fmt: skip
    assert [violation for tally in RUNS if tally.operation == f"{name}, {kind}" for violation in tally.violations] == []


@pytest.mark.full("counts the runs of all commands")
def test_there_were_enough_runs() -> None:
    """A matrix that shrinks unnoticed proves nothing: every command, call and fault, hundreds of runs."""
    if len({tally.operation for tally in RUNS}) < len(CASES):
        pytest.skip("only some of the commands were run")
    runs = sum(tally.runs for tally in RUNS)
    assert runs >= 23000 / EVERY
    assert sum(tally.fired for tally in RUNS) > 0.9 * runs
    struck = {"open", "stat", "fstat", "flock", "pread", "write", "lseek", "fsync", "close", "mkdir"}
    assert {tally.call for tally in RUNS} >= struck
    for fault in FAULTS:  # a call that is made once a command may be missed by one of them
        assert len(struck & {tally.call for tally in RUNS if tally.fault == fault}) >= len(struck) - 2


def naive(path: Path, line: bytes, *_: object) -> None:
    """What everybody writes first: no look at the end, two writes, no look at what they return."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(fd, line)
        os.write(fd, b"\n")
        os.close(fd)
    except OSError as error:
        raise WriteFailed(str(error)) from error


@pytest.mark.full("the harness itself")
def test_a_naive_appender_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise no run above would prove anything."""
    content, _ = before("native", tmp_path)
    log = tmp_path / "log.jsonl"
    expected = [look(opened(log))]
    disturbed("mark")(log)
    expected.append(look(opened(log)))
    monkeypatch.setattr(append, "append_line", naive)
    starts = {"clean": content, "torn": content + TORN}
    tallies = run_matrix(
        disturbed("mark"), is_ours, tmp_path, starts=starts, inspect=lawful("mark", expected, log, b""), every=3
    )
    assert sum(len(tally.violations) for tally in tallies) > 10
