"""`just bench-checkpoints`: what a checkpoint costs `clear` and `compact` of a long session, and `snapshot --auto`.

Whole processes, the best of several runs in turn: by the clock, and of the processor. `--write` puts the table into
docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.bench.pages import put
from tests.bench.session import claude_code
from tests.bench.snapshots import MB, log
from tests.cli.runner import PYTHON

BEGIN, END = "<!-- written by `just bench-checkpoints --write` -->\n", "<!-- end of checkpoints -->\n"
MEGABYTES = 60
SWITCH = "CTXKIT_CHECKPOINT_AUTO"
CALLS = {
    "`clear`, Claude Code": ("session.jsonl", "clear"),
    "`snapshot --auto`, Claude Code": ("session.jsonl", "snapshot", "--auto"),
    "`clear`, native": ("log.jsonl", "clear"),
    "`compact --summary-file`, native": ("log.jsonl", "compact", "--force", "--keep-steps", "1", "--summary-file"),
}
"""What is measured: the log, and the command."""


def took(words: list[str], path: Path, size: int, more: dict[str, str]) -> tuple[float, float]:
    """Seconds by the clock and of the processor of one run, on a log without a sidecar."""
    shutil.rmtree(f"{path}.ctxkit", ignore_errors=True)
    os.truncate(path, size)  # without the op of the run before
    summary = [str(path.with_name("summary.txt"))] if words[-1] == "--summary-file" else []
    env = {**os.environ, "XDG_CACHE_HOME": str(path.parent / "cache"), **more}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*PYTHON, words[0], str(path), "-q", *words[1:], *summary], env=env, capture_output=True, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(folder: Path, times: int) -> list[str]:
    """A row for each call: with, without, and the ratio of the processor's time."""
    found = ["| | s | of the processor | without: s | of the processor | ratio |", "|---|---|---|---|---|---|"]
    for name, (file, *words) in CALLS.items():
        path, kept, plain = folder / file, [], []
        size = path.stat().st_size
        for turn in range(times + 1):
            run = took(words, path, size, {})
            other = took(words, path, size, {SWITCH: "false"}) if words[0] != "snapshot" else None
            if turn:  # the first one reads the file into memory, and counts the tokens
                kept.append(run)
                plain += [other] if other is not None else []
        os.truncate(path, size)
        wall, processor = (min(run[k] for run in kept) for k in (0, 1))
        row = [name, f"{wall:.2f}", f"{processor:.2f}", "", "", ""]
        if plain:
            wall, without = (min(run[k] for run in plain) for k in (0, 1))
            row[3:] = f"{wall:.2f}", f"{without:.2f}", f"× {processor / without:.2f}"
        found.append(f"| {' | '.join(row)} |")
    return found


def main() -> None:
    """Measure, print, and with --write put the table into the page."""
    parser = argparse.ArgumentParser(prog="just bench-checkpoints", description=__doc__)
    parser.add_argument("--times", type=int, default=5, metavar="N", help="runs of each (default 5)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        folder = Path(name)
        claude_code(folder / "session.jsonl", MEGABYTES * MB)
        (folder / "log.jsonl").write_bytes(log(MEGABYTES))
        (folder / "summary.txt").write_text("What was done, in a few words.", encoding="utf-8")
        text = "\n".join(rows(folder, asked.times)) + "\n"
    print(text)
    if asked.write:
        put(text, BEGIN, END)


if __name__ == "__main__":
    main()
