"""A folder of generated sessions of several formats, of sizes as real ones have them: the same bytes in every run.

Used by `just fleet-demo` and `just bench-map`. Sizes: half of the sessions are smaller than a fifth of the mean's
double, a few are a hundred times as large as the smallest (log-normal, as of real folders).
"""

from __future__ import annotations

import random
from pathlib import Path

from tests.bench import agents, session

FORMATS = {"claude-code": 50, "codex": 20, "pi": 10, "gemini-cli": 8, "copilot-cli": 7, "opencode": 5}
"""Format -> how many of a hundred sessions have it."""
SIGMA = 1.2
"""Of the logarithms of the sizes."""
LEAST, MOST = 2_000, 8_000_000
"""Bytes of the smallest and of the largest session."""


def sizes(count: int, mean: int) -> list[int]:
    """The sizes of so many sessions, of about `mean` bytes on average."""
    chosen = random.Random(count)
    found = [chosen.lognormvariate(0, SIGMA) for _ in range(count)]
    scale = mean * count / sum(found)
    return [max(LEAST, min(MOST, int(scale * one))) for one in found]


def fill(folder: Path, count: int, mean: int) -> int:
    """Write so many sessions, a hundred to a folder; their bytes. The first of each hundred and one is broken."""
    kinds = random.Random(count).choices(list(FORMATS), list(FORMATS.values()), k=count)
    total = 0
    for i, (kind, size) in enumerate(zip(kinds, sizes(count, mean), strict=True)):
        path = folder / f"{i // 100:04}" / f"{kind}-{i:05}.{'json' if kind == 'opencode' else 'jsonl'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if i == count // 2 and count > 1:
            path.write_bytes(b'{"unheard": "of"}\n')
        elif kind == "claude-code":
            session.claude_code(path, size + i)
        else:
            agents.write(kind, path, size + i)
        total += path.stat().st_size
    return total
