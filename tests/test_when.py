"""Durations and dates."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxkit.errors import BadTime, ExitCode
from ctxkit.when import duration, moment, span, spoken

HOUR, DAY = 3600, 86400
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KOLKATA = ZoneInfo("Asia/Kolkata")
UTC = ZoneInfo("UTC")


def at(text: str, zone: tzinfo = UTC) -> float:
    """The epoch of a wall time."""
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


NOW = at("2026-02-12T14:30:00")  # a Thursday


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("24h", DAY),
        ("2d", 2 * DAY),
        ("1 week", 7 * DAY),
        ("1w", 7 * DAY),
        ("48 hours", 2 * DAY),
        ("2h 30m", 9000),
        ("2h30m", 9000),
        ("90m", 5400),
        ("90 min", 5400),
        ("1.5h", 5400),
        (".5h", 1800),
        ("1d, 2h", DAY + 2 * HOUR),
        ("  8h ", 8 * HOUR),
        ("8 H", 8 * HOUR),
        ("45s", 45),
        ("9999h", 9999 * HOUR),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    """Every form of a duration, and the same as a span and a moment."""
    assert duration(text) == seconds
    assert span(text, NOW, BERLIN) == seconds
    assert moment(text, NOW, BERLIN) == NOW - seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8", "8 what? 8h, 8d"),
        (" 90 ", "90 what? 90h, 90d"),
        ("-8", "-8 what? 8h, 8d"),
        ("1.5", "1.5 what? 1.5h, 1.5d"),
        ("1h30", "1h30 what? 1h30m"),
        ("2d 12", "2d 12 what? 2d 12h"),
        ("8 hours 30", "8 hours 30 what? 8 hours 30m"),
        ("5s30", "5s30 what? each number needs a unit: h, d"),
        ("2:30", "2:30 what? 2h 30m, 2m 30s"),
        (":30", ":30 what? each number needs a unit: h, d"),
        ("1:02:03", '1:02:03 what? "1h 02m 03s", or with its date: "2026-02-01 01:02:03"'),
        ("20260201", "20260201 what? 20260201h, 20260201d"),
        ("02/03", "02/03 what? each number needs a unit: h, d"),
        ("02/03/2026", "02/03/2026 what? each number needs a unit: h, d"),
    ],
)
def test_number_without_unit_is_asked_about(text: str, message: str) -> None:
    """A number without a unit is refused with the question back, in every function."""
    for call in (lambda: duration(text), lambda: span(text, NOW, UTC), lambda: moment(text, NOW, UTC)):
        with pytest.raises(BadTime) as caught:
            call()
        assert caught.value.message == message
        assert caught.value.code == ExitCode.USAGE


@pytest.mark.parametrize("text", ["0h", "0", "-8h", "0.1s", "-2 days", "0h 0m"])
def test_zero_and_negative_are_refused(text: str) -> None:
    """A window of nothing, or of the future, is no window."""
    for call in (lambda: duration(text), lambda: span(text, NOW, UTC)):
        with pytest.raises(BadTime):
            call()


@pytest.mark.parametrize(
    ("text", "wall"),
    [
        ("yesterday", "2026-02-11T14:30:00"),
        ("Yesterday 10:00", "2026-02-11T10:00:00"),
        ("yesterday at 9pm", "2026-02-11T21:00:00"),
        ("the day before yesterday", "2026-02-10T14:30:00"),
        ("today", "2026-02-12T00:00:00"),
        ("last monday", "2026-02-09T00:00:00"),
        ("monday", "2026-02-09T00:00:00"),
        ("thursday", "2026-02-05T00:00:00"),
        ("last tuesday 9:00", "2026-02-10T09:00:00"),
        ("last week", "2026-02-05T14:30:00"),
        ("last month", "2026-01-12T14:30:00"),
        ("1 month", "2026-01-12T14:30:00"),
        ("10am", "2026-02-12T10:00:00"),
        ("5pm", "2026-02-11T17:00:00"),
        ("feb 1", "2026-02-01T00:00:00"),
        ("jan 2026", "2026-01-01T00:00:00"),
        ("12 december", "2025-12-12T00:00:00"),
        ("2026-02-01", "2026-02-01T00:00:00"),
        ("2026/2/1", "2026-02-01T00:00:00"),
        ("2026-02-01T10:00", "2026-02-01T10:00:00"),
        ("2026-02-01 10:00", "2026-02-01T10:00:00"),
        ("2026-02-01 10am", "2026-02-01T10:00:00"),
        ("2026-02-01T10:00:30.5", "2026-02-01T10:00:30.500000"),
    ],
)
@pytest.mark.parametrize("zone", [UTC, BERLIN, KOLKATA], ids=str)
def test_past_dates(text: str, wall: str, zone: ZoneInfo) -> None:
    """A past date is a wall time in the user's zone."""
    now = at("2026-02-12T14:30:00", zone)
    assert moment(text, now, zone) == at(wall, zone)
    assert span(text, now, zone) == int(now - at(wall, zone))


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("2026-02-01T10:00Z", at("2026-02-01T10:00")),
        ("2026-02-01T10:00:00+02:00", at("2026-02-01T08:00")),
        ("2026-02-01 10:00 EST", at("2026-02-01T15:00")),
        ("now", NOW),
    ],
)
def test_a_zone_in_the_text_wins(text: str, epoch: float) -> None:
    """An offset or zone name in the text is taken as it stands."""
    assert moment(text, NOW, KOLKATA) == epoch


