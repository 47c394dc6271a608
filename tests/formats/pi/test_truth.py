"""The export of a pi session against what pi 0.87.1 was recorded to send when it resumed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from tests.formats.claude_code.digests import rows
from tests.shared import SHARED

PROBES = Path(__file__).resolve().parents[3] / "fixtures/truth-pi"
REQUESTS: dict[str, Any] = json.loads((PROBES / "requests.json").read_text(encoding="utf-8"))
REAL = sorted((SHARED / "truth/pi").glob("*.json"))
LOST = {"orphan-result": 1}
"""Recorded blocks that no provider takes: a result without its call."""

MADE = {"context-edit": 1}
"""Blocks of ours that pi does not send: a first message of the user's, where it begins with an answer."""


def compared(session: Path, truth: list[tuple[Any, ...]]) -> None:
    """The blocks of the request are those that were sent, in the same order."""
    ours = [row for row, _ in rows(next(iter(Log.open(session).export("anthropic").values))["messages"], strip=False)]
    ours = ours[MADE.get(session.stem, 0) :]
    lost = LOST.get(session.stem, 0)
    assert len(ours) == len(truth) - lost
    assert [row for row in truth if row[1] != "tool_result" or not lost] == ours


@pytest.mark.parametrize("probe", REQUESTS)
def test_a_probe_is_sent_as_recorded(probe: str) -> None:
    """Each small session, made for one rule, gives the recorded blocks."""
    compared(PROBES / f"{probe}.jsonl", [tuple(row) for row in REQUESTS[probe]["digest"]])


@pytest.mark.parametrize("name", [path.stem for path in REAL] or ["(none)"])
def test_real_sessions_are_sent_as_recorded(name: str) -> None:
    """Every real session gives the recorded blocks."""
    if not REAL:
        pytest.skip("no recorded requests are at hand")
    digest = json.loads((SHARED / f"truth/pi/{name}.json").read_text(encoding="utf-8"))["digest"]
    compared(SHARED / f"transcripts/pi/{name}.jsonl", [tuple(row[1:5]) for row in digest if row[5] == "history"])
