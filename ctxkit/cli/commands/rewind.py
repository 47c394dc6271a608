"""ctxkit rewind: drop the messages that came after a mark."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, Reading, Writing, takes


@takes(Writing, Reading)
def command(
    log: LogArgument = "-",
    label: Annotated[str | None, typer.Argument(metavar="[LABEL]", help="The mark (default: the newest).")] = None,
    *,
    reading: Reading,
    writing: Writing,
) -> None:
    """Take the messages after a mark out of the context.

    The mark stays, so a second rewind goes to the same place; later marks are gone. Compacts and trims made after the
    mark are undone with it; what was forgotten, protected or windowed stays so. `ctxkit undo` brings everything back.
    """
    write(log, reading, writing, "rewind", lambda target: target.rewind(label))
