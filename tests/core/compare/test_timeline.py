"""The course from figures: counted where it was counted, shared out between, estimated elsewhere, falling at cuts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxkit.core.compare.timeline import (
    Anchor,
    CutSize,
    ProgramContext,
    TimelineChange,
    TimelineEvent,
    TimelinePoint,
    course,
    own,
)

TEN = [10.0] * 20


def made(
    count: int, anchors: dict[int, Anchor], cuts: Sequence[int] = (), taken: Sequence[float] = ()
) -> ProgramContext:
    """Messages of ten tokens and a hundred bytes each."""
    some = [CutSize(*one) for one in zip(cuts, taken, strict=True)]
    return own([100] * count, anchors, some, lambda start, end: TEN[start:end])


@pytest.mark.parametrize(
    ("count", "anchors", "cuts", "taken", "values", "around"),
    [
        (0, {}, [], [], [], []),
        (3, {}, [], [], [10, 20, 30], []),
        (4, {}, [2], [15], [10, 20, 15, 25], [(20, 5)]),
        (3, {}, [0, 3], [5, 100], [10, 20, 30], [(0, 0), (30, 0)]),
        (4, {1: Anchor(110, 120)}, [], [], [110, 120, 130, 140], []),
        (3, {2: Anchor(5, 6)}, [], [], [10, 20, 6], []),
        (5, {0: Anchor(100, 110), 4: Anchor(200, 230)}, [], [], [110, 140, 170, 200, 230], []),
        (5, {0: Anchor(100, 110), 4: Anchor(50, 60)}, [], [], [110, 90, 70, 50, 60], []),
        (5, {0: Anchor(100, 110), 4: Anchor(50, 60)}, [2], [80], [110, 120, 40, 50, 60], [(120, 30)]),
        (5, {0: Anchor(100, 110), 4: Anchor(5, 6)}, [2], [80], [110, 120, 5, 5, 6], [(120, 0)]),
        (4, {0: Anchor(100, 110), 1: Anchor(20, 30)}, [1], [9], [110, 30, 40, 50], [(110, 20)]),
        (4, {0: Anchor(100, 110), 3: Anchor(40, 50)}, [1, 2], [60, 9], [110, 60, 40, 50],
         [(110, 50), (60, 30)]),
        (3, {0: Anchor(100, 110)}, [1, 3], [60, 20], [110, 60, 70], [(110, 50), (70, 50)]),
        (3, {1: Anchor(110, 120)}, [1], [5], [115, 120, 130], [(115, 110)]),
    ],
)  # fmt: skip
def test_own(
    count: int, anchors: dict[int, Anchor], cuts: list[int], taken: list[float], values: list[float],
    around: list[tuple[float, float]],
) -> None:  # fmt: skip
    """Before the first count, between two, behind the last, and with cuts in each of these places."""
    found = made(count, anchors, cuts, taken)
    assert found.values == pytest.approx(values) and found.cuts == around


def test_what_is_left_goes_with_what_stands_around() -> None:
    """Behind a compaction the messages that are left, and what the first request held beyond its messages."""
    found = own([1] * 4, {1: Anchor(110, 120)}, [CutSize(3, 0.0, 15.0)], lambda start, end: TEN[start:end])
    assert found == ProgramContext([110, 120, 130, 125], [(130, 115)])
    found = own([1] * 3, {}, [CutSize(2, 0.0, 5.0)], lambda start, end: TEN[start:end])
    assert found == ProgramContext([10, 20, 15], [(20, 5)])


def test_between_two_counts_sizes_decide() -> None:
    """Growth goes to the large rows."""
    anchors = {0: Anchor(0, 100), 3: Anchor(200, 210)}
    assert own([1, 10, 90, 1], anchors, [], lambda start, end: TEN).values == [100, 110, 200, 210]


def test_events_and_points() -> None:
    """Ops change the rest of the course; marks are events though they change nothing; what changes nothing is none."""
    changes = [
        TimelineChange(2, "mark", "a", 1, 0.0), TimelineChange(2, "protect", "", 2, 0.0),
        TimelineChange(3, "forget", "", 3, -15.4),
        TimelineChange(4, "undo", "", 4, 0.0), TimelineChange(4, "", "", None, -1.0),
    ]  # fmt: skip
    found = course([3, 5, 6, 9], made(4, {}), changes, {1: Anchor(0, 0)}, around=100, limit=7, counter="c", model="m")
    assert found.points == [
        TimelinePoint(3, 110), TimelinePoint(5, 120, counted=True), TimelinePoint(6, 130),
        TimelinePoint(6, 115), TimelinePoint(9, 125), TimelinePoint(9, 140),
        TimelinePoint(9, 139),
    ]  # fmt: skip
    assert found.events == [
        TimelineEvent(5, "mark", "a", 1, 120, 120, 1), TimelineEvent(6, "forget", "", 3, 130, 115, 3),
        TimelineEvent(9, "undo", "", 4, 125, 140, 5),
    ]  # fmt: skip
    assert (found.peak, found.limit, found.counter, found.model) == (140, 7, "c", "m")


def test_a_cut_and_ops_at_one_place() -> None:
    """What follows a cut starts where that left off; nothing is below nothing."""
    changes = [
        TimelineChange(2, "forget", "", 1, -5.0), TimelineChange(2, "cut", "compacted", None, -2.0, 0),
        TimelineChange(2, "clear", "", 2, -99.0),
    ]  # fmt: skip
    found = course([1, 2], made(2, {}, [2], [12]), changes, {})
    assert [(event.before, event.after) for event in found.events] == [(20, 15), (15, 6), (6, 0)]
    assert [point.tokens for point in found.points] == [10, 20, 15, 6, 0]


def test_nothing() -> None:
    """No message, and ops all the same."""
    assert course([], made(0, {}), [], {}).points == []
    found = course([], made(0, {}), [TimelineChange(0, "mark", "a", 1, 0.0)], {})
    assert found.points == [TimelinePoint(0, 0)] and found.events == [TimelineEvent(0, "mark", "a", 1, 0, 0, 0)]
