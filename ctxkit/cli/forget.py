"""ctxkit forget: messages leave the context; the bytes stay in the log."""

from __future__ import annotations

from ctxkit.cli.leaving import Leaving, leave
from ctxkit.cli.params import LogArgument, Numbers, Reading, Selecting, Writing, takes


@takes(Leaving, Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    leaving: Leaving,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Take messages out of the context. Nothing leaves the log.

    Choose by number (45, 45-67) or by criteria, which combine with AND. A step is never split: a call and its results
    go together. Protected messages are skipped unless --include-protected. By criteria, a file is previewed first and
    a script needs --yes; numbers, ranges and pipes never ask.
    """
    leave("forget", log, numbers, leaving, reading, writing, selecting)
