"""The engine of one machine: equal rows whatever the processes, also where they are killed."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from ctxkit.errors import ExitCode
from ctxkit.fleet.engines import local
from ctxkit.fleet.functions import FileRows, MapCall, call_of
from ctxkit.fleet.pool import Failure
from ctxkit.fleet.sources import SourceFile, listed
from tests.fleet.mixed import filled

OWN = "tests.fleet.own"


def rows(call: MapCall, files: list[SourceFile], jobs: int) -> list[bytes]:
    """The rows of each file."""
    found = list(local.run(call, files, jobs))
    assert [file for file, _ in found] == files
    return [answer.rows for _, answer in found]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("function", "options"),
    [("status", {}), ("check", {}), ("compact", {"target": "40%"}), ("export", {"to": "openai"}), ("ingest", {})],
)
def test_equal_rows(tmp_path: Path, function: str, options: dict[str, str]) -> None:
    """One process and two give the same bytes, with a broken file among the others."""
    files = list(listed([str(filled(tmp_path, 6))]))
    call = call_of(function, options)
    one = rows(call, files, 1)
    assert one == rows(call, files, 2)
    assert sum(map(bool, one)) == 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_that_die(tmp_path: Path, jobs: int) -> None:
    """A file that kills its process once has its rows, one that does so again an error, the others theirs."""
    for name in ("a", "b-once", "c", "d-always", "e", "f-once", "g"):
        (tmp_path / f"{name}.jsonl").write_text("{}\n" * len(name))
    files = list(listed([str(tmp_path)]))
    (tmp_path / "seen").mkdir()
    found = rows(call_of(f"{OWN}:killed", {"folder": str(tmp_path / "seen")}), files, jobs)
    told = [json.loads(row) for row in found]
    assert [one.get("bytes") for one in told] == [3, 18, 3, None, 3, 18, 3]
    assert told[3]["error"]["reason"] == "worker-killed"
    assert told[3]["error"]["code"] == ExitCode.TRY_AGAIN


def test_a_process_killed_from_outside(tmp_path: Path) -> None:
    """SIGKILL of a process in the middle of the work changes no row."""
    folder, seen = filled(tmp_path / "logs", 12), tmp_path / "seen"
    seen.mkdir()
    files = list(listed([str(folder)]))
    call = call_of(f"{OWN}:slow", {"folder": str(seen), "seconds": "0.05"})
    undisturbed = rows(call, files, 2)
    for one in seen.iterdir():
        one.unlink()
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + 60
        while not killed and time.monotonic() < end:
            for one in seen.iterdir():
                os.kill(int(one.name), signal.SIGKILL)
                killed.append(int(one.name))
                return
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    found = rows(call, files, 2)
    killer.join()
    assert killed
    assert found == undisturbed


def test_unforeseen(tmp_path: Path) -> None:
    """What is caught nowhere else is a row that names the file."""
    file = SourceFile(str(tmp_path / "a"))
    found = local.lost(file, Failure("bug", "a bug: KeyError", "please report it", 70))
    assert isinstance(found, FileRows) and str(tmp_path / "a") in json.loads(found.rows)["error"]["text"]
