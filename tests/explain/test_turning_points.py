"""Turning points: ops and the program's compactions, in their places, with their sizes."""

from __future__ import annotations

from pathlib import Path

from ctxkit import Log
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.transcript import ProgramCut
from ctxkit.explain.turning_points import places, turning_points
from tests.cli.runner import good, small

CODEX = Path(__file__).parents[2] / "fixtures/truth-codex/compacted-list-then-legacy.jsonl"
CLAUDE = Path(__file__).parents[2] / "fixtures/proofs-claude-code/compact.jsonl"


def test_ops(tmp_path: Path) -> None:
    """Each in its place, with the messages that it left; a mark changes none."""
    path = small(tmp_path, marks=["a"])
    good("forget", path, "6")
    good("add", path, "more")
    good("protect", path, "2")
    log = Log.open(path)
    found = turning_points(log)
    assert [one.what.name for one in found if isinstance(one.what, LedgerEntry)] == ["mark", "forget", "protect"]
    forget = found[1]
    assert forget.sizes is not None and forget.sizes[0] > forget.sizes[1] and forget.unit in ("tokens", "messages")
    names = log.listed()
    at = places(log, names, found)
    assert at[0] == at[1] == len(names) - 1 and at[2] == len(names)


def test_programs() -> None:
    """What the log's program compacted stands before the first message that it left, with what was left."""
    for file in (CODEX, CLAUDE):
        log = Log.open(file)
        view = log.transcript.view
        assert view is not None
        found = [one for one in turning_points(log) if isinstance(one.what, ProgramCut)]
        assert len(found) == len(view.cuts) > 0
        assert all(one.sizes is not None and one.sizes[0] >= one.sizes[1] >= 0 for one in found)
        assert places(log, log.listed(), found) == sorted(places(log, log.listed(), found))


def test_nothing(tmp_path: Path) -> None:
    """A log without ops has none."""
    log = Log.open(small(tmp_path, marks=[]))
    assert turning_points(log) == [] and places(log, log.listed(), []) == []
