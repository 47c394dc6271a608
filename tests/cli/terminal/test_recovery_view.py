"""How what a crash left looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.cli.terminal import recovery_view
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.findings import Finding
from ctxkit.core.ops import LogPosition
from ctxkit.core.snapshot import CHECKPOINT, SnapshotHead
from ctxkit.recovery.recover import LeftoverDraft, Open, Recovery, RecoveryPoint
from ctxkit.recovery.salvage import Range
from tests.cli.runner import SMALL

HEAD = SnapshotHead(
    kind=CHECKPOINT, session_id="0123456789abcdef", timestamp="2026-02-01T10:20:30Z", description="before clear",
    message_count=7, at=LogPosition(messages=9),
)  # fmt: skip
ALL = Recovery(
    "damaged", [Finding("op 2", "misfit", "forget does not fit")], [Range(40, 9, 3, "left", "torn-line", "cut off")],
    [Finding("message 5", "no-result", "call c1 has no result")], Open("12", "15", "calls"),
    [RecoveryPoint("step", "14", "15", 1), RecoveryPoint("exchange", "11", "12-15", 4)],
    [LeftoverDraft(Path("/d/draft.txt"), "ctxkit edit …")],
    HEAD,
)  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Any log."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(SMALL)
    found = Log.open(path)
    found.opening.name = "a.jsonl"
    return found


def texts(log: Log, found: Recovery) -> list[str]:
    """The lines without their styles."""
    made = recovery_view.lines(log, found)
    return ["".join(span.text if isinstance(span, Styled) else span for span in line) for line in made]


def test_lines(log: Log) -> None:
    """A line for each thing; what mends it beside it."""
    assert texts(log, ALL) == [
        "a.jsonl: op 2: misfit: forget does not fit",
        "a.jsonl: line 3: torn-line: bytes 40 to 49 are lost: cut off",
        "copy: ctxkit recover a.jsonl -o NEW writes a clean copy of the rest",
        "a.jsonl: message 5: no-result: call c1 has no result",
        "a.jsonl: messages 12 to 15: no-end: the last exchange has no end: its last calls have no results",
        "draft: /d/draft.txt: continue with: ctxkit edit …",
        "checkpoint: [2026-02-01T10:20:30Z] - [before clear]: 7 messages",
        "step: message 14 ends the last whole step: 15 would leave (1 message)",
        "exchange: message 11 ends the last complete exchange: 12-15 would leave (4 messages)",
    ]
    assert texts(log, Recovery("clean", checkpoint=HEAD)) == []


def test_many(log: Log) -> None:
    """Ten are named, the others counted."""
    found = Recovery("damaged", unanswered=[Finding(f"message {n}", "no-result", "x") for n in range(1, 1001)])
    assert len(texts(log, found)) == 11 and texts(log, found)[-1] == "… 990 more (--json names all)"
    leaves = ",".join(map(str, range(1, 999, 2)))
    assert len(recovery_view.describe(RecoveryPoint("step", "1", leaves, 499))) < 140


def test_json(log: Log) -> None:
    """Every key is always there."""
    told, bare = (
        recovery_view.as_json(log, ALL, {"ctxkit": "forget"}),
        recovery_view.as_json(log, Recovery("clean"), None),
    )
    assert told.keys() == bare.keys() and bare["open"] is None and bare["op"] is None
    assert told["checkpoint"] == {
        "id": "0123456789abcdef", "time": "2026-02-01T10:20:30Z", "label": "before clear", "tags": [], "messages": 7,
    }  # fmt: skip
    assert told["open"] == {"first": "12", "last": "15", "why": "calls"}
    assert told["points"][0] == {"to": "step", "message": "14", "leaves": "15", "count": 1}
