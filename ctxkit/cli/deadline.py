"""A deadline for regular expressions: a pattern that runs away ends the command, on one message or on many.

Used by `run.asked` for --grep, and by `recall --regex`. RELIABILITY S18: Python's matcher looks at signals, so a timer
can stop it.
"""

from __future__ import annotations

import signal
from types import FrameType

from ctxkit.errors import BadPattern

SECONDS = 2.0
"""Of processor time, so that a busy machine is no slow pattern, for all messages together."""
HONEST = 0.01
"""Seconds that a search of one message may take without counting: a megabyte through a simple pattern takes less."""


class Deadline:
    """A timer that is wound up before each search and stopped after the last."""

    def __init__(self, pattern: str, seconds: float = SECONDS, *, option: str = "--grep") -> None:
        """`pattern` and `option` are for the message; main thread only, as signals are."""
        self._asked = f"{option} {pattern!r}"
        self._seconds = self._left = seconds
        signal.signal(signal.SIGVTALRM, self._expired)

    def restart(self) -> None:
        """Wind the timer up, to what the searches before have left of it."""
        self.stop()
        signal.setitimer(signal.ITIMER_VIRTUAL, self._left + HONEST)

    def stop(self) -> None:
        """No search is running."""
        rest, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if rest:  # it was wound up: what the search took beyond an honest one is gone
            self._left = min(self._left, rest)

    def _expired(self, number: int, frame: FrameType | None) -> None:
        text = f"{self._asked}: pattern too slow, over {self._seconds:g} s"
        raise BadPattern(f"{text}: nothing was changed", "avoid a repeat inside a repeat, such as (a+)+")
