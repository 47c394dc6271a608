"""ctxkit undo: void an op, whatever it was."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, Reading, Writing, takes


@takes(Writing, Reading)
def command(
    log: LogArgument = "-",
    op: Annotated[
        str | None, typer.Argument(metavar="[OP]", help="Number, id or unique prefix of an id; the newest if left out.")
    ] = None,
    *,
    reading: Reading,
    writing: Writing,
) -> None:
    """Void one op: by default the newest in force that is not an undo.

    Two undos walk back two ops. The context is then what it would be had the op never been written; messages are not
    ops and stay. `ctxkit redo` voids the undo.
    """
    write(log, reading, writing, "undo", lambda target: target.undo(op))
