"""The pager: human text that is longer than the screen of a terminal is handed to `less`, or to what the user names.

`streams.out` gives it lines that are safe and painted already. They are held until a screen is full; only then is the
program started, and from there on nothing is held. Where `less` is to open at the end it is started at the end, and the
last screen is shown until then. No shell, `LESSSECURE=1`; nothing in a folder names it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from typing import IO

import typer

PAGED = {"show": 0, "log": 0, "why": 0, "status": 0, "recall": 0, "sessions": 0, "snapshots": 0, "diff": 1, "help": 0}
"""The commands whose text is paged, and how each ends where the reader leaves early (something was printed by then)."""

USUAL = "less"
AT_END = "+G"
"""What tells less to open at the end."""
ENTER, LEAVE = b"\x1b[?1049h\x1b[H\x1b[2J", b"\x1b[?1049l"
"""A screen of its own for what is shown before less is there."""
NOT_STARTED = (126, 127)
"""With these a program says that it could not start the one it was to start."""


def command(env: Mapping[str, str]) -> str:
    """The pager's command line: CTXKIT_PAGER, else PAGER, else less; "" where there is to be none."""
    words = env.get("CTXKIT_PAGER", env.get("PAGER", USUAL)).strip()
    return "" if words == "cat" or env.get("TERM") == "dumb" else words


class Pager:
    """Of one run. `put` writes to the terminal, `note` reports; `rows` and `columns` are the screen's.

    `status`: how the command ends when the reader leaves. `running`: the program has the terminal. `at_end`: it is
    to open at the end of the text; only less can.
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
        """Whether lines were given to it that the reader may not have seen."""
        return self._into is not None or bool(self._held)

    @property
    def can_open_at_end(self) -> bool:
        """Whether the program is one that knows how."""
        return os.path.basename(self._words.split()[0]) == USUAL

    @property
    def height(self) -> int:
        """Lines of the screen."""
        return self._rows

    def show(self, lines: list[bytes], note: bytes) -> None:
        """The last screen at once, while what stands before it is made."""
        self._shown = True
        self._put(ENTER + b"\r\n".join([*lines[1 - self._rows :], note]))

    def abandon(self) -> None:
        """Nothing is shown any more: the command ended before all was made."""
        self._hide()
        self._held = None

    def _hide(self) -> None:
        if self._shown:
            self._shown = False
            self._put(LEAVE)

    def line(self, made: bytes, size: int) -> None:
        """One line, of `size` cells. Ends the command where the reader has left."""
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
        """What is held goes out; a running pager gets the rest, and keeps the terminal until its reader leaves."""
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
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]  # what signal() gave
            self.running = False
        if status in NOT_STARTED:
            self._note(f"the pager {self._words!r} ended with {status}; set CTXKIT_PAGER to another, or use --no-pager")

    def _start(self, *options: str) -> None:
        import shlex
        import subprocess

        env = {"LESS": "FRX", "LV": "-c", **os.environ, "LESSSECURE": "1"}
        self._before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the program, which has its own
        try:
            words = shlex.split(self._words)
            program = subprocess.Popen([*words, *options], stdin=subprocess.PIPE, env=env, bufsize=1 << 16)  # noqa: S603  # no shell
        except (OSError, ValueError) as error:
            signal.signal(signal.SIGINT, self._before)
            if self._words != USUAL:  # that there is none is no news
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
        """What was written is not held back in a buffer."""
        try:
            if self._into is not None:
                self._into.flush()
        except BrokenPipeError:
            self.end()
            raise typer.Exit(self._status) from None
