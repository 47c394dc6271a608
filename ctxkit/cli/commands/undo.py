"""ctxkit undo: void an op, whatever it was."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, ManyLogs, Reading, Writing, takes


@takes(ManyLogs, Writing, Reading)
def command(
    log: LogArgument = "-",
    op: Annotated[
        str | None, typer.Argument(metavar="[OP]", help="A number, an id or its beginning (default: the newest op).")
    ] = None,
    *,
    reading: Reading,
    writing: Writing,
) -> None:
    """Undo one op: by default the newest in force that is not an undo.

    Two undos undo two ops. The context is then what it would be without the op; messages are not ops and stay. `ctxkit
    redo` undoes the undo.
    """
    write(log, reading, writing, "undo", lambda target: target.undo(op))
