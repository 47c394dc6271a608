"""A Codex history cut into files, each of which goes on from the one before it, as Codex writes forks and pages.

fork      a thread of its own: rollout-<time>-<thread>.jsonl
page      the same thread, after something was taken back: rollout-<time>-<thread>_<page>.jsonl
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

TIME = "2026-10-01T10:00:00.000Z"
DAY = Path("sessions/2026/10/01")


def thread(k: int) -> str:
    """The id of file k of a history."""
    return f"01990000-0000-7000-8000-{k:012x}"


def base(k: int, rows: int, end: int) -> dict[str, Any]:
    """What a file that goes on from file k says: the number of its first row, and where the other one ends."""
    return {"thread_id": thread(k), "end_ordinal_exclusive": rows, "end_byte_offset": end}


def meta(session: str, before: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The first row of a file."""
    payload = {
        "id": session, "session_id": session, "timestamp": TIME, "cwd": "/work", "originator": "codex-tui",
        "cli_version": "0.171.0", "source": "cli", "thread_source": "user", "model_provider": "openai",
        "base_instructions": {"text": "You are Codex."}, "history_mode": "paginated", "history_base": before,
    }  # fmt: skip
    return {"timestamp": TIME, "type": "session_meta", "payload": payload | more}


def lines(rows: Sequence[dict[str, Any]], first: int = 0) -> bytes:
    """The rows as lines, numbered from `first` on."""
    return b"".join(json.dumps({"ordinal": first + i, **row}).encode() + b"\n" for i, row in enumerate(rows))


def name(k: int, page_of: int | None = None) -> str:
    """The name of file k: of a thread, or of a page of thread `page_of`."""
    key = thread(k) if page_of is None else f"{thread(page_of)}_{thread(k)}"
    return f"rollout-2026-10-01T10-{k // 60:02}-{k % 60:02}-{key}.jsonl"


def write(
    home: Path, rows: Sequence[dict[str, Any]], cuts: Sequence[int], *, pages: bool = False, cwd: str = "/work"
) -> Path:  # fmt: skip
    """Put the rows into one file more than there are `cuts`, each a fork of the one before it; returns the last one.

    Each but the last has a row behind what the next one goes on from. `pages`: all are pages of the first one's
    thread. `cwd`: the folder that Codex ran in.
    """
    home.mkdir(parents=True, exist_ok=True)
    numbered, before, path = 0, None, home
    borders = [0, *cuts, len(rows)]
    for k, (start, end) in enumerate(pairwise(borders)):
        session = thread(0 if pages else k)
        own = [meta(session, before, cwd=cwd), *rows[start:end]]
        kept = lines(own, numbered)
        numbered += len(own)
        late = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}}
        path = home / name(k, 0 if pages and k else None)
        path.write_bytes(kept + (lines([late], numbered) if k < len(cuts) else b""))
        before = base(k, numbered, len(kept))
    return path
