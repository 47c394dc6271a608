"""Folders of small logs of several formats for the tests of engines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from ctxkit.api.log import Log

GUIDE = Path(__file__).resolve().parents[2] / "fixtures" / "guide"


def filled(folder: Path, count: int) -> Path:
    """`count` logs, one of them with ops, and two files that are none: a broken one, and a text."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        path = folder / f"{i:03}.jsonl"
        if i % 3 == 0:
            shutil.copy(GUIDE / "session.jsonl", path)
        else:
            rows = [{"role": "user" if k % 2 == 0 else "assistant", "content": f"{i}: {k} " * 40} for k in range(12)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    Log.open(folder / "000.jsonl").forget("3-4")
    (folder / "broken.jsonl").write_bytes(b'{"unheard": "of"}\n')
    (folder / "notes.txt").write_text("no log\n")
    return folder
