"""Times as people type them and as they read them: the one place where a time zone counts.

Typed times: durations and dates are resolved to seconds before anything is appended (law 1). `cli` and `Log` call this
before `decide`; an op stores seconds, never words. Only this module imports pytimeparse and dateparser (0.27 s with its
first parse), both inside the function that needs them. A duration is exact seconds; a date is a wall time, so
"yesterday" is 23 or 25 hours ago across a change of clocks. Every failure is a `BadTime`.
Printed times: `Clock` writes times so that, typed back in the same zone, they mean the same. A model, a file, an op or
a program gets the form of `core.times.iso`, whatever the zone.
The current time is always passed in; `zone` is a tzinfo, or None for the zone of the machine (`TZ`, /etc/localtime),
with its own changes of clocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from ctxkit.core.times import day as utc_day
from ctxkit.core.times import iso, spoken
from ctxkit.errors import BadTime

__all__ = ["Clock", "duration", "instant", "moment", "span", "spoken", "until", "with_zone", "zone_of"]

HINT = 'a duration (8h, 2d, "2h 30m") or a past date (yesterday, "last monday", 2026-02-01)'
LONGEST_TEXT = 80
"""No duration or date is longer; parsers are slow on long text."""

_AMOUNT = re.compile(
    r"\d[\d.]*\s*(w|d|h|m|s|wks?|weeks?|dys?|days?|hrs?|hours?|mins?|minutes?|secs?|seconds?)(?![a-z])", re.I
)
_FULL_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_OFFSET = r"(?P<zone>Z|[+-]\d\d:?\d\d(?::\d\d)?)?"
_WRITTEN = re.compile(
    rf"\d{{4}}-\d\d-\d\d(?:[T ](?P<minute>\d\d:\d\d)(?P<second>:\d\d)?(?P<part>[.,]\d+)?)?{_OFFSET}", re.A | re.I
)
"""A time as `Clock` or ISO 8601 writes it; the groups show how exact it is."""
_RELATIVE = re.compile(r"\b(last|past|ago|months?|years?)\b", re.I)
_SMALLER = {"w": "d", "d": "h", "h": "m", "m": "s"}


def duration(text: str) -> int:
    """Seconds of `24h`, `2d`, `1 week`, `48 hours`, `2h 30m`, `1.5h`: above zero, each number with its unit."""
    text = _clean(text)
    seconds = _duration(text)
    if seconds is None:
        raise _unreadable(text, "a duration", 'durations look like 90m, 8h, 2d, "1 week", "2h 30m"')
    return seconds


def span(text: str, now: float, zone: tzinfo | None = None) -> int:
    """How many seconds before `now` (epoch): from a duration, or else from a past date in `zone`."""
    text = _clean(text)
    seconds = _duration(_without_ago(text))
    if seconds is not None:
        return seconds
    before = now - _date(text, now, zone)
    if before < 0:
        raise BadTime(f"{text} lies in the future; nothing changed", HINT)
    if before < 1:
        raise BadTime(f"{text} is not before now; nothing changed", HINT)
    return int(before + 0.001)  # 86,399.9999 is a day: floats of today's epochs are exact to microseconds only


def moment(text: str, now: float, zone: tzinfo | None = None) -> float:
    """The epoch that `--since` means: an ISO time, a date in `zone`, or a duration before `now`."""
    text = _clean(text)
    seconds = _duration(_without_ago(text))
    return _date(text, now, zone) if seconds is None else now - seconds


def until(text: str, now: float, zone: tzinfo | None = None) -> float:
    """The epoch that `--until` means: the end of the day, minute or second that is written; else as in `moment`.

    A message shown as 10:45:30 came within that second, and `--until` with this text includes it.
    """
    start = moment(text, now, zone)
    written = _WRITTEN.fullmatch(_clean(text))
    if written is None or written["part"]:
        return start
    if written["minute"]:
        end = start + (1 if written["second"] else 60)
    else:
        try:
            wall = _wall(start, UTC if written["zone"] else zone).replace(tzinfo=None) + timedelta(days=1)
            end = start + 86400 if written["zone"] else _epoch(wall, zone)
        except (ValueError, OverflowError, OSError):  # the last day of the calendar
            return start + 86399
    return math.nextafter(end, -math.inf)


def instant(text: str, zone: tzinfo | None = None) -> float | None:
    """The epoch of a time in ISO 8601, in `zone` if it names none; None for any other text."""
    try:
        found = datetime.fromisoformat(text)
        epoch = _epoch(found, zone)
    except (ValueError, OverflowError, OSError):
        return None
    return epoch if math.isfinite(epoch) else None


def standard(value: object) -> str:
    """The text of a value of SQL: a date, a time of day or both in ISO 8601, anything else as it writes itself."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def with_zone(text: str, zone: tzinfo | None = None) -> str:
    """A time of ISO 8601 in UTC with Z; unchanged if it names its zone, or if it is not such a time."""
    moment = instant(text, zone)
    whole = moment is None or ("T" in text and datetime.fromisoformat(text).tzinfo is not None)
    return text if moment is None or whole else iso(moment)


