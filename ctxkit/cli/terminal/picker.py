"""Lets the user choose a session by its number, or by words of it, on the terminal itself: standard output stays free.

A plain question, a line at a time: no key is read by itself, so no mode of the terminal is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import FileIO

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import ROOMY
from ctxkit.cli.terminal.session_list import UNTITLED, facts, fitted
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.errors import Usage
from ctxkit.search.sessions import Session
from ctxkit.when import Clock

LINES = 3
"""Lines of a session: time and title; figures; last words."""


def pick(sessions: Sequence[Session], remarks: Sequence[str] = ()) -> Session | None:
    """Return the session that the user chooses, or None. `sessions`: newest first; `remarks`: what else is said of
    each; with them, times are those of files, by which `@` goes.

    Raises Usage without a terminal, KeyboardInterrupt for Ctrl-C.
    """
    clock = Clock(streams.clock().zone, exact=streams.Streams.utc)  # the list is for people, wherever the result goes
    with _terminal() as terminal:
        numbers, first = list(range(1, len(sessions) + 1)), 0
        while True:
            columns, rows = _size(terminal)
            last = first + max(1, (rows - 2) // LINES)
            for number in numbers[first:last]:
                remark = remarks[number - 1] if remarks else ""
                for line in _lines(number, sessions[number - 1], remark, clock, columns, by_file=bool(remarks)):
                    terminal.write(streams.drawn(line) + b"\n")
            left = len(numbers) - last
            older = f"Enter: {left:,} older" if left > 0 else "Enter: none"
            terminal.write(streams.drawn([f"Number, or words of it ({older}):"]) + b" ")
            answer = _answer(terminal)
            if answer is None or (not answer and left <= 0):
                return None
            if not answer:
                first = last
            elif answer.isdecimal() and 0 < int(answer) <= len(sessions):
                return sessions[int(answer) - 1]
            else:
                words = answer.lower().split()
                fitting = [n for n, one in enumerate(sessions, 1) if all(word in _text(one, clock) for word in words)]
                if len(fitting) == 1:
                    return sessions[fitting[0] - 1]
                if not fitting:
                    terminal.write(b"Nothing fits.\n")
                numbers, first = fitting or numbers, 0


def _terminal() -> FileIO:
    """Open the controlling terminal, else that of standard input or standard error. Raises Usage."""
    for name in ("/dev/tty", 0, 2):
        with suppress(OSError):
            path = name if isinstance(name, str) else os.ttyname(name)
            return FileIO(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY), "r+")
    raise Usage("--pick needs a terminal, and there is none", "without --pick the sessions are listed")


def _size(terminal: FileIO) -> tuple[int, int]:
    """Columns and rows."""
    try:
        columns, rows = os.get_terminal_size(terminal.fileno())
    except OSError:
        columns, rows = 0, 0
    return columns or 80, rows or 24


def _answer(terminal: FileIO) -> str | None:
    """The line that is typed; None for Ctrl-D, and where the terminal is gone."""
    try:
        line = terminal.readline()
    except OSError:
        return None
    return line.decode("utf-8", "replace").strip() if line else None


def _lines(
    number: int, one: Session, remark: str, clock: Clock, columns: int, *, by_file: bool
) -> Iterator[Sequence[str | Styled]]:
    """A session, as wide as the screen at most."""
    moment = one.written if by_file else one.time
    start = f"{number:>3} {clock.bare(moment) if columns >= ROOMY else clock.day(moment)} "
    said = f"  {remark}" if remark and columns - len(start) - len(remark) >= ROOMY // 2 else ""
    title = fitted(one.glance.title or UNTITLED, columns - len(start) - len(said))
    yield [Styled(start, "cyan"), Styled(title, "bold"), Styled(said, "dim")]
    yield ["    ", *next(wrapped(facts(one), columns - 4, 0, hard=True))]
    if (last := one.glance.last) is not None:
        yield ["    ", fitted(f"{last.role}: {last.text}", columns - 4)]


def _text(one: Session, clock: Clock) -> str:
    """The text of a session that words are looked for in."""
    last = "" if one.glance.last is None else one.glance.last.text
    parts = (clock.bare(one.time), one.glance.title, last, one.path, one.glance.format, one.state)
    return "\n".join(map(str, parts)).lower()
