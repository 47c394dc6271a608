"""ctxkit mark: a point in the log to come back to."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, Reading, Writing, takes


@takes(Writing, Reading)
def command(
    log: LogArgument = "-",
    label: Annotated[str | None, typer.Argument(metavar="[LABEL]", help="A name for the mark; may repeat.")] = None,
    *,
    reading: Reading,
    writing: Writing,
) -> None:
    """Set a mark: a point in the log that `ctxkit rewind` comes back to.

    Marks never reach the model. Labels are verbatim and case-sensitive; the newest of the same name wins.
    """
    write(log, reading, writing, "mark", lambda target: target.mark(label))
