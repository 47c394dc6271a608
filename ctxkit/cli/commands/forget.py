"""ctxkit forget: messages leave the context; the bytes stay in the log."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.forget_options import ForgetOptions, Parts, leave
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes


@takes(ForgetOptions, Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    images: Annotated[bool, typer.Option("--images", help="Only the images of the messages, which stay.")] = False,
    larger_than: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Only parts that are larger: tokens (5k) or bytes (2MB); the messages stay."),
    ] = None,
    forget_options: ForgetOptions,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Take messages out of the context. Nothing leaves the log.

    Choose by number (45, 45-67) or by criteria, which combine with AND. A step is never split: a call and its results
    go together. Protected messages are skipped unless --include-protected. By criteria, a file is previewed first and
    a script needs --yes; numbers, ranges and pipes never ask.

    --images and --larger-than take parts out of messages, of all in the context where none are named: the messages
    stay, with [image left out] in the place of each. Calls, thinking and the words of a model are never left out.
    """
    leave("forget", log, numbers, forget_options, reading, writing, selecting, Parts(images, larger_than))