@pytest.mark.parametrize(
    "text", ["tomorrow", "in 2 days", "next monday", "2026-02-13", "2026-02-12T14:31", "2027-01-01"]
)
def test_future_is_refused(text: str) -> None:
    """What lies ahead cannot be a window; a bound for --until may."""
    with pytest.raises(BadTime, match="lies in the future; nothing changed"):
        span(text, NOW, UTC)
    assert moment(text, NOW, UTC) > NOW


@pytest.mark.parametrize("text", ["2 hours ago", "1 day ago", "1 week ago"])
def test_ago_is_a_duration(text: str) -> None:
    """`ago` adds nothing: the same exact seconds, across a change of clocks too."""
    now = at("2026-03-29T12:00:00", BERLIN)
    assert span(text, now, BERLIN) == duration(text.removesuffix(" ago"))


@pytest.mark.parametrize(
    ("now", "zone", "hours"),
    [
        ("2026-03-29T12:00:00", BERLIN, 23),
        ("2026-03-30T12:00:00", BERLIN, 24),
        ("2026-10-25T12:00:00", BERLIN, 25),
        ("2026-03-08T12:00:00", NEW_YORK, 23),
        ("2026-11-01T12:00:00", NEW_YORK, 25),
        ("2026-03-29T12:00:00", KOLKATA, 24),
        ("2026-03-29T12:00:00", UTC, 24),
    ],
)
def test_yesterday_across_a_change_of_clocks(now: str, zone: ZoneInfo, hours: int) -> None:
    """Yesterday is the same wall time on the calendar day before; a duration stays exact."""
    assert span("yesterday", at(now, zone), zone) == hours * HOUR
    assert span("24h", at(now, zone), zone) == DAY


def test_local_zone_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a zone, TZ decides, with its changes of clocks."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    now = at("2026-10-25T12:00:00", BERLIN)
    assert span("yesterday", now) == 25 * HOUR
    assert moment("2026-07-01", now) == at("2026-07-01T00:00:00", BERLIN)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    assert span("yesterday", now) == DAY


def test_a_wall_time_that_the_clocks_skip() -> None:
    """02:30 on the day the clocks go forward is some time of that night, not an error."""
    assert at("2026-03-29T01:00", BERLIN) < moment("2026-03-29T02:30", NOW, BERLIN) < at("2026-03-29T04:00", BERLIN)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "soon", "gestern", "hier", "before-refactor", "x", "1e5h", "2h-30m", "2026-02-31", "2026-13-01",
     "0000-01-01", "31 february", "8h" * 50, "\x1b[2J", "\udc80", "9" * 79 + "h yesterday"],
    ids=repr,
)  # fmt: skip
def test_unreadable(text: str) -> None:
    """What cannot be read is refused, and changes nothing."""
    for call in (lambda: span(text, NOW, UTC), lambda: moment(text, NOW, UTC)):
        with pytest.raises(BadTime, match="nothing changed"):
            call()


def test_a_date_is_no_duration() -> None:
    """Where a length is meant, as in the config, a date is refused."""
    with pytest.raises(BadTime, match="not a duration"):
        duration("yesterday")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (86400, "24h"), (8 * HOUR, "8h"), (604800, "168h"), (5400, "1h 30m"), (1800, "30m"), (90, "1m 30s"),
        (59, "59s"), (5405, "1h 30m 5s"), (3605, "1h 5s"), (0, "0s"), (-5400, "−1h 30m"),
    ],
)  # fmt: skip
def test_spoken(seconds: int, text: str) -> None:
    """Hours are the largest unit, and nothing is rounded away."""
    assert spoken(seconds) == text


@given(st.integers(min_value=1, max_value=10**9))
def test_spoken_reads_back(seconds: int) -> None:
    """What is printed can be typed."""
    assert duration(spoken(seconds)) == seconds


WORDS = st.sampled_from(
    [
        *("8", "90", "1.5", "h", "d", "2h", "30m", "week", "weeks", "yesterday", "last", "monday", "ago", "in", "next"),
        *("2026-02-01", "T10:00", "feb", "31", "at", "noon", "am", "pm", ":", "-", ",", "EST", "+", "Z", "month"),
        *("9999-12-31", "0001-01-01", "99999999999999999999", "٨", "²", "½"),
    ]
)


@given(st.one_of(st.text(), st.lists(WORDS, max_size=5).map(" ".join), st.lists(WORDS, max_size=4).map("".join)))
@example("0001-01-01")
@example("9999-12-31 23:59")
def test_never_any_other_exception(text: str) -> None:
    """Any text is a time or a BadTime."""
    for zone in (None, BERLIN, timezone(timedelta(hours=-23, minutes=-59))):
        for call in (
            lambda: duration(text),
            lambda zone=zone: span(text, NOW, zone),
            lambda zone=zone: moment(text, NOW, zone),
        ):
            with contextlib.suppress(BadTime):
                assert isinstance(call(), int | float)


def test_clock_is_the_one_passed_in() -> None:
    """No function reads the clock: years apart, the same answer relative to `now`."""
    for year in (1999, 2026, 2050):
        assert span("yesterday", at(f"{year}-06-15T12:00:00"), UTC) == DAY


def test_import_is_cheap() -> None:
    """Importing the module, and reading nothing, loads neither parser; a duration does not load dateparser."""
    code = (
        "import sys, ctxkit.when as w; heavy = {'dateparser', 'pytimeparse'} & set(sys.modules); w.duration('8h');"
        "print(heavy, 'dateparser' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert out.stdout.strip() == "set() False"
