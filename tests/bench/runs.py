"""Whole processes, measured: wall clock, processor time, peak memory; several kinds in turn, so that load hits all."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    """One process, in seconds and MB."""

    wall: float
    cpu: float
    peak: float


class Kind(NamedTuple):
    """What is run, what is done after each run (unmeasured), and the exit status it ends with."""

    command: Sequence[str]
    after: Callable[[], None] = lambda: None
    status: int = 0


def in_turn(kinds: Mapping[str, Kind], times: int, environment: Mapping[str, str]) -> dict[str, list[Run]]:
    """Runs of each kind, after one of each that is thrown away. Raises SystemExit where one fails."""
    found: dict[str, list[Run]] = {name: [] for name in kinds}
    for turn in range(-1, times):
        for name, kind in kinds.items():
            run = once(kind.command, environment, kind.status)
            kind.after()
            if turn >= 0:
                found[name].append(run)
    return found


LAUNCH = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=quiet)
_, status, used = os.wait4(child, 0)
wall = time.perf_counter() - start
print(os.waitstatus_to_exitcode(status), wall, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""Starts a process and tells what it took. It is small itself: a system counts into the peak of a process what its
parent held when it started it, so that one started by a large test would never peak below that.
"""


def once(command: Sequence[str], environment: Mapping[str, str], expected: int | None = 0) -> Run:
    """One process, with its output thrown away; `expected`: the status it ends with, None for any."""
    launch = (sys.executable, "-I", "-S", "-c", LAUNCH, *command)
    told = subprocess.run(launch, env=environment, stdout=subprocess.PIPE, check=True).stdout
    status, wall, cpu, peak = told.split()
    if expected is not None and int(status) != expected:
        raise SystemExit(f"{' '.join(command)}: exit status {int(status)}")
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10  # ru_maxrss: bytes there, KiB here
    return Run(float(wall), float(cpu), int(peak) / scale)


def ratio(runs: Sequence[Run], to: Sequence[Run], what: str) -> float:
    """The median of the ratios turn by turn: what slowed a whole turn down drops out."""
    return statistics.median(getattr(a, what) / getattr(b, what) for a, b in zip(runs, to, strict=True))
