"""`just bench-map`: many logs by one process, by two and by Ray: seconds, of the processor too, and equal rows.

Whole processes with an empty cache. Ray's own processes are not counted to the processor's time. `--ray PYTHON` names
one in whose environment the extra `fleet-ray` is; `--write` puts the table into docs/fleet.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.__main__ import ROOT
from tests.bench.pages import machine, put
from tests.bench.transcripts import fill
from tests.fleet.folders import rows_of

PAGE = ROOT / "docs/fleet.md"
BEGIN, END = "<!-- written by `just bench-map --write` -->", "<!-- end of map -->"
COUNTS = (1, 10, 100, 1_000)
MEAN = 80_000
HEAD = "| | files | MB | s | of the processor | MB/s | rows |\n|---|---|---|---|---|---|---|\n"


def calls(place: str, out: str, ray: str) -> Iterator[tuple[str, list[str]]]:
    """What is timed: its name, and the words of the call."""
    for does in ("map status", "map ingest", "ingest"):
        for name, python, more in (
            ("`--jobs 1`", sys.executable, ["--jobs", "1"]),
            ("`--jobs 2`", sys.executable, ["--jobs", "2"]),
            ("Ray, 2", ray, ["--jobs", "2", "--engine", "ray"]),
        ):
            if python:
                words = ["fleet", *does.split(), place, "-o", out, "-q", *more]
                yield f"`{does}`, {name}", [python, "-m", "ctxkit", *words]


def timed(words: list[str], cache: Path) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digest(path: Path) -> str:
    """Of a file, or of the rows of a dataset."""
    data = path.read_bytes() if path.is_file() else json.dumps(rows_of(path)).encode()
    return hashlib.sha256(data).hexdigest()


def table(counts: tuple[int, ...], mean: int, ray: str) -> Iterator[str]:
    """The lines of the figures, as they come."""
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "logs"
            size = fill(place, count, mean)
            first: dict[str, str] = {}
            for name, words in calls(str(place), str(Path(folder) / "rows"), ray):
                out, cache = Path(folder) / "rows", Path(folder) / "cache"
                wall, spent = timed(words, cache)
                made = digest(out)
                same = first.setdefault(name.partition(",")[0], made) == made
                shutil.rmtree(cache, ignore_errors=True)
                shutil.rmtree(out) if out.is_dir() else out.unlink()
                cpu = "" if "Ray" in name else f"{spent:.1f}"
                speed = f"{size / 1e6 / wall:.1f}"
                told = "equal" if same else "OTHER"
                yield f"| {name} | {count:,} | {size / 1e6:,.1f} | {wall:.1f} | {cpu} | {speed} | {told} |\n"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(prog="just bench-map")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--mean", type=int, default=MEAN, help="bytes of a session that are asked for")
    parser.add_argument("--ray", default="", help="a python with the extra fleet-ray")
    asked = parser.parse_args()
    made = HEAD
    print(HEAD, end="")
    for line in table(tuple(asked.counts), asked.mean, asked.ray):
        made += line
        print(line, end="", flush=True)
    told = f"{machine()} {of_ray(asked.ray)}"
    print(f"\n{told}")
    if asked.write:
        put(f"\n{made}\n{told}\n", BEGIN, END, PAGE)


def of_ray(python: str) -> str:
    """Which Ray there was."""
    if not python:
        return "Ray was not measured: `--ray PYTHON` names one that has it."
    made = subprocess.run(
        [python, "-c", "import ray; print(ray.__version__)"], capture_output=True, text=True, check=True
    )
    return f"Ray {made.stdout.strip()}, started anew each time."


if __name__ == "__main__":
    main()
