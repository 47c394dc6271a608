"""The golden case of the specification, read from its file as a user would."""

from __future__ import annotations

from pathlib import Path

from ctxkit import Log
from tests import build

GOLDEN = Path(__file__).resolve().parents[1] / "fixtures" / "golden-200"


def test_golden_case() -> None:
    """Mark at 100, forget 50-75 and its planning, rewind at 200: 1-49 and 76-100, with the words that stood there."""
    log = Log.open(GOLDEN / "log.jsonl", env={})
    assert build.written(log.names()) == (GOLDEN / "context.txt").read_text(encoding="utf-8").strip()
    assert [str(content.parts[0].text) for content in map(log.full, log.entries())] == [
        f"m{n}" for n in [*range(1, 50), *range(76, 101)]
    ]
    assert log.check() == []
