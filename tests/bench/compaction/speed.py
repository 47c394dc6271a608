"""How long `compact` takes, by the size of a context up to two million tokens: the command, a process each.

The contexts are prefixes of the cases, one behind the other, each read as it is. Reading, counting and the summary are
timed together; once with an empty cache of counts, once with what that run left there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.__main__ import ROOT, environment_in
from tests.bench.compaction.ready import Ready

SIZES = (50_000, 100_000, 200_000, 400_000, 700_000, 1_000_000, 1_500_000, 2_000_000)
"""Tokens, about: a context ends with the message that reaches them."""
RUNS = 3
"""How many times each is run: the fastest counts, since what else runs on a machine can only slow it down."""


class Timed(NamedTuple):
    """One size. `tokens`, `after`: of the context, before and after; processor seconds of the whole process: `seconds`
    where nothing was counted before, `again` where all was.
    """

    tokens: int
    after: int
    seconds: float
    again: float


def timed(cases: Sequence[Ready], sizes: Sequence[int] = SIZES, runs_of: int = RUNS) -> Iterator[Timed]:
    """Each size that the cases have text for, run so many times."""
    records = [(record, size) for one in cases for record, size in zip(one.case.prefix, one.tokens, strict=True)]
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        for size in sizes:
            if sum(tokens for _, tokens in records) < size:
                return
            folder = Path(name) / str(size)
            folder.mkdir()
            log, left = folder / "chat.jsonl", size
            with log.open("w", encoding="ascii") as file:
                for record, tokens in records:
                    if left <= 0:
                        break
                    file.write(json.dumps(record) + "\n")
                    left -= tokens
            runs = [_once(log, folder / str(n)) for n in range(runs_of) for _ in range(2)]
            yield Timed(*runs[0][:2], min(run[2] for run in runs[::2]), min(run[2] for run in runs[1::2]))


def _once(log: Path, folder: Path) -> tuple[int, int, float]:
    """Tokens before and after, and processor seconds of a preview of the command, with its caches in a folder."""
    folder.mkdir(exist_ok=True)
    environment = environment_in(folder) | {"CTXKIT_COUNTER": "o200k_base", "PYTHONPATH": str(ROOT)}
    environment["PYTHONPYCACHEPREFIX"] = str(log.parent.parent / "bytecode")  # compiled once, not for each run
    words = [sys.executable, "-m", "ctxkit", "compact", str(log), "--target", "25%", "--dry-run", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(words, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    tokens = json.loads(ran.stdout)["tokens"]
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return tokens["before"], tokens["after"], spent
