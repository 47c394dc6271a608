"""What windows hid as they slid: from figures alone; beside `status`: `tests/measure/test_timeline.py`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ctxkit.core.compare.window_timeline import HiddenByWindow, WindowStage, slid
from ctxkit.core.sets.ranges import EMPTY, Ranges

PATH = [1, 2, 4, 5]
TOKENS = [1.0, 10.0, 100.0, 1000.0]


def stage(place: int, seconds: Mapping[str | None, int], hidden: str = "", shown: str = "") -> WindowStage:
    return WindowStage(place, Ranges.parse(hidden), Ranges.parse(shown), seconds)


@pytest.mark.parametrize(
    ("moments", "agents", "stages", "expected"),
    [
        ([0, 10, 20, 30], "    ", [stage(0, {})], HiddenByWindow([0, 0, 0, 0], [0])),
        ([0, 10, 20, 30], "    ", [stage(0, {None: 0})], HiddenByWindow([0, 0, 0, 0], [0])),
        ([0, 10, 20, 30], "    ", [stage(0, {None: 15})], HiddenByWindow([0, 0, 1, 11], [0])),
        ([0, 10, 20, 30], "    ", [stage(0, {None: 10})], HiddenByWindow([0, 1, 11, 111], [0])),
        ([0, 10, 20, 30], "    ", [stage(0, {None: 15}, "1")], HiddenByWindow([0, 0, 0, 10], [0])),
        ([0, 9, 20, 30], "    ", [stage(0, {None: 15}, "1"), stage(4, {None: 15}, "2", "1")],
         HiddenByWindow([0, 0, 0, 10], [0, 1])),
        ([0, 10, 20, 30], "    ", [stage(0, {}), stage(3, {None: 15})], HiddenByWindow([0, 0, 0, 11], [0, 1])),
        ([0, 10, 20, 30], "    ", [stage(0, {None: 5}), stage(4, {None: 25})], HiddenByWindow([0, 1, 11, 111], [0, 1])),
        ([0, 10, 20, 30], "    ", [stage(0, {None: 5}), stage(3, {})], HiddenByWindow([0, 1, 11, 0], [0, 0])),
        ([0, 10, 20, 30], "a b ", [stage(0, {"a": 5, None: 0})], HiddenByWindow([0, 1, 1, 1], [0])),
        ([0, 10, 20, 30], "a b ", [stage(0, {"a": 0, None: 5})], HiddenByWindow([0, 0, 10, 110], [0])),
        ([None, 10, 20, 30], "    ", [stage(0, {None: 15})], HiddenByWindow([0, 0, 0, 10], [0])),
        ([20, 10, 0, 30], "    ", [stage(0, {None: 15})], HiddenByWindow([0, 0, 0, 0], [0])),
        ([20, 10, 0, 36], "    ", [stage(0, {None: 15})], HiddenByWindow([0, 0, 0, 111], [0])),
        ([None] * 4, "    ", [stage(0, {None: 15})], HiddenByWindow([0, 0, 0, 0], [0])),
    ],
)  # fmt: skip
def test_slid(moments: list[float | None], agents: str, stages: list[WindowStage], expected: HiddenByWindow) -> None:
    """Whoever is as old as the window is leaves; wider windows bring back; other agents have their own."""
    assert slid(PATH, moments, [one.strip() or None for one in agents], TOKENS, stages) == expected


def test_nothing() -> None:
    """No message, or none before the first stage ends."""
    assert slid([], [], [], [], [WindowStage(0, EMPTY, EMPTY, {None: 5})]) == HiddenByWindow([], [0])
