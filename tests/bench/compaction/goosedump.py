"""goosedump's `session compact` on the same sessions, where it is installed: the facts it keeps beside its seconds.

It runs without a network, and prints a summary of what stands behind a session's last compaction. Where it would first
download a model it gives none, and the session is left out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.messages import Content, Text
from ctxkit.cut.rank.facts import facts, kept
from ctxkit.cut.units.text_segments import all_pieces
from tests.bench.compaction.baselines import Compacted
from tests.bench.compaction.cases import contents, read, tokens
from tests.bench.compaction.own import compact
from tests.bench.compaction.runs import readable
from tests.bench.compaction.sessions import Record, segments
from tests.bench.peers import ALONE, cut_off

LIMIT = 120
"""Seconds that it may take."""


class Beside(NamedTuple):
    """One session. `tokens`: of what is compacted; then by program: tokens left, facts kept of all, seconds."""

    session: str
    tokens: int
    results: dict[str, tuple[int, float, float]]


def beside(paths: list[Path]) -> Iterator[Beside | str]:
    """Each session of Claude Code; its name alone where goosedump gives no summary of it."""
    program = shutil.which("goosedump")
    if program is None or not cut_off():
        return
    for path in paths:
        if path.parent.name != "claude-code":
            continue
        found = [one for one in segments(path.read_bytes())]
        began = time.perf_counter()
        summary = _summary(program, path)
        seconds = time.perf_counter() - began
        if not summary or not found:
            yield path.stem
            continue
        yield _scored(path.stem, found[-1], summary, seconds)


def _scored(name: str, records: list[Record], summary: str, seconds: float) -> Beside:
    some = contents(read(records))
    told = facts(all_pieces(list(enumerate(some, 1))))
    total = sum(tokens(some))

    def share(made: Compacted) -> tuple[int, float]:
        assert not isinstance(made, str)
        counts = kept(told, readable(made)).values()
        return sum(tokens(made)), sum(one for one, _ in counts) / max(1, sum(of for _, of in counts))

    theirs = [Content("user", [Text(summary)])]
    results = {"goosedump": (*share(theirs), seconds)}
    for words, budget in (("ctxkit, 10 %", total // 10), ("ctxkit, 30 %", total * 3 // 10)):
        began = time.perf_counter()
        made = compact(records, budget, "extract")
        took = time.perf_counter() - began
        results[words] = (*share(made), took)
    return Beside(name, total, results)


def _summary(program: str, path: Path) -> str:
    """What it prints of a session, its own words alone; "" where there is none."""
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as home:
        identity = re.search(r'"sessionId":"([^"]+)"', path.read_text(encoding="utf-8", errors="replace"))
        if identity is None:
            return ""
        place = Path(home) / ".claude/projects/x" / f"{identity[1]}.jsonl"
        place.parent.mkdir(parents=True)
        shutil.copyfile(path, place)
        words = [*ALONE, program, "session", "compact", f"claude:{identity[1]}"]
        environment = {**os.environ, "HOME": home}
        try:
            ran = subprocess.run(words, env=environment, capture_output=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return ""
    return "" if ran.returncode else "\n".join(_said(ran.stdout.decode("utf-8", "replace")))


def _said(printed: str) -> Iterator[str]:
    for line in printed.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        message = row.get("message") if isinstance(row, dict) else None
        if isinstance(message, dict) and isinstance(message.get("content"), str):
            yield message["content"]
