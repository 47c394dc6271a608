"""The pool: results in order, failures as results, and no process that stays."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ctxkit.errors import ExitCode
from ctxkit.fleet.pool import DIED, Failure, cores, results
from tests.fleet.work import doubled, killed_at, meets, odd_fails, unsendable

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_order(jobs: int) -> None:
    """Results come in the order of the items; with one process from this one, else from others."""
    found = list(results(doubled, range(20), jobs))
    assert [(one.item, one.value[0] if one.value else None, one.failure) for one in found] == [
        (n, 2 * n, None) for n in range(20)
    ]
    pids = {one.value[1] for one in found if one.value}
    assert pids == {os.getpid()} if jobs == 1 else os.getpid() not in pids
    assert multiprocessing.active_children() == []


def test_at_the_same_time(tmp_path: Path) -> None:
    """Two processes work on two items at once."""
    found = list(results(meets, [str(tmp_path)] * 2, 2))
    assert [one.value for one in found] == [2, 2]


def test_failures_are_results() -> None:
    """An error of ours, and a bug, are results of their items, equal for one process and two; the others go on."""
    one, two = (list(results(odd_fails, range(10), jobs)) for jobs in (1, 2))
    assert one == two
    assert [found.value for found in one] == [n if n % 2 == 0 else None for n in range(10)]
    assert one[1].failure == Failure("no-such-log", "1: no such log", "another number", int(ExitCode.NO_LOG))
    bug = one[3].failure
    assert bug is not None
    assert (bug.reason, bug.code) == ("bug", int(ExitCode.BUG))
    assert bug.text.startswith("a bug: ZeroDivisionError at work.py:")


def test_failure_of_the_system() -> None:
    """What the system refuses names its file."""
    found = next(results(os.stat, ["/nowhere/at/all"]))
    assert found.failure == Failure("io", "/nowhere/at/all: no such file or directory", "", int(ExitCode.IO))


def test_a_process_that_dies(tmp_path: Path) -> None:
    """Only the item that kills its process each time has failed; one that did so once, and the others, have results."""
    found = list(results(killed_at, [(n, str(tmp_path / "once")) for n in range(14)], 2))
    assert [one.value for one in found] == [None if n == 5 else n for n in range(14)]
    assert [one.failure.reason for one in found if one.failure] == [DIED]


def test_what_cannot_be_sent() -> None:
    """A result that cannot be pickled fails its item alone."""
    found = list(results(unsendable, range(3), 2))
    assert [one.value for one in found] == [0, None, 2]
    assert found[1].failure is not None


def test_items_are_read_as_they_are_needed() -> None:
    """Items may have no end: few are read ahead, and leaving the loop ends the processes."""
    given: list[int] = []

    def items() -> Iterator[int]:
        n = 0
        while True:
            given.append(n)
            yield n
            n += 1

    with closing(results(doubled, items(), 2)) as found:
        assert [next(found).item for _ in range(5)] == [0, 1, 2, 3, 4]
    assert len(given) < 30
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("group", [False, True])
def test_signals(tmp_path: Path, number: signal.Signals, group: bool) -> None:
    """Ctrl-C, to the process or to its group, and its death, whatever its kind, leave no process and no noise."""
    call = [sys.executable, "-m", "tests.fleet.work", str(tmp_path)]
    run = subprocess.Popen(call, cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True)
    end = time.monotonic() + 60
    while len(pids := [int(one.name) for one in tmp_path.iterdir() if one.read_text()]) < 2:
        assert time.monotonic() < end, "no process began"
        time.sleep(0.05)
    (os.killpg if group else os.kill)(run.pid, number)
    status = run.wait(60)
    assert status == (130 if number is signal.SIGINT else -number)
    while any(map(lives, pids)):
        assert time.monotonic() < end, "a process stayed"
        time.sleep(0.05)
    assert run.stderr is not None
    noise = run.stderr.read()  # Python says itself that it put away the semaphores of a process that was killed
    assert noise == b"" if number is signal.SIGINT else b"Traceback" not in noise
    if not (group and number is signal.SIGKILL):
        assert {one.read_text() for one in tmp_path.iterdir()} == {"put right"}


def lives(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_cores() -> None:
    """At least one."""
    assert cores() >= 1


def test_told_to_end_while_it_begins() -> None:
    """It ends at once, and says nothing: the pool would print what is raised there."""
    code = """
import os, signal
from ctxkit.fleet import pool
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)  # it waits until the signal is no longer blocked
try:
    pool._begin()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
except BaseException:
    print("raised")
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (128 + signal.SIGTERM, "", "")


@pytest.mark.parametrize("words", ["fleet map status .", "status . --jobs 2", "watch a.jsonl --compact --once"])
def test_nothing_is_imported_from_the_current_folder(tmp_path: Path, words: str) -> None:
    """A stranger's clone may have modules of Python's names: no process runs one."""
    said = "".join(f'{{"role":"{role}","content":"{"hi " * 99}"}}\n' for role in ("user", "assistant") * 9)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_text(said)
    for name in ("pickle", "json", "msgspec", "ctxkit"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w').write(__name__)\nraise SystemExit(9)\n")
    run = subprocess.run(
        [Path(sys.executable).with_name("ctxkit"), *words.split()], cwd=tmp_path, capture_output=True, check=False,
        env={**os.environ, "CTXKIT_LIMIT": "1500", "CTXKIT_RESERVE": "1"},
    )  # fmt: skip
    assert (run.returncode, (tmp_path / "ran").exists()) == (0, False), run.stderr
    assert not words.startswith("watch") or b"condensed" in run.stdout
