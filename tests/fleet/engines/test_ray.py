"""The engine of a cluster, on this machine: its rows are those of the local one, bit for bit, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from ctxkit.fleet.dataset import DatasetHead
from ctxkit.fleet.engines import local
from ctxkit.fleet.engines import ray as engine
from ctxkit.fleet.engines.ray import RayResources
from ctxkit.fleet.functions import MapCall, call_of
from ctxkit.fleet.ingest import Ingested, ingest
from ctxkit.fleet.parts import PartReport, PartTask
from ctxkit.fleet.pool import ItemResult
from ctxkit.fleet.sources import SourceFile, listed
from tests.fleet.folders import rows_of
from tests.fleet.mixed import filled
from tests.fleet.own import DeadlySource, SlowSource

ROOT = Path(__file__).resolve().parents[3]
OWN = "tests.fleet.own"

if os.environ.get("CTXKIT_FLEET_RAY"):  # .ci/full: there it is a failure, not a skip
    ray = import_module("ray")
else:
    ray = pytest.importorskip("ray", reason="ray is not installed: .ci/full installs it")


@pytest.fixture(scope="module", autouse=True)
def _started() -> Iterator[None]:
    """One Ray with two processors for all tests: to start it takes most of the time. Workers find the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def same(call: MapCall, files: list[SourceFile], expected: list[bytes] | None = None) -> list[bytes]:
    """The rows by Ray with two processors, which are those of the local engine, or the `expected` ones."""
    found = list(engine.run(call, files, 2))
    assert [file for file, _ in found] == files
    rows = [answer.rows for _, answer in found]
    assert rows == (expected or [answer.rows for _, answer in local.run(call, files, 1)])
    return rows


@pytest.mark.parametrize(
    ("function", "options"),
    [("status", {}), ("check", {}), ("compact", {"target": "40%"}), ("export", {"to": "openai"}), ("ingest", {})],
)
def test_equal_rows(tmp_path: Path, function: str, options: dict[str, str]) -> None:
    """Every function of ctxkit's gives the same bytes, with a broken file among the others."""
    assert any(same(call_of(function, options), list(listed([str(filled(tmp_path, 8))]))))


def test_no_file() -> None:
    """Without a file there are no rows; Ray, which was there before, stays."""
    assert list(engine.run(call_of("status", {}), [], 2)) == []
    assert ray.is_initialized()


def test_processes_that_die(tmp_path: Path) -> None:
    """A file that kills its process once has its rows, one that always does a row with an error, the others theirs."""
    for name in ("a", "b-once", "c", "d-always", "e", "f-once", "g"):
        (tmp_path / f"{name}.jsonl").write_text("{}\n" * len(name))
    files, rows = list(listed([str(tmp_path)])), list[list[bytes]]()
    for name in ("local", "ray"):
        (tmp_path / name).mkdir()
        call = call_of(f"{OWN}:killed", {"folder": str(tmp_path / name)})
        run = local.run(call, files, 2) if name == "local" else engine.run(call, files, 2)
        rows.append([answer.rows for _, answer in run])
    assert rows[0] == rows[1]
    assert [b"worker-killed" in one for one in rows[1]] == [False, False, False, True, False, False, False]


def test_a_worker_killed_from_outside(tmp_path: Path) -> None:
    """SIGKILL of a worker process in the middle: the rows are those of a run that nobody disturbed."""
    folder, seen = filled(tmp_path / "logs", 24), tmp_path / "seen"
    seen.mkdir()
    files = list(listed([str(folder)]))
    call = call_of(f"{OWN}:slow", {"folder": str(seen), "seconds": "0.2"})
    undisturbed = [answer.rows for _, answer in local.run(call, files, 1)]
    for one in seen.iterdir():
        one.unlink()
    killed: list[int] = []

    def kill() -> None:
        end = time.monotonic() + 120
        while not killed and time.monotonic() < end:
            for one in seen.iterdir():
                os.kill(int(one.name), signal.SIGKILL)
                killed.append(int(one.name))
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    same(call, files, undisturbed)
    killer.join()
    assert killed


def ingested(
    folder: Path, dataset: Path, source: Callable[[SourceFile], SourceFile] = lambda one: one, retries: int = 2
) -> Ingested:
    """An ingest by Ray with two processors, a part for each log; `source`: how its workers read a file."""

    def by_ray(tasks: Iterable[PartTask], jobs: int) -> Generator[ItemResult[PartTask, PartReport]]:
        changed = (msgspec.structs.replace(one, sources=[source(file) for file in one.sources]) for one in tasks)
        return engine.write_parts(changed, jobs, RayResources(retries=retries))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ctxkit.fleet.ingest.SMALLEST", 1)
        patch.setattr("ctxkit.fleet.ingest.LARGEST", 1)
        return ingest([str(folder)], str(dataset), jobs=2, engine=by_ray)