def zone_of(name: str, env: Mapping[str, str]) -> tzinfo | None:
    """The zone that `time.zone` names: `local` is the one of `TZ` in `env`, else that of the machine (None)."""
    if name == "utc":
        return UTC
    from zoneinfo import ZoneInfo

    if name != "local":
        return ZoneInfo(name)
    try:
        return ZoneInfo(env["TZ"].removeprefix(":")) if env.get("TZ") else None
    except (ValueError, OSError, KeyError):
        return None  # POSIX rules such as EST5EDT4, which only the system reads


class Clock:
    """Writes the times of one run for people; with `exact`, for a program, in UTC with Z.

    Typed back, the text means the same time: the offset is written with a wall time that occurs twice, with the first
    time of a run, and with the first after the offset changed.
    """

    def __init__(self, zone: tzinfo | None = UTC, *, exact: bool = True) -> None:
        self.zone = zone
        self.exact = exact
        self._offset: timedelta | None = None
        """The offset of the time that was written last."""

    @property
    def width(self) -> int:
        """The most cells that a time takes, for columns."""
        return len("2026-02-12T14:30:00Z" if self.exact else "2026-02-12 14:30:00+00:00")

    def time(self, moment: float) -> str:
        """To the second: `2026-02-12 14:30:00`, with the offset if the line before does not show it."""
        moment = math.floor(moment)
        wall = self._shown(moment)
        if wall is None:
            return iso(moment)
        offset, self._offset = self._offset, wall.utcoffset()
        plain = wall.replace(tzinfo=None, fold=0)
        again = _epoch(plain, self.zone) == moment
        return (plain if again and offset == self._offset else wall).isoformat(" ")

    def time_after(self, moment: float, before: float | None) -> str:
        """As `time`, for a line that comes after one with the time `before`; None: no such line."""
        wall = None if before is None else self._shown(math.floor(before))
        self._offset = None if wall is None else wall.utcoffset()
        return self.time(moment)

    def whole(self, moment: float) -> str:
        """A single time, with its fraction of a second and its offset: `2026-02-12 14:30:00.5-05:00`."""
        wall = self._shown(moment)
        return iso(moment) if wall is None else wall.isoformat(" ")

    def day(self, moment: float) -> str:
        """The day: `2026-02-12`, or in UTC with Z."""
        wall = self._shown(moment)
        return f"{utc_day(moment)}Z" if wall is None else wall.date().isoformat()

    def offset(self, moment: float) -> str:
        """The offset at a time: `-05:00`, `Z`."""
        wall = self._shown(moment)
        return "Z" if wall is None else wall.isoformat()[19 + 7 * bool(wall.microsecond) :]

    def bare(self, moment: float) -> str:
        """To the second without an offset, for lists that are redrawn and show the offset once."""
        wall = self._shown(math.floor(moment))
        return iso(math.floor(moment)) if wall is None else wall.replace(tzinfo=None).isoformat(" ")

    def _shown(self, moment: float) -> datetime | None:
        """The wall time with its zone; None if it is written in UTC."""
        if self.exact:
            return None
        try:
            return _wall(moment, self.zone)
        except (ValueError, OverflowError, OSError):  # the first and the last day of the calendar
            return None


def _wall(moment: float, zone: tzinfo | None) -> datetime:
    """The wall time with its zone. Raises ValueError, OverflowError, OSError."""
    found = datetime.fromtimestamp(moment, UTC)
    return found.astimezone(zone)


def _epoch(wall: datetime, zone: tzinfo | None) -> float:
    """The epoch of a wall time, which may have a zone of its own. Raises ValueError, OverflowError, OSError.

    It always gets a zone, because Python rounds times without one differently.
    """
    if wall.tzinfo is None:
        wall = wall.astimezone() if zone is None else wall.replace(tzinfo=zone)
    return wall.timestamp()


