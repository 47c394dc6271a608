"""A deadline for regular expressions: a pattern that runs away on one message ends the command.

Used by `run.asked` for --grep, and by `recall --regex`. RELIABILITY S18: Python's matcher looks at signals, so a timer
can stop it.
"""

from __future__ import annotations

import signal
from types import FrameType

from ctxkit.errors import BadPattern

SECONDS = 2.0
"""Of processor time, so that a busy machine is no slow pattern, for one message. The longest honest search, a megabyte
through a simple pattern, takes some milliseconds."""


class Deadline:
    """A timer that is wound up before each search and stopped after the last."""

    def __init__(self, pattern: str, seconds: float = SECONDS, *, option: str = "--grep") -> None:
        """`pattern` and `option` are for the message; main thread only, as signals are."""
        self._asked = f"{option} {pattern!r}"
        self._seconds = seconds
        signal.signal(signal.SIGVTALRM, self._expired)

    def restart(self) -> None:
        """Wind the timer up."""
        signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds)

    def stop(self) -> None:
        """No search is running."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def _expired(self, number: int, frame: FrameType | None) -> None:
        text = f"{self._asked}: pattern too slow, over {self._seconds:g} s on one message"
        raise BadPattern(f"{text}: nothing was changed", "avoid a repeat inside a repeat, such as (a+)+")
