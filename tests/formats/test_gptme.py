"""Rows of gptme's sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.living import LISTED, numbers


@pytest.mark.parametrize(
    ("row", "change", "out"),
    [
        (1, {"ui_only": True}, {2}),
        (1, {"ui_only": False}, set()),
        (1, {"hide": True}, set()),
    ],
)
def test_what_is_sent(tmp_path: Path, row: int, change: dict[str, object], out: set[int]) -> None:
    """As its loader: a notice to the user is no context, and keeps its number."""
    every, sent = numbers(LISTED["gptme"], tmp_path, row, change)
    assert (len(every), every - sent) == (LISTED["gptme"].messages, out)
