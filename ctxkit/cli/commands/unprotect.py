"""ctxkit unprotect: take protection away."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.log_access import asked, write
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes


@takes(Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Also the system preamble.")] = False,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Remove the protection of messages, including the default protection of the first message.

    The system preamble is always protected; unprotecting it needs --force.
    """
    write(
        log, reading, writing, "unprotect",
        lambda target: target.unprotect(asked(target, numbers, selecting), force=force), thread=selecting.thread,
    )  # fmt: skip
