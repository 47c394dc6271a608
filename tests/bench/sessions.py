"""`just bench-sessions`: `sessions` and a literal `recall` over 1,000 and 10,000 files, cold and with the indexes.

Whole processes, wall clock and processor time; ten times the files may take ten times as long. `--write` puts the table
into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from ctxkit.store.folder import walk
from ctxkit.store.words import WordIndex
from tests.bench.__main__ import ROOT
from tests.cli.runner import PYTHON

PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- written by `just bench-sessions --write` -->\n", "<!-- end of sessions -->\n"
COUNTS = (1_000, 10_000)
MESSAGES = 40


def session(i: int) -> bytes:
    """A Claude Code session of some 16 KB."""
    rows: list[dict[str, Any]] = []
    for k in range(MESSAGES):
        stamp = f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}T10:{k:02}:00Z"
        row = {"uuid": f"{i}-{k}", "parentUuid": f"{i}-{k - 1}" if k else None, "sessionId": str(i), "timestamp": stamp}
        words = f"message {k} of session {i}: " + "some words of a usual length " * 8
        if k % 2:
            said = {
                "id": f"m{i}-{k}",
                "role": "assistant",
                "model": "claude-x",
                "content": [{"type": "text", "text": words}],
            }
            rows.append({"type": "assistant", **row, "message": said})
        else:
            rows.append({"type": "user", **row, "message": {"role": "user", "content": words}})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def fill(folder: Path, count: int) -> int:
    """So many sessions, a hundred to a folder; their bytes."""
    size = 0
    for i in range(count):
        path = folder / f"{i // 100:04}" / f"{i}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        size += path.write_bytes(session(i))
    return size


def timed(words: list[str], cache: Path) -> tuple[float, float]:
    """Seconds by the clock and of the processor that a command takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    subprocess.run([*PYTHON, *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def calls(place: str) -> dict[str, list[str]]:
    """What is timed, in this order."""
    listed = ["sessions", place, "--json", "-q"]
    searched = ["recall", place, "message 7 of session 321:", "-q"]
    filtered = ["sessions", place, "--grep", "message 7 of session 321:.*usual", "--json", "-q"]
    return {
        "`sessions`, cold": listed, "`sessions`, again": listed, "`recall`, cold": searched,
        "`recall`, again": searched, "`sessions --grep`, again": filtered,
    }  # fmt: skip


def known(place: Path, words: list[str], cache: Path) -> None:
    """Search until the words of all files are known: a search learns those of some thousands."""
    index, count = WordIndex(cache / "ctxkit"), sum(not entry.sidecar for entry in walk(place))
    while len(index.known(os.fsencode(place))) < count:
        timed(words, cache)


def table(counts: tuple[int, ...]) -> str:
    """The figures."""
    rows = ["| | files | MB | s | of the processor | to a tenth of the files |", "|---|---|---|---|---|---|"]
    earlier: dict[str, float] = {}
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            place, cache = Path(folder) / "logs", Path(folder) / "cache"
            size = fill(place, count)
            time.sleep(0.2)
            for name, words in calls(str(place)).items():
                if name == "`recall`, again":
                    known(place, words, cache)
                wall, spent = timed(words, cache)
                ratio = f"{spent / earlier[name]:.1f}" if name in earlier else ""
                earlier[name] = spent
                rows.append(f"| {name} | {count:,} | {size / 1e6:,.0f} | {wall:.2f} | {spent:.2f} | {ratio} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(prog="just bench-sessions")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS))
    asked = parser.parse_args()
    made = table(tuple(asked.counts))
    print(made)
    if asked.write:
        text = PAGE.read_text(encoding="utf-8")
        part = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.S)
        PAGE.write_text(part.sub(lambda _: f"{BEGIN}\n{made}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
