"""Rows of nanobot's sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.living import LISTED, numbers


@pytest.mark.parametrize(
    ("row", "change", "out"),
    [
        (0, {"last_archived": 2, "last_consolidated": 1}, {1, 2}),
        (0, {"last_archived": None, "last_consolidated": 1}, {1}),
        (0, {"last_archived": 999}, set()),
        (0, {"last_archived": True}, set()),
        (0, {"last_archived": -1}, set()),
        (3, {"_command": True}, {3}),
    ],
)
def test_what_is_sent(tmp_path: Path, row: int, change: dict[str, object], out: set[int]) -> None:
    """As its loader: no command, and nothing that is archived; all keep their numbers."""
    every, sent = numbers(LISTED["nanobot"], tmp_path, row, change)
    assert (len(every), every - sent) == (LISTED["nanobot"].messages, out)
