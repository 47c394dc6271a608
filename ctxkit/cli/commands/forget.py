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
    images: Annotated[bool, typer.Option("--images", help="Only the images; their messages stay.")] = False,
    larger_than: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Only parts larger than this: tokens (5k) or bytes (2MB); their messages stay."
        ),
    ] = None,
    forget_options: ForgetOptions,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Take messages out of the context. Nothing leaves the log.

    Choose by number (45, 45-67) or by criteria; a message must fit all criteria. A step is never split: a call and its
    results go together. Protected messages are skipped unless --include-protected. With criteria, a file is previewed
    first and a script needs --yes; numbers, ranges and pipes never ask.

    --images and --larger-than remove only parts of messages, of the chosen ones or else of all in the context. The
    messages stay, with [image left out] in place of each part. Calls, thinking and the model's text are never removed.
    """
    leave("forget", log, numbers, forget_options, reading, writing, selecting, Parts(images, larger_than))
