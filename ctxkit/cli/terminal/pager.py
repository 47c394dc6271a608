"""The pager passes text that is longer than the screen of a terminal to `less`, or to a program that the user names.

`streams.out` gives it lines that are safe and coloured already. They are held until a screen is full; then the program
is started and gets all lines. If `less` shall open at the end of the text, it is started when the text is complete, and
the last screen is shown meanwhile. It runs without a shell and with `LESSSECURE=1`; no file in a folder can set it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from typing import IO

import typer

PAGED = {
    "show": 0,
    "log": 0,
    "why": 0,
    "status": 0,
    "recall": 0,
    "sessions": 0,
    "snapshots": 0,
    "sql": 0,
    "diff": 1,
    "help": 0,
}
"""The commands whose text is paged -> exit status if the reader leaves early (after some output)."""

USUAL = "less"
AT_END = "+G"
"""The option of less to open at the end."""
ENTER, LEAVE = b"\x1b[?1049h\x1b[H\x1b[2J", b"\x1b[?1049l"
"""Switch to the alternate screen and back; it shows the last screen before less starts."""
NOT_STARTED = (126, 127)
"""Exit statuses of a program that could not start the pager."""


def command(env: Mapping[str, str]) -> str:
    """Return the command line of the pager: CTXKIT_PAGER, else PAGER, else less; "" for no pager."""
    words = env.get("CTXKIT_PAGER", env.get("PAGER", USUAL)).strip()
    return "" if words == "cat" or env.get("TERM") == "dumb" else words


class Pager:
    """The pager of one run. `words`: its command line; `size`: columns and rows of the screen.

    `status`: the exit status if the reader leaves. `put` writes to the terminal, `note` reports. `running`: whether the
    program has the terminal. `at_end`: whether it shall open at the end of the text; only less can.
    """

    def __init__(
        self, words: str, size: tuple[int, int], status: int, *, put: Callable[[bytes], None],
        note: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.running = self.at_end = False
        self._shown = False
        self._words = words
        self._columns, self._rows = size
        self._status = status
        self._put, self._note = put, note
        self._held: list[bytes] | None = []
        self._used = 0
        self._into: IO[bytes] | None = None
        self._wait: Callable[[], int] = int
        self._before: object = None

    @property
    def begun(self) -> bool:
        """Whether it has lines that the reader may not have seen."""
        return self._into is not None or bool(self._held)

    @property
    def can_open_at_end(self) -> bool:
        """Whether the program is less, which can open at the end."""
        return os.path.basename(self._words.split()[0]) == USUAL

    @property
    def height(self) -> int:
        """The lines of the screen."""
        return self._rows

    def show(self, lines: list[bytes], note: bytes) -> None:
        """Show the last screen at once, while the lines before it are made."""
        self._shown = True
        self._put(ENTER + b"\r\n".join([*lines[1 - self._rows :], note]))

    def abandon(self) -> None:
        """Drop what is held and shown: the command ended before all lines were made."""
        self._hide()
        self._held = None

    def _hide(self) -> None:
        if self._shown:
            self._shown = False
            self._put(LEAVE)

    def line(self, made: bytes, size: int) -> None:
        """Print a line of `size` cells. Raises typer.Exit if the reader has left."""
        if self._into is not None:
            try:
                self._into.write(made)
            except BrokenPipeError:
                self.end()
                raise typer.Exit(self._status) from None
        elif self._held is None:
            self._put(made)
        else:
            self._held.append(made)
            self._used += max(1, -(-size // self._columns))
            if self._used >= self._rows and not self.at_end:
                self._start()

    def end(self) -> None:
        """Print the held lines. A running pager gets them, and has the terminal until its reader leaves."""
        self._hide()
        if self.at_end and self._held and self._used >= self._rows:
            self.at_end = False
            self._start(AT_END)
        held, self._held = self._held or [], None
        for made in held:
            self._put(made)
        if self._into is None:
            return
        into, self._into = self._into, None
        try:
            into.close()
        except BrokenPipeError:
            pass  # the reader has left
        finally:
            status = self._wait()
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]  # the handler from signal()
            self.running = False
        if status in NOT_STARTED:
            self._note(f"the pager {self._words!r} ended with {status}; set CTXKIT_PAGER to another, or use --no-pager")

    def _start(self, *options: str) -> None:
        import shlex
        import subprocess

        env = {"LESS": "FRX", "LV": "-c", **os.environ, "LESSSECURE": "1"}
        self._before = signal.signal(signal.SIGINT, lambda *_: None)  # the pager handles Ctrl-C itself
        try:
            words = shlex.split(self._words)
            program = subprocess.Popen([*words, *options], stdin=subprocess.PIPE, env=env, bufsize=1 << 16)  # noqa: S603  # no shell
        except (OSError, ValueError) as error:
            signal.signal(signal.SIGINT, self._before)
            if self._words != USUAL:  # a missing default pager is no error
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                self._note(f"the pager {self._words!r} cannot be started: {why.lower()}")
            self.end()
            return
        self._into, self._wait, self.running = program.stdin, program.wait, True
        held, self._held = self._held or [], None
        for made in held:
            self.line(made, 0)
        self._seen()

    def _seen(self) -> None:
        """Flush the lines to the program."""
        try:
            if self._into is not None:
                self._into.flush()
        except BrokenPipeError:
            self.end()
            raise typer.Exit(self._status) from None
