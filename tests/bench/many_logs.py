"""`just bench-many-logs`: commands over 1,000 generated sessions, one broken, with `--jobs 1` and `--jobs 2`.

Whole processes, wall clock and processor time of all of them; each call begins with an empty cache, unless it says
`again`. It ends with 1 where the output of the two differs. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.pages import machine, put
from tests.bench.sessions import fill
from tests.cli.runner import PYTHON

BEGIN, END = "<!-- written by `just bench-many-logs --write` -->\n", "<!-- end of many logs -->\n"
CALLS: dict[str, list[str]] = {
    "`status`": ["status"],
    "`status`, again": ["status"],
    "`status --json`, again": ["status", "--json"],
    "`check`": ["check"],
    "`show --tools`": ["show", "--tools"],
    "`export --to openai`": ["export", "--to", "openai"],
    "`sessions`": ["sessions", "--json"],
    "`compact -n`, a preview": ["compact", "--target", "30%", "--dry-run"],
}


def run(words: list[str], place: str, jobs: int, cache: Path) -> tuple[float, float, bytes]:
    """Seconds by the clock and of the processor, and everything that was printed, with the exit status."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    call = [*PYTHON, words[0], place, *words[1:], "--jobs", str(jobs)]
    ran = subprocess.run(call, env=env, capture_output=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, spent, ran.stdout + ran.stderr + str(ran.returncode).encode()


def table(count: int) -> tuple[str, bool]:
    """The figures, and whether the outputs were equal."""
    rows = ["| | s, 1 job | s, 2 jobs | of the processor, 1 job | 2 jobs |", "|---|---|---|---|---|"]
    same = True
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "logs"
        size = fill(place, count - 1)
        (place / "broken.jsonl").write_bytes(b'{"role":"user","content":"thr')
        time.sleep(0.2)
        for name, words in CALLS.items():
            found = []
            for jobs in (1, 2):
                cache = Path(folder) / f"cache{jobs}"
                if not name.endswith("again"):
                    shutil.rmtree(cache, ignore_errors=True)
                found.append(run(words, str(place), jobs, cache))
            (one, spent, said), (two, both, other) = found
            same = same and said == other
            rows.append(f"| {name} | {one:.1f} | {two:.1f} | {spent:.1f} | {both:.1f} |")
            if said != other:
                print(f"{name}: the output differs", file=sys.stderr)
    said = "equal" if same else "DIFFERENT"
    rows.append(f"\n{count:,} logs, {size / 1e6:,.0f} MB, one of them broken; output {said}.")
    return "\n".join(rows) + "\n", same


def main() -> int:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(prog="just bench-many-logs")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--count", type=int, default=1000)
    asked = parser.parse_args()
    made, same = table(asked.count)
    made += f"\n{machine()}\n"
    print(made)
    if asked.write:
        put(made, BEGIN, END)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
