"""Checkpoints go by age and number, snapshots by hand alone."""

from __future__ import annotations

from ctxkit.core.ops import LogPosition
from ctxkit.core.snapshot import CHECKPOINT, SNAPSHOT, SnapshotHead
from ctxkit.core.times import iso
from ctxkit.snapshots.retention import DAY, expired

NOW = 1_770_000_000.0


def heads(*days: float, kind: str = CHECKPOINT) -> list[SnapshotHead]:
    """Taken so many days ago."""
    return [
        SnapshotHead(session_id="0", kind=kind, timestamp=iso(NOW - one * DAY), at=LogPosition(messages=0))
        for one in days
    ]


def test_age() -> None:
    """Day 29 stays, day 31 goes; the very day stays."""
    assert expired(heads(0, 29, 30, 31), NOW, 50, 30) == [(3, "older than 30 days")]


def test_number() -> None:
    """The newest stay; snapshots between them do not count, and stay however old they are."""
    some = [*heads(1), *heads(900, kind=SNAPSHOT), *heads(2, 3)]
    assert expired(some, NOW, 2, 30) == [(3, "beyond the newest 2")]


def test_a_time_that_cannot_be_read() -> None:
    """Goes by number alone."""
    some = [SnapshotHead(session_id="0", kind=CHECKPOINT, timestamp="?", at=LogPosition(messages=0))]
    assert expired(some, NOW, 1, 1) == []
