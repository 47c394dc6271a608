"""A writer like an agent: exchanges of messages, calls and results, rows in one or two writes; and what it knows of it.

Once all bytes of a row are written, a line goes to its journal. So whatever kills it, the journal tells of nothing that
is not whole in the log: the oracle knows neither ctxkit nor its readers.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

CANARY = "canary-7d1c"
"""In every message, so that private text is found wherever it stands."""
STAMP = "2026-02-01T%02d:%02d:%02dZ"


class Row(NamedTuple):
    """A row that was wholly written: which message it is (from 1), of which exchange, and what it does there."""

    n: int
    exchange: int
    kind: str
    """`question`, `call`, `result` or `answer`; an answer ends its exchange."""
    calls: list[str]
    text: str
    raw: str


def plan(random: Random, start: int, exchange: int) -> list[tuple[str, list[str]]]:
    """The messages of an exchange: kind, and the ids of the calls that are made or answered."""
    found: list[tuple[str, list[str]]] = [("question", [])]
    made = 0
    for _ in range(random.randrange(4)):
        calls = [f"c{exchange}_{start}_{made + k}" for k in range(random.choice((1, 1, 2)))]
        made += len(calls)
        found.append(("call", calls))
        found += [("result", [call]) for call in random.sample(calls, len(calls))]
    found.append(("answer", []))
    return found


def record(native: bool, n: int, kind: str, calls: list[str], words: str) -> dict[str, Any]:
    """The row of a message, as a native log or Claude Code has it."""
    stamp = STAMP % (10 + n // 3600 % 12, n // 60 % 60, n % 60)
    if native:
        made = [{"id": call, "type": "function", "function": {"name": "Bash", "arguments": "{}"}} for call in calls]
        role = {"question": "user", "call": "assistant", "answer": "assistant", "result": "tool"}[kind]
        more: dict[str, Any] = {"tool_calls": made} if kind == "call" else {}
        if kind == "result":
            more = {"tool_call_id": calls[0]}
        return {"role": role, "content": words, "ts": stamp, **more}
    parts: list[dict[str, Any]] = [{"type": "text", "text": words}]
    if kind == "call":
        parts += [{"type": "tool_use", "id": call, "name": "Bash", "input": {}} for call in calls]
    if kind == "result":
        parts = [{"type": "tool_result", "tool_use_id": calls[0], "content": words}]
    role = "assistant" if kind in ("call", "answer") else "user"
    message: dict[str, Any] = {"role": role, "content": words if kind == "question" else parts}
    if role == "assistant":
        message |= {"id": f"m{n}", "type": "message", "model": "claude-x"}
    return {
        "type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n > 1 else None, "sessionId": "s",
        "timestamp": stamp, "message": message,
    }  # fmt: skip


def rows(random: Random, *, native: bool, first: int = 1, exchange: int = 1) -> Iterator[Row]:
    """Rows without end."""
    n = first
    while True:
        for kind, calls in plan(random, n, exchange):
            size = random.choice((20, 200, 2000, 20000))
            words = f"{CANARY} m{n} " + "x" * size
            made = record(native, n, kind, calls, words)
            yield Row(n, exchange, kind, calls, f"m{n} ", json.dumps(made))
            n += 1
        exchange += 1


def write(log: Path, journal: Path, seed: int, *, native: bool, first: int, exchange: int) -> None:
    """Append rows to the log until somebody kills this process."""
    random = Random(-seed)
    fd = os.open(log, os.O_WRONLY | os.O_APPEND)
    told = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    for row in rows(Random(seed), native=native, first=first, exchange=exchange):
        raw = row.raw.encode() + b"\n"
        cut = random.choice((0, 0, len(raw) - 1, random.randrange(1, len(raw))))
        for piece in filter(None, (raw[:cut], raw[cut:])):
            whole(fd, piece)
            time.sleep(random.random() * 0.002)
        whole(told, json.dumps(row).encode() + b"\n")
        time.sleep(random.choice((0, 0.001, 0.02)))


def whole(fd: int, piece: bytes) -> None:
    """Raises OSError where not all of it could be written at once."""
    if os.write(fd, piece) != len(piece):
        raise OSError("a short write")


def known(journal: Path) -> list[Row]:
    """What the writer knew that it had written wholly."""
    found = []
    for line in journal.read_bytes().split(b"\n")[:-1] if journal.exists() else ():
        found.append(Row(*json.loads(line)))
    return found
