"""ctxkit forget: messages leave the context; the bytes stay in the log."""

from __future__ import annotations

from ctxkit.cli.forget_options import ForgetOptions, Parts, leave
from ctxkit.cli.options import LogArgument, ManyLogs, Numbers, Reading, Selecting, Writing, takes


@takes(ManyLogs, ForgetOptions, Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    images: bool = False,
    larger_than: str | None = None,
    forget_options: ForgetOptions,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Take messages out of the context. Nothing leaves the log.

    Choose by number (45, 45-67) or by criteria; a message must fit all criteria. A step is never split: a call and its
    results go together. Protected messages are skipped unless --include-protected. With criteria, a file is previewed
    first and a script needs --yes; numbers or ranges alone and pipes never ask.

    --images and --larger-than remove only parts of messages, of the chosen ones or else of all in the context. Parts
    are pictures, documents, results of tools and texts of the user. With numbers they do not ask. The messages stay,
    with [image left out] in place of each part. The summary of a compaction stays whole; only its number alone removes
    it.
    """
    leave("forget", log, numbers, forget_options, reading, writing, selecting, Parts(images, larger_than))
