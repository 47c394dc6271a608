"""The table of truth: `ctxkit export --to anthropic` against what Claude Code 2.1.329 was recorded to send.

Every probe and every real session goes through the command itself; blocks that come from the log must be the same, in
the same order. The table is printed in every run.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from tests.formats.claude_code.digests import from_log
from tests.formats.claude_code.test_truth import ASKED_FOR, BLANK, PROBES, REQUESTS
from tests.resume.contexts import ANY
from tests.shared import SHARED

Row = tuple[str, int, str]
"""Name, recorded blocks from the log, and the first difference ("" for none)."""

REAL = sorted((SHARED / "truth/claude-code").glob("*.json"))


def compared(name: str, session: Path, digest: list[list[Any]], *, strip: bool, model: str = "") -> Row:
    """The export of one session beside its recording. `digest` rows: role, kind, key, content, origin, hint."""
    body = next(iter(Log.open(session).export("anthropic", model=model, tools=ANY).values))
    messages = [
        {**message, "content": message["content"] if isinstance(message["content"], list) else [
            {"type": "text", "text": message["content"]}]}
        for message in body["messages"]
    ]  # fmt: skip
    ours = [row for row, _ in from_log(messages, strip=strip)]
    truth = [tuple(row[:4]) for row in digest if row[4] == "history" and (row[1], row[2]) != ("text", BLANK)]
    first = next((str(i) for i, pair in enumerate(zip(ours, truth, strict=False)) if pair[0] != pair[1]), "")
    if not first and len(ours) != len(truth):
        first = f"{len(ours)} blocks"
    return name, len(truth), first


def table() -> list[Row]:
    """All rows: probes from the fixtures, real sessions where they are at hand."""
    rows = []
    for probe, request in REQUESTS.items():
        model = request["model"] if probe in ASKED_FOR else ""
        session = PROBES / f"{probe}.jsonl"
        rows.append(compared(probe, session, request["digest"], strip=probe.endswith("-old"), model=model))
    for path in REAL:
        request = json.loads(path.read_text(encoding="utf-8"))
        strip = all(message["role"] != "system" for message in request["request_messages"])
        session = SHARED / f"transcripts/claude-code/{path.stem}.jsonl"
        rows.append(compared(path.stem, session, [row[1:] for row in request["digest"]], strip=strip))
    return rows


def test_every_recorded_block_is_exported(capsys: pytest.CaptureFixture[str]) -> None:
    """All probes, and all real sessions where ../shared is there; each difference is named."""
    rows = table()
    with capsys.disabled():
        print(f"\n{'claude code: recorded requests':48}{'blocks':>7}")
        for name, blocks, first in rows:
            print(f"{name:48}{blocks:>7}  {'equal' if not first else f'differs at block {first}'}")
        equal = Counter(not first for _, _, first in rows)
        print(f"{'equal':48}{equal[True]:>7} of {len(rows)}")
    assert [row for row in rows if row[2]] == []
