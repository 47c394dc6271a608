"""ctxkit remember: keep only these messages."""

from __future__ import annotations

from ctxkit.cli.forget_options import ForgetOptions, leave
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes


@takes(ForgetOptions, Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    forget_options: ForgetOptions,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Keep only these messages; everything else leaves the context. Nothing leaves the log.

    System, developer and protected messages stay. Choose what to keep as for `ctxkit forget`; later messages are not
    affected.
    """
    leave("remember", log, numbers, forget_options, reading, writing, selecting)
