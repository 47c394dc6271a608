"""`fleet map`: rows on standard output or in a file, counts on stderr, the status of the worst failure."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.runner import PYTHON, ctxkit
from tests.fleet.mixed import filled

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "which function?"),
        (["status"], "which logs?"),
        (["statuss", "x"], "no such function: statuss"),
        (["export", "x"], "export needs --set to=TARGET"),
        (["status", "x", "--set", "limit"], "--set limit: not KEY=VALUE"),
        (["status", "x", "--set", "limit=1k", "--set", "limit=2k"], "--set limit is given twice"),
        (["status", "x", "--shards", "4"], "--shards is for a ledger"),
        (["status", "x", "--ledger", "l", "--shards", "20000"], "at most 10,000"),
        (["status", "x", "--retries", "1"], "--retries is for --engine ray"),
        (["status", "x", "--engine", "ray", "--task-cpus", "1.5"], "a part of one, or a whole number"),
        (["status", "x", "--engine", "ray", "--task-memory", "much"], "not a size"),
        (["status", "x", "-o", ""], "-o needs the name of a file"),
        (["status", "x", "--redact"], "--redact does not apply to `fleet map`"),
    ],
)
def test_usage(words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong is said before anything is read or made."""
    monkeypatch.chdir(tmp_path)
    ran = ctxkit("fleet", "map", *words)
    assert (ran.code, ran.out) == (2, b"")
    assert text in ran.err
    assert list(tmp_path.iterdir()) == []


def test_rows(tmp_path: Path) -> None:
    """A line per file, in order; a file that is not there is a row, and gives the exit status."""
    folder = filled(tmp_path / "logs", 3)
    for jobs in ("1", "2"):
        ran = ctxkit("fleet", "map", "status", str(folder), str(tmp_path / "none"), "--jobs", jobs)
        rows = [json.loads(line) for line in ran.out.splitlines()]
        assert [Path(row["log"]).stem for row in rows] == ["000", "001", "002", "broken", "none"]
        assert [row.get("error", {}).get("code") for row in rows] == [None, None, None, 65, 74]
        assert ran.code == 74
        assert ran.err.splitlines()[-1] == "5 rows of 5 files, 2 failed; 1 file without rows"


def test_output(tmp_path: Path) -> None:
    """A new file, whole or not at all; an old one stays as it is."""
    folder, output = filled(tmp_path / "logs", 2), tmp_path / "rows.jsonl"
    (folder / "broken.jsonl").unlink()
    words = ("fleet", "map", "check", str(folder), "-o", str(output), "--jobs", "1", "-q")
    ran = ctxkit(*words)
    assert (ran.code, ran.out, ran.err) == (0, b"", "")
    before = output.read_bytes()
    assert len(before.splitlines()) == 2
    ran = ctxkit(*words)
    assert (ran.code, "exists already" in ran.err) == (73, True)
    assert output.read_bytes() == before


def test_nothing_found(tmp_path: Path) -> None:
    """No file, and no row, are the answer no."""
    (tmp_path / "empty").mkdir()
    assert ctxkit("fleet", "map", "status", str(tmp_path / "empty")).code == 1
    (tmp_path / "empty" / "notes.txt").write_text("no log\n")
    ran = ctxkit("fleet", "map", "status", str(tmp_path / "empty"), "--jobs", "1")
    assert (ran.code, ran.err) == (1, "0 rows of 0 files; 1 file without rows\n")


def test_own_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the working folder is found, as by `python -m`; one that a folder's config names is not asked for."""
    shutil.copy(ROOT / "tests/fleet/own.py", tmp_path / "my_own_functions.py")
    (tmp_path / "a.jsonl").write_text("{}\n{}\n")
    (tmp_path / "ctxkit.toml").write_text('fleet.function = "my_own_functions:lines"\n')
    monkeypatch.chdir(tmp_path)
    for jobs in ("1", "2"):
        ran = ctxkit("fleet", "map", "my_own_functions:lines", "a.jsonl", "--set", "unit=row", "--jobs", jobs)
        assert json.loads(ran.out) == {"log": str(tmp_path / "a.jsonl"), "lines": 2, "unit": "row"}


def test_killed_and_again(tmp_path: Path) -> None:
    """The whole run is killed in the middle; with its ledger the next one goes on, and its rows are those of a run
    that nothing ended.
    """
    folder, seen = filled(tmp_path / "logs", 12), tmp_path / "seen"
    seen.mkdir()
    words = ["fleet", "map", "tests.fleet.own:slow", str(folder), "--set", f"folder={seen}", "--set", "seconds=0.1"]
    words += ["--jobs", "2"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def ran(*more: str) -> bytes:
        return subprocess.run([*PYTHON, *words, *more], env=env, capture_output=True, check=True).stdout

    undisturbed = ran()
    ledger = ["--ledger", str(tmp_path / "ledger"), "--shards", "8"]
    run = subprocess.Popen([*PYTHON, *words, *ledger], env=env, stdout=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 120
    while not list((tmp_path / "ledger").glob("shards/*.jsonl")) and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    assert run.wait(60) == -signal.SIGKILL
    assert 0 < len(list((tmp_path / "ledger").glob("shards/*.jsonl"))) < 8
    assert ran(*ledger) == undisturbed
    assert ran(*ledger) == undisturbed
