"""ctxkit mark: a point in the log to come back to."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, Reading, Writing, takes


@takes(Writing, Reading)
def command(
    log: LogArgument = "-",
    label: Annotated[
        str | None, typer.Argument(metavar="[LABEL]", help="A name for the mark; need not be unique.")
    ] = None,
    *,
    reading: Reading,
    writing: Writing,
) -> None:
    """Set a mark: a point in the log that `ctxkit rewind` can go back to.

    Marks never reach the model. Labels are case-sensitive; of several with the same label the newest counts.
    """
    write(log, reading, writing, "mark", lambda target: target.mark(label))
