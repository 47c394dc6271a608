"""A deadline for regular expressions: a pattern that runs away ends the command, on one message or on many.

Used by `run.asked` for --grep, and by `recall --regex`. Python's matcher looks at signals, so a timer
can stop it.
"""

from __future__ import annotations

import signal
from time import thread_time
from types import FrameType
from typing import NoReturn

from ctxkit.errors import BadPattern

SECONDS = 2.0
"""Of processor time, so that a busy machine is no slow pattern, for all messages together."""
EACH, RATE = 3e-5, 1e-7
"""Seconds that a search may take without counting, and for each character: an honest pattern takes a tenth of it."""


class RegexTimeout:
    """A timer that is wound up before each search and stopped after it; what searches take too long adds up."""

    def __init__(self, pattern: str, seconds: float = SECONDS, *, option: str = "--grep") -> None:
        """`pattern` and `option` are for the message; main thread only, as signals are."""
        self._asked = f"{option} {pattern!r}"
        self._seconds = self._left = seconds
        self._began: float | None = None
        self._honest = 0.0

    def restart(self, size: int = 0) -> None:
        """A search of so many characters begins: the timer is wound up to what those before have left."""
        self.stop()
        if self._left <= 0:
            self._end()
        self._honest = EACH + size * RATE
        signal.signal(signal.SIGVTALRM, self._expired)
        self._began = thread_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, self._left + self._honest)

    def stop(self) -> None:
        """No search is running."""
        if self._began is not None:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self._left -= max(0.0, thread_time() - self._began - self._honest)
            self._began = None

    def _expired(self, number: int, frame: FrameType | None) -> None:
        self._end()

    def _end(self) -> NoReturn:
        text = f"{self._asked}: pattern too slow, over {self._seconds:g} s"
        raise BadPattern(f"{text}: nothing was changed", "avoid a repeat inside a repeat, such as (a+)+")
