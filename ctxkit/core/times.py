"""Times of messages: as written, read into seconds since 1970, and filled where they are missing.

Order is file order, never time (clocks lie); times serve windows, selection and display only.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache
from math import isfinite, isnan, nan

from ctxkit.core.messages import Message

MILLISECONDS_FROM = 1e11
"""A number above this is milliseconds since 1970 (as seconds it would be the year 5138)."""


EARLIEST, LATEST = -62135596800.0, 253402300799.0
"""The years 1 to 9999, which is what can be printed."""


@lru_cache(maxsize=4096, typed=True)
def seconds(value: object) -> float | None:
    """Seconds since 1970 of an ISO text (naive: UTC) or an epoch number; None for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return _printable((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
        except (ValueError, OverflowError):
            return None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 and isfinite(value):
        return _printable(value / 1000 if abs(value) > MILLISECONDS_FROM else float(value))
    return None


def _printable(moment: float) -> float | None:
    return moment if EARLIEST <= moment <= LATEST else None


def written(value: object) -> float | None:
    """`seconds` for a value that may be of any type, unhashable ones too."""
    return seconds(value) if isinstance(value, str | int | float) else None


def iso(moment: float) -> str:
    """ISO time in UTC with `Z`, to the second where it is whole, else to the microsecond."""
    text = datetime.fromtimestamp(moment, UTC).isoformat()
    return text.replace("+00:00", "Z")


def day(moment: float) -> str:
    """The day in UTC: `2026-02-12`."""
    return iso(moment)[:10]


def as_text(value: object) -> str:
    """A time of TOML as ISO text; text as it is; "" for anything else."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value if isinstance(value, str) else ""


def compact(moment: float) -> str:
    """`20260212T143000.000000Z`: a time as a part of a name, in an order that names have."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y%m%dT%H%M%S.%fZ")


class MessageTimes:
    """The time of every message, missing ones filled with the newest earlier time (replay 38).

    All are read, O(messages), when a missing time or the newest is asked for: a message that has one needs no other.
    The times of ops do not count: a restore would move every window, and hide what was visible before it (replay 65).
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    def grown(self, messages: Sequence[Message]) -> MessageTimes:
        """The times of `messages`, which begin with those of this object; of the further ones alone, if all were
        read.
        """
        found = MessageTimes(messages)
        if "_all" in vars(self):
            found._all = found._read(*self._all)
        return found

    @cached_property
    def _all(self) -> tuple[array[float], float]:
        """The time of each message, 8 bytes each; NaN where there is none. And the newest."""
        return self._read(array("d"), nan)

    def _read(self, known: array[float], newest: float) -> tuple[array[float], float]:
        """All times, of which the first are known."""
        found = known[:]
        for message in self._messages[len(known) :]:
            moment = written(message.ts)
            if moment is None:
                moment = newest
            else:
                newest = _later(newest, moment)
            found.append(moment)
        return found, newest

    @property
    def newest(self) -> float | None:
        """The newest of all of them, None without any."""
        newest = self._all[1]
        return None if isnan(newest) else newest

    def of(self, n: int) -> float | None:
        """Seconds since 1970 of message n; None where it and all before it have no time."""
        moment = written(self._messages[n - 1].ts)
        if moment is None:
            moment = self._all[0][n - 1]
        return None if isnan(moment) else moment


def _later(newest: float, moment: float) -> float:
    """The later of the two; the first may be NaN for none yet."""
    return newest if moment <= newest else moment


def spoken(duration: int) -> str:
    """A duration in seconds as people write it: 24h, 1h 30m, 45m, 20s."""
    hours, rest = divmod(abs(duration), 3600)
    minutes, left = divmod(rest, 60)
    found = [f"{value}{unit}" for value, unit in ((hours, "h"), (minutes, "m"), (left, "s")) if value]
    return ("−" if duration < 0 else "") + (" ".join(found) or "0s")
