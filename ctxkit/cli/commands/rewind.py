"""ctxkit rewind: drop the messages that came after a mark."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, Reading, Writing, takes


@takes(Writing, Reading)
def command(
    log: LogArgument = "-",
    label: Annotated[str | None, typer.Argument(metavar="[LABEL]", help="Which mark; the newest if left out.")] = None,
    *,
    reading: Reading,
    writing: Writing,
) -> None:
    """Take out of the context what came after a mark.

    The mark stays, so a second rewind lands on the same place; marks after it go. Compacts and trims made after the
    mark are undone with it; what was forgotten, protected or windowed stays so. `ctxkit undo` brings all of it back.
    """
    write(log, reading, writing, "rewind", lambda target: target.rewind(label))
