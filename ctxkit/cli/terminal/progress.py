"""Progress: one line on standard error that says how far a long piece of work is; erased before anything else is said.

Only on a terminal, never with --quiet, and only from the first half second on. Work calls it once a block.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ctxkit.cli.terminal.safe_text import cells, clip, safe

AFTER = 0.5
"""Seconds without a word: most work is done by then."""
EVERY = 0.1
"""Seconds between two figures."""

MEGABYTE = 1_000_000


class Progress:
    """Of one piece of work. `put` writes to the terminal; `columns` is how wide that is.

    `what`: what is done, with a name that may come from anywhere; `unit`: `MB` where bytes are counted, "" where the
    figures say enough. `outer`: the work that this is a part of, which shares when a figure is due.
    """

    def __init__(
        self, what: str, unit: str, *, put: Callable[[str], None], columns: int,
        clock: Callable[[], float] = time.monotonic, outer: Progress | None = None,
    ) -> None:  # fmt: skip
        self._what = safe(what, keep_newlines=False)
        self._unit = unit
        self._put, self._columns, self._clock = put, columns, clock
        self._due: list[float] = outer._due if outer is not None else [clock() + AFTER]
        self._shown = 0

    def __call__(self, done: int, total: int = 0) -> None:
        """So far `done` of `total`; 0: nobody knows how much it will be."""
        now = self._clock()
        if now < self._due[0]:
            return
        self._due[0] = now + EVERY
        scale = MEGABYTE if self._unit == "MB" else 1
        of = f" / {total // scale:,}" if total else ""
        figures = f"… {done // scale:,}{of} {self._unit}" if self._unit else f"… {done:,}/{total:,}"
        room = self._columns - 1 - cells(figures)  # the last column stays free: a terminal would go on to the next line
        line = clip((clip(self._what, room).removesuffix("…") if room > 0 else "") + figures, self._columns - 1)
        self._put(f"\r{line}{' ' * (self._shown - cells(line))}\r")
        self._shown = cells(line)

    def erase(self) -> None:
        """Nothing of it is on the screen any more; the next call shows it again."""
        if self._shown:
            self._put("\r" + " " * self._shown + "\r")
            self._shown = 0
