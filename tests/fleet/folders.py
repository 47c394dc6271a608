"""Folders of logs, and datasets of them, for tests."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet

from ctxkit.fleet.tables import TABLES
from tests.fleet.test_rows import GUIDE

SESSION = (GUIDE / "session.jsonl").read_bytes()


def logs(folder: Path, count: int = 12) -> Path:
    """A folder with `count` small logs: chats, and a session of Claude Code at each fifth place."""
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(count):
        (folder / f"{k:03}.jsonl").write_bytes(SESSION if k % 5 == 4 else chat(k))
    return folder


def chat(k: int, size: int = 3) -> bytes:
    """A chat of a few messages that is told from others by `k`."""
    lines = (
        {
            "role": ("user", "assistant")[n % 2],
            "content": f"{k}: {'word ' * (n + k)}",
            "ts": f"2026-02-12T14:30:{n:02}Z",
        }
        for n in range(size)
    )
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


def rows_of(dataset: Path) -> dict[str, list[str]]:
    """All rows of a dataset, by table, as a query sees them; in no order."""
    found = {}
    for name in TABLES:
        some = [pyarrow.parquet.read_table(file).to_pylist() for file in sorted((dataset / name).glob("*.parquet"))]
        found[name] = sorted(json.dumps(row, sort_keys=True, default=str) for one in some for row in one)
    return found


def bytes_of(dataset: Path) -> dict[str, str]:
    """Parquet file -> digest; without shards that lost all their sources, whose files have no rows."""
    full = {
        file.name
        for file in (dataset / "transcripts").glob("*.parquet")
        if pyarrow.parquet.read_metadata(file).num_rows
    }
    return {
        file.relative_to(dataset).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(dataset.rglob("*.parquet"))
        if file.name in full
    }
