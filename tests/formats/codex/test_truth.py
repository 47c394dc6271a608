"""The context of a Codex session against what Codex 0.169.0 was recorded to send when it resumed it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.integrity import NO_RESULT, repair
from tests.formats.codex.digests import rows, sha
from tests.shared import SHARED

PROBES = Path(__file__).resolve().parents[3] / "fixtures/truth-codex"
REQUESTS: dict[str, Any] = json.loads((PROBES / "requests.json").read_text(encoding="utf-8"))
REAL = sorted((SHARED / "truth/codex").glob("*.json"))
SHORTENED = {"big-output": 1, "07-agentv-92lines-unpaired": 1, "03-agentv-2compact-encrypted-compaction": 2}
"""How many results the program changed when it resumed: cut to the length that the resuming run's model takes, or an
image in them left out that it could not decode (redacted files)."""
REPEATED = {"dup-output"}
"""Where the program sends a second answer, which no provider takes: our repair leaves it out."""


def compared(session: Path, truth: list[tuple[Any, ...]], *, shortened: int, repaired: bool) -> None:
    """The blocks of the context are those that were sent, in the same order."""
    log = Log.open(session)
    contents = [log.full(entry) for entry in log.entries()]
    if repaired:
        contents, _ = repair(contents)
    ours = [row for row in rows(contents) if row[3] != sha(NO_RESULT)]
    assert len(ours) == len(truth)
    differing = [i for i, (a, b) in enumerate(zip(ours, truth, strict=True)) if tuple(a) != b]
    assert len(differing) == shortened, [(ours[i], truth[i]) for i in differing[:3]]
    assert all(ours[i][1] == "tool_result" and ours[i][:3] == truth[i][:3] for i in differing)


@pytest.mark.parametrize("probe", REQUESTS)
def test_a_probe_is_sent_as_recorded(probe: str) -> None:
    """Each small session, made for one rule, gives the recorded blocks."""
    truth = [tuple(row) for row in REQUESTS[probe]["digest"]]
    repaired = probe not in REPEATED
    compared(PROBES / f"{probe}.jsonl", truth, shortened=SHORTENED.get(probe, 0), repaired=repaired)


@pytest.mark.parametrize("name", [path.stem for path in REAL] or ["(none)"])
def test_real_sessions_are_sent_as_recorded(name: str) -> None:
    """Every real session gives the recorded blocks."""
    if not REAL:
        pytest.skip("no recorded requests are at hand")
    digest = json.loads((SHARED / f"truth/codex/{name}.json").read_text(encoding="utf-8"))["digest"]
    truth = [tuple(row[1:5]) for row in digest if row[5] == "history"]
    session = SHARED / f"transcripts/codex/{name}.jsonl"
    compared(session, truth, shortened=SHORTENED.get(name, 0), repaired=True)
