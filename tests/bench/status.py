"""`just bench-status`: what `status` costs on large logs, cold beside tiktoken over the same texts, warm beside a read.

Cold: no count is known. Warm: the second run. Each kind is a whole process, several in turn; ratios are medians, turn
by turn, of processor time, since that is what other programs on the machine change least.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ctxkit.api.log import Log
from ctxkit.logfile.open import words
from ctxkit.measure.count import Counting
from ctxkit.measure.size import measure
from tests.bench import logs
from tests.bench import session as sessions
from tests.bench.__main__ import CTXKIT, HERE, MB, environment_in, spread
from tests.bench.pages import put
from tests.bench.runs import Kind, Run, in_turn, ratio
from tests.shared import SHARED

BEGIN, END = "<!-- written by `just bench-status --write` -->\n", "<!-- end of status -->\n"


def main() -> None:
    """Measure, print, and with --write put the table into the page."""
    parser = argparse.ArgumentParser(prog="just bench-status", description=__doc__)
    parser.add_argument("--size", type=int, default=60, metavar="MB", help="of each log (default 60)")
    parser.add_argument("--times", type=int, default=5, metavar="N", help="runs of each command (default 5)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        text = "\n".join(table(Path(name), asked.size * MB, asked.times)) + "\n"
    print(text)
    if asked.write:
        put(text, BEGIN, END)


def table(folder: Path, size: int, times: int) -> Iterator[str]:
    """A line a command, for each log."""
    environment = environment_in(folder)
    yield f"| {size // MB} MB, {times} runs | processor s: median (least to most) | to tiktoken | to reading |"
    yield "|---|---|---|---|"
    for title, path in made(folder, size):
        cache = folder / ".cache/ctxkit"
        texts = folder / "texts.json"
        count, characters = _texts(path, texts)
        cold = Kind((*CTXKIT, "status", str(path)), lambda cache=cache: shutil.rmtree(cache))
        floor = {"tiktoken alone": Kind((sys.executable, str(HERE / "bare_count.py"), str(texts)))}
        first = in_turn({**floor, "`status`, cold": cold}, times, environment)
        in_turn({"warm": Kind((*CTXKIT, "status", str(path)))}, 1, environment)
        warm = in_turn(
            {
                "start and read (`status --no-tokens`)": Kind((*CTXKIT, "status", "--no-tokens", str(path))),
                "`status`, warm": Kind((*CTXKIT, "status", str(path))),
                "`status --short`, warm": Kind((*CTXKIT, "status", "--short", str(path))),
            },
            times,
            environment,
        )
        yield f"| **{title}**: {count:,} messages counted, {characters / MB:.0f} MB of text | | | |"
        bare, read = first["tiktoken alone"], next(iter(warm.values()))
        for name, runs in (*first.items(), *warm.items()):
            yield _line(name, runs, bare if name in first else None, read if name in warm else None)
        shutil.rmtree(cache)
        path.unlink()


def made(folder: Path, size: int) -> Iterator[tuple[str, Path]]:
    """A session with compactions and usage, a native log, and real sessions as one log, where they are at hand."""
    path = folder / f"{sessions.ID}.jsonl"
    sessions.claude_code(path, size)
    yield "Claude Code session", path
    path = folder / "native.jsonl"
    logs.native(path, size)
    yield "native log", path
    some = sorted((SHARED / "transcripts/claude-code").glob("*.jsonl"))
    if some:
        path = folder / "real.jsonl"
        with path.open("w", encoding="utf-8") as file:
            while file.tell() < size:
                for one in some:
                    log = Log.open(one)
                    for message in log.messages:
                        text = "\n".join(words(log.content(message.n)))
                        row = {"role": message.role, "content": f"{file.tell()} {text}"}
                        file.write(json.dumps(row) + "\n")
        yield "words of real sessions", path


def _texts(path: Path, to: Path) -> tuple[int, int]:
    """Write the texts that `status` counts, as it makes them: how many there are, and their characters."""
    log, counted = Log.open(path), []

    class Noted(Counting):
        def _count(self, waiting: Mapping[bytes, tuple[str, int]]) -> None:
            counted.extend(text for text, _ in waiting.values())
            self._known.update(dict.fromkeys(waiting, 1))

    log.cache_folder = to.parent / "none"
    measure(Noted(log), log.listed())
    to.write_text(json.dumps(counted), encoding="ascii")
    shutil.rmtree(log.cache_folder, ignore_errors=True)
    return len(counted), sum(map(len, counted))


def _line(name: str, runs: list[Run], bare: list[Run] | None, read: list[Run] | None) -> str:
    cells = [f"{ratio(runs, one, 'cpu'):.2f}" if one else "" for one in (bare, read)]
    return f"| {name} | {spread([run.cpu for run in runs], 2)} | {cells[0]} | {cells[1]} |"


if __name__ == "__main__":
    os.umask(0o077)
    main()
