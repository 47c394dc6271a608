"""Times as written, read and filled in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.messages import Message
from ctxkit.core.times import EARLIEST, LATEST, MessageTimes, iso, seconds, spoken, written

NOON = 1769947200.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-02-01T12:00:00Z", NOON),
        ("2026-02-01T12:00:00", NOON),
        ("2026-02-01T13:00:00+01:00", NOON),
        ("2026-02-01 12:00:00.250000Z", NOON + 0.25),
        ("2026-02-01", NOON - 43200),
        (1769947200, NOON),
        (1769947200000, NOON),
        (1769947200.5, NOON + 0.5),
        (0, 0.0),
        ("1769947200", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
        ([], None),
        ({}, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        (999_999_999_999_999, None),
        ("0001-01-01T00:00:00+23:59", None),
    ],
)
def test_written(value: Any, expected: float | None) -> None:
    """ISO texts (naive: UTC) and epoch numbers in seconds or milliseconds; anything else is no time."""
    assert written(value) == expected


def test_a_truth_value_is_no_time_after_a_one() -> None:
    """Equal keys of a cache are not the same value."""
    assert (seconds(1.0), seconds(True)) == (1.0, None)


@given(st.one_of(st.integers(), st.floats(), st.datetimes().map(str), st.text()))
def test_what_is_a_time_can_be_printed(value: object) -> None:
    """Whatever a log says: in the years 1 to 9999, or no time."""
    found = written(value)
    assert found is None or (EARLIEST <= found <= LATEST and written(iso(found)) is not None)


def test_iso() -> None:
    """UTC with Z, whole seconds without a fraction."""
    assert (iso(NOON), iso(NOON + 0.5)) == ("2026-02-01T12:00:00Z", "2026-02-01T12:00:00.500000Z")


@pytest.mark.parametrize(
    ("stamps", "expected", "newest"),
    [
        ([5, 9, 7], [5, 9, 7], 9),
        ([5, 9, 7, None], [5, 9, 7, 9], 9),
        ([None, 5, None], [None, 5, 5], 5),
        ([None], [None], None),
        ([], [], None),
    ],
)
def test_filled_in(stamps: list[int | None], expected: list[float | None], newest: float | None) -> None:
    """A missing time takes the newest earlier one (replay 38); the newest of all is `last` (65)."""
    times = MessageTimes([Message(n, 0, 0, "user", ts) for n, ts in enumerate(stamps, start=1)])
    assert [times.of(n) for n in range(1, len(stamps) + 1)] == expected
    assert times.newest == newest


@pytest.mark.parametrize(
    ("duration", "words"), [(86400, "24h"), (5400, "1h 30m"), (20, "20s"), (0, "0s"), (-3661, "−1h 1m 1s")]
)
def test_spoken(duration: int, words: str) -> None:
    """As people write it."""
    assert spoken(duration) == words