def by_one_process(folder: Path, dataset: Path) -> dict[str, list[str]]:
    """The rows of a new dataset that this process makes."""
    ingest([str(folder)], str(dataset))
    return rows_of(dataset)


def test_ingest(tmp_path: Path) -> None:
    """Workers write the dataset: its rows are those of one process; again, only what changed is read."""
    folder, dataset = filled(tmp_path / "logs", 12), tmp_path / "dataset"
    found = ingested(folder, dataset)
    assert (found.new, found.failed, found.broken) == (13, {}, {})
    assert rows_of(dataset) == by_one_process(folder, tmp_path / "before")
    (folder / "003.jsonl").unlink()
    (folder / "004.jsonl").write_bytes((folder / "005.jsonl").read_bytes())
    found = ingested(folder, dataset)
    assert (found.new, found.changed, found.unchanged, found.removed) == (0, 1, 11, 1)
    assert rows_of(dataset) == by_one_process(folder, tmp_path / "after")


def test_ingest_with_workers_killed(tmp_path: Path) -> None:
    """SIGKILL of four processes that write: the dataset is that of a run that nobody disturbed."""
    folder, seen, dataset = filled(tmp_path / "logs", 24), tmp_path / "seen", tmp_path / "dataset"
    seen.mkdir()
    killed, done = set[int](), threading.Event()

    def kill() -> None:
        while not done.wait(0.02) and len(killed) < 4:
            for one in {int(path.name) for path in seen.iterdir()} - killed:
                killed.add(one)
                os.kill(one, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = ingested(folder, dataset, partial(SlowSource.of, seen=str(seen)), retries=9)
    finally:
        done.set()
        killer.join()
    assert len(killed) >= 4 and found.broken == {}
    assert rows_of(dataset) == by_one_process(folder, tmp_path / "undisturbed")


def test_ingest_whose_process_always_dies(tmp_path: Path) -> None:
    """A part whose process dies every time has failed; the others are written, and the next run does what is left."""
    folder, dataset = filled(tmp_path / "logs", 12), tmp_path / "dataset"
    deadly = str(folder / "005.jsonl")
    found = ingested(folder, dataset, lambda one: DeadlySource.of(one) if one.name == deadly else one, retries=1)
    assert list(found.broken) == [deadly]
    assert [one.reason for one in found.broken.values()] == ["process-died"]
    assert ingested(folder, dataset).broken == {}
    assert rows_of(dataset) == by_one_process(folder, tmp_path / "undisturbed")


def test_another_version(tmp_path: Path) -> None:
    """A worker of another version writes nothing, and says so."""
    task = PartTask(str(tmp_path), "00000001-00001", DatasetHead(), [], version="0.0")
    [found] = engine.write_parts([task], 2)
    assert found.failure is not None and "ctxkit 0.0 asks, and a worker has" in found.failure.text
    assert list(tmp_path.iterdir()) == []


def test_standard_output_has_rows_alone(tmp_path: Path) -> None:
    """What Ray says of a process that died goes to stderr."""
    (tmp_path / "a-always.jsonl").write_text("{}\n")
    (tmp_path / "b.jsonl").write_text("{}\n")
    text = f"""
import sys
from ctxkit.fleet.engines import ray
from ctxkit.fleet.functions import call_of
from ctxkit.fleet.sources import listed
call = call_of("{OWN}:killed", {{"folder": {str(tmp_path)!r}}})
for _, answer in ray.run(call, list(listed([{str(tmp_path)!r}])), 1):
    sys.stdout.buffer.write(answer.rows)
"""
    made = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, check=False)
    assert made.returncode == 0, made.stderr.decode()
    lines = made.stdout.splitlines()
    assert len(lines) == 2
    assert b"worker-killed" in lines[0] and lines[1].endswith(b'"bytes":3}')


@pytest.mark.parametrize("address", ["nowhere:port", "127.0.0.1:1", "ray://127.0.0.1:1"])
def test_no_cluster(tmp_path: Path, address: str) -> None:
    """An address without a cluster is an error that names it."""
    (tmp_path / "a.jsonl").write_text("{}\n")
    text = f"""
from ctxkit.fleet.engines import ray
from ctxkit.fleet.functions import call_of
from ctxkit.fleet.sources import listed
list(ray.run(call_of("status", {{}}), list(listed([{str(tmp_path)!r}])), 1))
"""
    env = {**os.environ, "RAY_ADDRESS": address}
    made = subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, env=env, check=False)
    assert f"ctxkit.errors.ClusterFailed: {address}: no Ray".encode() in made.stderr
