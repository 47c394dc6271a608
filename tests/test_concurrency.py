"""Eight processes append to one log, four read it all the while: nothing is lost, nobody sees damage or a misfit."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.errors import UpdatedElsewhere
from tests.effort import part
from tests.lawful import ROOT, as_bytes, findings, ops

pytestmark = pytest.mark.torture

WRITERS, READERS, HANG = 8, 4, 300
MARKED = 4
"""One of so many appends is a mark, the others are messages: replay takes longer with every op."""
SPAWN = multiprocessing.get_context("forkserver")
"""Processes of their own, from one that has imported what all of them need and nothing else."""
SPAWN.set_forkserver_preload(["ctxkit", "tests.lawful"])
START = as_bytes([{"role": "user", "content": "one"}])


def append(log: Path, writer: int, each: int, add: bool) -> None:
    """One process: marks, and messages where the log takes them; each on the log as it is then."""
    target = Log.open(log)
    for k in range(each):
        if add and k % MARKED:
            target.add_message({"role": "user", "content": f"{writer}.{k}"})
        else:
            marked(target, f"{writer}.{k}")
        if k % 20 == 0:
            target = Log.open(log)


def marked(target: Log, label: str) -> None:
    """A mark, tried again where so many others are appended that it is refused (75), as that says."""
    while True:
        try:
            assert target.mark(label) is not None
            return
        except UpdatedElsewhere:
            target = Log.open(target.opening.name)


def read(log: Path, done: Event, seen: multiprocessing.Queue[str]) -> None:
    """One process: opens and replays; what it sees never shrinks, and nothing is wrong with it."""
    held, looks = (0, 0), 0
    while not done.is_set() or not looks:
        found = Log.open(log)
        found.state()
        wrong = [one for one in found.check() if "op" in one.where or one.code != "torn-tail"]
        now = (len(found.messages), len(found.ledger.entries))
        if wrong or now < held or now[1] < held[1]:
            seen.put(f"{wrong[:3]} {now} after {held}")
        held, looks = now, looks + 1
        time.sleep(0.1)  # the writers need the processors too
    seen.put("")


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(("native", "each"), [(True, part(200)), (False, part(48))], ids=["native", "claude-code"])
def test_nothing_is_lost(native: bool, each: int, tmp_path: Path) -> None:
    """Through the API: every append is there, each writer's in its order, and each op fits."""
    log = tmp_path / "log.jsonl"
    if native:
        log.write_bytes(START)
    else:
        shutil.copy(ROOT / "fixtures/truth-claude-code/p14-parallel-chain-mid.jsonl", log)
    before = log.read_bytes()
    done, seen = SPAWN.Event(), SPAWN.Queue()
    readers = [SPAWN.Process(target=read, args=(log, done, seen)) for _ in range(READERS)]
    writers = [SPAWN.Process(target=append, args=(log, k, each, native)) for k in range(WRITERS)]
    for process in readers + writers:
        process.start()
    for process in writers:
        process.join(HANG)
    done.set()
    reports = [seen.get(timeout=HANG) for _ in readers]
    for process in readers:
        process.join(HANG)
    assert [process.exitcode for process in writers + readers] == [0] * (WRITERS + READERS)
    assert reports == [""] * READERS
    found = Log.open(log)
    labels = [body["label"] for body in ops(found)]
    for writer in range(WRITERS):
        mine = [label for label in labels if label.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{k}" for k in range(0, each, MARKED if native else 1)]
    said = [words for n in found.names() if "." in (words := found.text(n))] if native else []
    assert sorted(said) == sorted(f"{w}.{k}" for w in range(WRITERS) for k in range(each) if native and k % MARKED)
    assert {one for one in findings(found) if "op" in one or "line" in one} == set()
    assert log.read_bytes().startswith(before)
    assert native or log.read_bytes() == before


def test_nothing_is_lost_between_commands(tmp_path: Path) -> None:
    """The same with real command lines, a few."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(START)
    base = [sys.executable, "-m", "ctxkit"]
    commands = [["add", str(log), f"words {k}"] if k % 2 else ["mark", str(log), f"mark {k}"] for k in range(16)]
    running = [subprocess.Popen([*base, *words], cwd=ROOT, stderr=subprocess.PIPE) for words in commands]
    for words, process in zip(commands, running, strict=True):
        _, err = process.communicate(timeout=HANG)
        if process.returncode == UpdatedElsewhere.code:  # five others came: it is tried again, as that says
            subprocess.run([*base, *words], cwd=ROOT, check=True, timeout=HANG)
            continue
        assert process.returncode == 0, err
    found = Log.open(log)
    assert {body["label"] for body in ops(found)} == {f"mark {k}" for k in range(0, 16, 2)}
    assert {found.text(n) for n in found.names()} == {"one", *(f"words {k}" for k in range(1, 16, 2))}
    assert findings(found) == set()
