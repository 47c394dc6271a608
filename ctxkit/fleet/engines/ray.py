"""The engine of a cluster: Ray (extra `fleet-ray`), on this machine alone or where `RAY_ADDRESS` says.

Pipeline of `run`: `mapping.py` gives the files and takes their rows, in the same order. A task has some files; Ray
starts it again if its process or its machine dies. Files whose task died every time are done alone, each in a task of
its own: one that dies twice is a row with an error.

Pipeline of `write_parts`: `ingest.py` gives the parts of a dataset and takes their reports. A task is a part, whose
files it writes itself; no rows come back. Only this module imports ray.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any, TextIO, TypeVar, cast

import msgspec

from ctxkit.errors import ClusterFailed, ExitCode, Usage, reason_of
from ctxkit.fleet.engines.local import lost
from ctxkit.fleet.functions import FileRows, MapCall, answer
from ctxkit.fleet.parts import PartReport, PartTask, write_part
from ctxkit.fleet.pool import ALONE, DIED, Failure, ItemResult, attempt
from ctxkit.fleet.sources import SourceFile

I = TypeVar("I")  # noqa: E741  # an item
O = TypeVar("O")  # noqa: E741  # what the function makes of it

ADDRESS = "RAY_ADDRESS"
"""The variable with a cluster's address, as Ray itself reads it."""
TOGETHER = 64
"""The most files of one task."""
AHEAD = 1000
"""Tasks that are given to the cluster ahead: as many as it may grow to have processors for."""
PATIENCE = 10.0
"""Seconds that a cluster has to answer at all."""
RETRIES = 2
"""How often a task is started again, unless `--retries` says otherwise."""
SHARE = 4
"""Tasks for each processor, if there are few files: a process that is slow keeps the others waiting less."""


class RayResources(msgspec.Struct, frozen=True):
    """What each task may use. `cpus`: processors, also a part of one; `memory`: bytes, 0 for Ray's own choice.

    `retries`: how often a task is started again after its process or machine died.
    """

    cpus: float = 1.0
    memory: int = 0
    retries: int = RETRIES


def run(
    call: MapCall, files: Sequence[SourceFile], jobs: int, resources: RayResources | None = None
) -> Iterator[tuple[SourceFile, FileRows]]:
    """Each file with its rows, in order. `jobs`: processors of the Ray that is started here, if there is no cluster.

    A program that is connected to Ray already stays so. Raises Usage without Ray; ClusterFailed if the cluster cannot
    be reached or all of it fails.
    """
    if not files:
        return
    asked = resources or RayResources()
    with _connected(jobs) as ray:
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        together = max(1, min(TOGETHER, len(files) // (SHARE * cpus)))
        batches = (files[k : k + together] for k in range(0, len(files), together))
        for batch, made, _ in _results(ray, partial(_answers, call), batches, asked):
            if made is not None:
                yield from zip(batch, made, strict=True)
                continue
            once = msgspec.structs.replace(asked, retries=ALONE - 1)  # it may be the first time, if another one died
            for file, rows, failure in _results(ray, partial(answer, call), batch, once):
                yield file, rows or lost(file, failure)


def write_parts(
    tasks: Iterable[PartTask], jobs: int, resources: RayResources | None = None
) -> Generator[ItemResult[PartTask, PartReport]]:
    """Each part with its report, in order. `jobs`, and what is raised: as of `run`."""
    with _connected(jobs) as ray:
        yield from _results(ray, write_part, tasks, resources or RayResources())


def _results(
    ray: Any, function: Callable[[I], O], items: Iterable[I], asked: RayResources
) -> Generator[ItemResult[I, O]]:
    """What the function makes of each item, in order, each in a task. A task that dies is started again; one that dies
    every time has failed.
    """
    options = {"num_cpus": asked.cpus} | ({"memory": asked.memory} if asked.memory else {})
    work = ray.remote(max_retries=asked.retries, **options)(attempt)
    deaths = ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError
    left = iter(items)
    started = deque((item, work.remote(function, item)) for item in islice(left, AHEAD))
    while started:
        item, reference = started.popleft()
        try:
            yield ItemResult(item, *ray.get(reference))
        except deaths:
            text = "the process that worked on it died every time: killed, or out of memory"
            yield ItemResult(item, None, Failure(DIED, text, "", int(ExitCode.TRY_AGAIN)))
        started.extend((item, work.remote(function, item)) for item in islice(left, 1))


def _answers(call: MapCall, files: Sequence[SourceFile]) -> list[FileRows]:
    """In a worker: the rows of the files of one task."""
    return [answer(call, file) for file in files]


@contextmanager
def _connected(jobs: int) -> Iterator[Any]:
    """Ray, while it is needed; what it prints goes to standard error. Raises what `run` raises."""
    ray, before = _started(jobs)
    with _only_bytes():
        try:
            yield ray
        except ray.exceptions.RayError as error:
            text = f"the cluster failed: {type(error).__name__}: {str(error).splitlines()[0][:200]}"
            raise ClusterFailed(text, "ingest, and map with --ledger, go on from where they were") from error
        finally:
            if not before:
                ray.shutdown()


class _OnlyBytes:
    """Standard output for rows, which are bytes: text, which Ray prints from a thread of its own, is for stderr."""

    def __init__(self, output: Any) -> None:
        self._output = output

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)

    def write(self, text: str) -> int:
        """To standard error."""
        return sys.stderr.write(text)


@contextmanager
def _only_bytes() -> Iterator[None]:
    before = sys.stdout
    sys.stdout = cast(TextIO, _OnlyBytes(before))
    try:
        yield
    finally:
        sys.stdout = before


def _started(jobs: int) -> tuple[Any, bool]:
    """Ray, connected to the cluster or started here; and whether it was before."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves the machine that was not asked for
    os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "120")  # 30 are too few where others work, too
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # else a message is held back until after the last row
    try:
        import ray
    except ImportError as error:
        raise _missing() from error
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    if ray.is_initialized():
        return ray, True
    require()
    here = {} if os.environ.get(ADDRESS) else {"num_cpus": jobs, "include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **here)
    except Exception as error:  # Ray has errors of many kinds for it
        where = os.environ.get(ADDRESS, "this machine")
        raise ClusterFailed(f"{where}: no Ray: {str(error).splitlines()[0][:200]}", f"is {ADDRESS} right?") from error
    return ray, False


def require() -> None:
    """Raises Usage without Ray, and ClusterFailed if nothing answers where RAY_ADDRESS says. Nothing is started."""
    if find_spec("ray") is None:
        raise _missing()
    _must_answer(os.environ.get(ADDRESS, ""))


def _missing() -> Usage:
    return Usage("--engine ray needs Ray: nothing was done", "pip install 'ctxkit-cli[fleet-ray]'")


def _must_answer(address: str) -> None:
    """Raises ClusterFailed if nothing answers at `host:port` or `ray://host:port`: Ray itself would try for minutes."""
    found = re.fullmatch(r"(?:ray://)?\[?([^/\[\]]+?)\]?:(\d{1,5})", address)
    if found is None:
        return
    try:
        socket.create_connection((found[1], int(found[2])), PATIENCE).close()
    except (OSError, OverflowError, UnicodeError) as error:
        why = reason_of(error) if isinstance(error, OSError) else "no such address"
        raise ClusterFailed(f"{address}: no Ray: {why}", f"is {ADDRESS} right?") from error
