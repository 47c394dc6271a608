"""Captures what the run of a command on one of many logs prints, in this process or in one of a pool.

Pipeline: `cli/many_logs.py` -> here -> the command, with `streams.py` as always, but without terminal, pager or
progress -> the bytes, which the outer run prints in the order of the logs.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ctxkit.cli.terminal import streams


class Manner(NamedTuple):
    """How the outer run prints: whether its result and its reports are coloured; `events`: reports are JSON lines, of a
    command that began at this time of the monotonic clock, which all processes share; None for words. `redacts`:
    secrets are taken out.
    """

    colour: bool
    err_colour: bool
    events: float | None
    redacts: bool = False

    @classmethod
    def now(cls) -> Manner:
        """That of the current run."""
        run = streams.Streams
        return cls(
            run.colour, run.err_colour, None if run.events is None else run.events.began, run.redactor is not None
        )


class Capture:
    """What a run printed: `out` and `err`, complete at the end of the block."""

    out = b""
    err = b""


@contextmanager
def captured(words: Sequence[str], manner: Manner) -> Iterator[Capture]:
    """Run the block as a call of its own (`words`), and keep what it prints. The outer run's state comes back."""
    outer, found = streams.Streams, Capture()
    files = sys.stdout, sys.stderr
    sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    try:
        streams.begin(words, paged=False)
        run = streams.Streams
        run.colour, run.err_colour, run.among = manner.colour, manner.err_colour, True
        if manner.redacts:
            streams.redact()
        if manner.events is not None:
            from ctxkit.cli.terminal.event_log import EventLog

            run.events = EventLog(words[0], manner.events)
        yield found
    finally:
        streams.end()
        found.out, found.err = _taken(sys.stdout), _taken(sys.stderr)
        sys.stdout, sys.stderr = files
        streams.Streams = outer


def _taken(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    buffer = stream.buffer
    return buffer.getvalue() if isinstance(buffer, io.BytesIO) else b""
