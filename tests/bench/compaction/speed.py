"""How long `compact` takes, by the size of a context up to two million tokens: each in a process of its own.

The contexts are prefixes of the cases, one behind the other, each read as it is. Reading, counting and the summary are
timed together; once with an empty cache of counts, once with what that run left there.
"""

from __future__ import annotations

import json
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
CODE = """
import json, sys, time
from ctxkit import Log
log = Log.open(sys.argv[1])
log.dry_run = True
log.compact(target=25)
print(json.dumps([log.compacted.found.before, log.compacted.found.after, time.process_time()]))
"""


class Timed(NamedTuple):
    """One size. `tokens`, `after`: of the context, before and after; processor seconds of the whole process: `seconds`
    where nothing was counted before, `again` where all was.
    """

    tokens: int
    after: int
    seconds: float
    again: float


def timed(cases: Sequence[Ready], sizes: Sequence[int] = SIZES) -> Iterator[Timed]:
    """A run of each size that the cases have text for."""
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
            first, second = _once(log, folder), _once(log, folder)
            yield Timed(int(first[0]), int(first[1]), first[2], second[2])


def _once(log: Path, folder: Path) -> list[float]:
    environment = environment_in(folder) | {"CTXKIT_COUNTER": "o200k_base", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", CODE, str(log)], env=environment, capture_output=True, check=True)
    found: list[float] = json.loads(ran.stdout)
    return found
