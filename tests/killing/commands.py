"""A loop of commands on a log that somebody writes to; what each ended with goes to a journal."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

from tests.cli.runner import ctxkit

NAMES = (
    "mark", "rewind", "forget", "undo", "redo", "clear", "compact", "snapshot", "restore", "replace", "edit", "protect",
    "recover", "checkpoint",
)  # fmt: skip


def words(name: str, log: str, random: Random, draft: Path) -> list[str]:
    """The command line."""
    match name:
        case "forget" | "protect":
            return [name, log, str(random.randrange(1, 30))]
        case "compact":
            return [name, log, "--force", "--keep-last", str(random.randrange(3)), "--strategy", "truncate"]
        case "snapshot":
            return [name, log, "-m", f"no {random.randrange(3)}"]
        case "checkpoint":
            return ["snapshot", log, "--light", "-m", f"point {random.randrange(9)}"]
        case "restore":
            return [name, log, "latest"]
        case "replace":
            return ["restore", log, "latest", "--replace"]
        case "edit":
            return [name, log, "--draft", str(draft)]
        case "redo":
            return ["undo", log, "--redo"]
        case "recover":
            return [name, log, "--yes"]
        case _:
            return [name, log]


def run(log: Path, journal: Path, seed: int) -> None:
    """Commands one after the other until somebody kills this process."""
    random = Random(seed)
    draft = journal.parent / "draft.txt"
    told = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    while True:
        name = random.choice(NAMES)
        if name == "edit":
            made = ctxkit("edit", log, "--print", "-q")
            draft.write_bytes(made.out)
        asked = words(name, str(log), random, draft)
        ran = ctxkit(*asked, "--json")
        op = None
        if ran.code == 0 and name not in ("snapshot", "checkpoint"):
            last = json.loads(ran.out)
            op = last.get("id") or (last.get("op") or {}).get("id")
        os.write(told, json.dumps([asked, ran.code, op, ran.err[-300:]]).encode() + b"\n")


def done(journal: Path) -> list[tuple[list[str], int, str | None, str]]:
    """The commands that ended, with exit status, op, and the end of what they said."""
    if not journal.exists():
        return []
    return [tuple(json.loads(line)) for line in journal.read_bytes().split(b"\n")[:-1]]