def _clean(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        raise BadTime("no time given; nothing changed", HINT)
    if len(text) > LONGEST_TEXT:
        raise BadTime(f"{text[:20]}…: too long for a time; nothing changed", HINT)
    return text


def _without_ago(text: str) -> str:
    """`2 hours ago` as the duration, which is exact; a difference of wall times is off by an hour twice a year."""
    return re.sub(r" ago$", "", text, flags=re.I)


def _unreadable(text: str, what: str = "a duration or date", hint: str = HINT) -> BadTime:
    return BadTime(f"{text}: not {what} that can be read; nothing changed", hint)


def _duration(text: str) -> int | None:
    """Seconds, or None if the text is no duration. A number without a unit is an error, because it is ambiguous."""
    if text[-1].isdigit() and not re.search(r"[^\W\d]", _AMOUNT.sub("", text)) and not _FULL_DATE.search(text):
        raise BadTime(_ask_unit(text), HINT)
    if text[-1].isdigit():
        return None

    from pytimeparse.timeparse import timeparse

    try:
        seconds = timeparse(text)
        if seconds is None:
            return None
        whole = round(seconds)
    except (ValueError, OverflowError) as error:  # digits beyond what an int or float takes
        raise _unreadable(text) from error
    if whole <= 0:
        raise BadTime(f"{text}: a duration must be above zero; nothing changed", HINT)
    return whole


def _ask_unit(text: str) -> str:
    """A question about the unit: `8 what? 8h, 8d`, `1h30 what? 1h30m`, `2:30 what? 2h 30m, 2m 30s`.

    A text with seconds is probably a printed time without its date.
    """
    number = text.lstrip("+-")
    if re.fullmatch(r"\d+(\.\d+)?", number):
        return f"{text} what? {number}h, {number}d"
    clock = re.fullmatch(r"(\d+):(\d+)", number)
    if clock:
        return f"{text} what? {clock[1]}h {clock[2]}m, {clock[1]}m {clock[2]}s"
    timed = re.fullmatch(r"(\d{1,2}):(\d\d):(\d\d)", text)
    if timed:
        whole, day = f"{timed[1]}h {timed[2]}m {timed[3]}s", f"2026-02-01 {timed[1]:0>2}:{timed[2]}:{timed[3]}"
        return f'{text} what? "{whole}", or with its date: "{day}"'
    last = [amount[1][0].lower() for amount in _AMOUNT.finditer(text)][-1:]
    unit = _SMALLER.get(last[0], "") if last else ""
    return f"{text} what? {text}{unit}" if unit else f"{text} what? each number needs a unit: h, d"


def _date(text: str, now: float, zone: tzinfo | None) -> float:
    """The epoch of a date, which has a word in it, or is full with the year first (orders of day and month are not
    guessed).
    """
    full = _FULL_DATE.search(text)
    if not full and not re.search(r"[^\W\d_]{2}", text):
        raise _unreadable(text)
    try:
        base = _wall(now, zone).replace(tzinfo=None)
        if text.lower() == "now":
            return now
        if text.lower() == "today":
            wall: datetime | None = base.replace(hour=0, minute=0, second=0, microsecond=0)
        elif full:
            wall = _full_date(text, full, base)
        else:
            wall = _words(text, base)
        if wall is None:
            raise _unreadable(text)
        epoch = _epoch(wall, zone)
    except (ValueError, OverflowError, OSError) as error:  # no such day, or a year outside the calendar
        raise _unreadable(text) from error
    if not math.isfinite(epoch):
        raise _unreadable(text)
    return epoch


def _full_date(text: str, full: re.Match[str], base: datetime) -> datetime | None:
    day = f"{int(full[1]):04}-{int(full[3]):02}-{int(full[4]):02}"
    date = datetime.fromisoformat(day)  # raises for a day that does not exist: it is not read in another order
    rest = text[full.end() :].strip()
    if full.start() == 0:
        try:
            if re.fullmatch(_OFFSET, rest, re.A | re.I):  # a day with a zone: 2026-02-12Z
                return datetime.fromisoformat(f"{day}T00:00{rest}")
            return datetime.fromisoformat(day + text[full.end() :].replace(" ", "T", 1) if rest else day)
        except ValueError:
            pass  # "2026-02-01 10am", "2026-02-01 10:00 EST": words beside the date
    wall = _words(text[: full.start()] + day + text[full.end() :], base)
    return wall if wall is None or wall.date() == date.date() else None


def _words(text: str, base: datetime) -> datetime | None:
    """The result of dateparser, relative to `base` (wall time); None if it finds no date."""
    import dateparser

    settings = {
        "RELATIVE_BASE": base,
        "PREFER_DATES_FROM": "past",
        # "feb 2026" is its first day; "last month" is this day a month earlier
        "PREFER_DAY_OF_MONTH": "current" if _RELATIVE.search(text) else "first",
    }
    try:
        # English only: with all languages many ordinary words are a date in one of them
        found = dateparser.parse(text, languages=["en"], settings=settings)
    except Exception as error:  # its parsers raise anything: re.error, RecursionError, AttributeError, ...
        raise _unreadable(text) from error
    return found if isinstance(found, datetime) else None
