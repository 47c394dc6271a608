"""How fast each reader is beside a bare decode of the same bytes: whole reads in turn with it, in one process.

Bare is `msgspec.json.decode` of each line (of the whole file, where it is one JSON document) and nothing else; a read
is what every command does before its own work: open, tell the format, decode, number the messages, follow the tree.
"""

from __future__ import annotations

import gc
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench import agents, logs
from tests.bench import session as sessions

MB = 1_000_000
FORMATS = ("claude-code", "codex", "pi", "gemini-cli", "copilot-cli", "opencode", "chat")


class Pair(NamedTuple):
    """Seconds of a bare decode and of a whole read, right after it."""

    bare: float
    whole: float


def write(kind: str, path: Path, size: int) -> int:
    """A file of this format of about so many bytes; how many records it has."""
    if kind == "chat":
        return logs.native(path, size)
    return sessions.claude_code(path, size) if kind == "claude-code" else agents.write(kind, path, size)


def bare(path: Path) -> None:
    """Each record into Python objects, one after the other, none of them kept."""
    from msgspec.json import decode

    data = path.read_bytes()
    if path.suffix == ".json":
        decode(data)
    else:
        for line in io.BytesIO(data):
            decode(line)


def pairs(path: Path, kind: str, times: int) -> Iterator[Pair]:
    """So many pairs, after one that does not count. The collector is off, as it is in the command."""
    gc.disable()
    for turn in range(-1, times):
        pair = Pair(_took(lambda: bare(path)), _took(lambda: _whole(path, kind)))
        gc.collect()
        if turn >= 0:
            yield pair


def _whole(path: Path, kind: str) -> None:
    from ctxkit.logfile.read import read

    opening = read(path)
    if opening.format.name != kind:
        raise SystemExit(f"{path}: {opening.format.name}, not {kind}")


def _took(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def found(said: str) -> tuple[int, list[Pair]]:
    """What a run of this module printed: how many records there are, and the pairs."""
    count, pairs = json.loads(said)
    return count, [Pair(*pair) for pair in pairs]


def main() -> None:
    """`python -m tests.bench.readers FILE FORMAT BYTES TURNS`: writes the file and measures."""
    path, kind, size, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    count = write(kind, path, size)
    print(json.dumps([count, list(pairs(path, kind, times))]))


if __name__ == "__main__":
    main()
