"""ctxkit protect: messages that no rule may take away."""

from __future__ import annotations

from ctxkit.cli.log_access import asked, write
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes


@takes(Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Protect messages against compact, trim, window, remember and an unforced forget.

    A step (a call with its results) is protected as a whole. clear, rewind and edit still take protected messages out;
    the flag stays on the number and holds when it comes back.
    """
    write(
        log, reading, writing, "protect", lambda target: target.protect(asked(target, numbers, selecting)),
        thread=selecting.thread,
    )  # fmt: skip
