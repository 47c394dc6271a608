"""Folders of logs, and datasets of them, for tests."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet

from ctxkit.fleet.dataset import Dataset
from ctxkit.fleet.parts import DatasetParts
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


def rows_of(folder: Path) -> dict[str, list[str]]:
    """All rows of a dataset that count, by table; in no order."""
    parts = DatasetParts(Dataset(str(folder)).parts())
    found: dict[str, list[str]] = {name: [] for name in TABLES}
    for name, part in parts.all.items():
        dead = set(parts.dead_ids(name))
        for file in part.files:
            for row in pyarrow.parquet.ParquetFile(folder / file).read().to_pylist():
                if row["transcript_id"] not in dead:
                    text = json.dumps(row, sort_keys=True, default=str)
                    found.setdefault(file.partition("/")[0], []).append(text)
    return {name: sorted(some) for name, some in found.items()}


def bytes_of(folder: Path) -> dict[str, str]:
    """Parquet file of a dataset -> digest."""
    found = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.rglob("*.parquet"))}
    return {file.relative_to(folder).as_posix(): digest for file, digest in found.items()}
