"""The picker: a choice among sessions on the terminal itself, whatever standard output is; it is left as it was found.

`picker_state.py` says what is drawn and what a key does, `key_names.py` which key it was. A screen of its own is used,
so that what stood on the terminal is there again afterwards: on every way out, errors and signals included.
"""

from __future__ import annotations

import os
import select
import signal
import termios
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from ctxkit.cli.terminal.key_names import keys
from ctxkit.cli.terminal.picker_state import PickerState
from ctxkit.cli.terminal.style import Styled
from ctxkit.errors import Usage
from ctxkit.search.sessions import Session

ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l"
"""A screen of its own, no cursor, no line broken by the terminal."""
LEAVE = b"\x1b[?7h\x1b[?25h\x1b[?1049l"
AT_ONCE = 0.05
"""Seconds within which the rest of a key comes."""
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that end the command, once the terminal is as it was."""


def pick(sessions: Sequence[Session], drawn: Callable[[Sequence[str | Styled]], bytes]) -> Session | None:
    """The session that is chosen on the terminal; None where none is. `drawn`: a line as bytes, safe and painted.

    Raises Usage where there is no terminal that can be drawn on, KeyboardInterrupt for Ctrl-C.
    """
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        raise Usage("--pick needs a terminal that can be drawn on", "without --pick the sessions are listed")
    fd = _terminal()
    try:
        return _Picker(fd, PickerState(sessions), drawn).run()
    finally:
        os.close(fd)


def _terminal() -> int:
    """The terminal that the command was started from, else the one that it reads or reports on. Raises Usage."""
    for name in ("/dev/tty", 0, 2):
        with suppress(OSError):
            path = name if isinstance(name, str) else os.ttyname(name)
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    raise Usage("--pick needs a terminal, and there is none", "without --pick the sessions are listed")


class _Ended(BaseException):
    """A signal that ends the command."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _Picker:
    """One choice on one terminal."""

    def __init__(self, fd: int, choice: PickerState, drawn: Callable[[Sequence[str | Styled]], bytes]) -> None:
        self._fd = fd
        self._choice = choice
        self._drawn = drawn
        self._left = b""

    def run(self) -> Session | None:
        ended = 0
        outcome = ""
        try:
            with self._signals() as woken, self._screen():
                outcome = self._until_chosen(woken)
        except _Ended as end:
            ended = end.number
        if ended:
            os.kill(os.getpid(), ended)  # as it would have ended without us
        if outcome == "broken":
            raise KeyboardInterrupt
        return self._choice.chosen if outcome == "taken" else None

    def _until_chosen(self, woken: int) -> str:
        self._draw()
        while True:
            wait = AT_ONCE if self._left else None
            ready = select.select([self._fd, woken], [], [], wait)[0]
            if woken in ready:
                with suppress(BlockingIOError):
                    os.read(woken, 4096)
            data = b""
            if self._fd in ready:
                try:
                    data = os.read(self._fd, 4096)
                except OSError:  # the terminal is gone
                    return "left"
                if not data:
                    return "left"
            pressed, self._left = keys(self._left + data, more=bool(data))
            for key in pressed:
                if outcome := self._choice.press(key):
                    return outcome
            if ready or pressed:
                self._draw()

    def _draw(self) -> None:
        try:
            columns, rows = os.get_terminal_size(self._fd)
        except OSError:
            columns, rows = 0, 0
        columns, rows = columns or 80, rows or 24
        # erased before each line: behind a full one the cursor stays on the last cell, which would go too
        lines = [b"\x1b[K" + self._drawn(line) for line in self._choice.lines(columns, rows)]
        below = b"\r\n\x1b[J" if len(lines) < rows else b""
        self._write(b"\x1b[H" + b"\r\n".join(lines) + below)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    @contextmanager
    def _screen(self) -> Iterator[None]:
        """The terminal in raw mode with a screen of its own, and afterwards as it was."""
        before = termios.tcgetattr(self._fd)
        try:
            self._enter(before)
            yield
        finally:
            held = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # a second one must not come between
            with suppress(OSError):  # a terminal that is gone needs nothing
                self._write(LEAVE)
            with suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSAFLUSH, before)
            signal.pthread_sigmask(signal.SIG_SETMASK, held)

    def _enter(self, before: list[Any]) -> None:
        raw = list(before)
        raw[0] &= ~(termios.ICRNL | termios.IXON | termios.ISTRIP | termios.INLCR | termios.IGNCR | termios.BRKINT)
        raw[1] |= termios.OPOST
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        raw[6] = list(raw[6])
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, raw)
        self._write(ENTER)

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """A new size wakes us, what would end us is raised; the descriptor that becomes readable then."""
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

        def end(number: int, frame: FrameType | None) -> None:
            raise _Ended(number)

        before: dict[int, Any] = {}
        try:
            before[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, lambda *_: None)
            for ending in ENDING:
                if signal.getsignal(ending) is not signal.SIG_IGN:
                    before[ending] = signal.signal(ending, end)
            old = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
            try:
                yield woken
            finally:
                signal.set_wakeup_fd(old)
        finally:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
            os.close(woken)
            os.close(wake)
