"""ctxkit undo: void an op, whatever it was; or the newest undo."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, ManyLogs, Reading, Writing, takes
from ctxkit.core.ops import Op
from ctxkit.errors import Usage


@takes(ManyLogs, Writing, Reading)
def command(
    log: LogArgument = "-",
    op: Annotated[
        str | None, typer.Argument(metavar="[OP]", help="A number, an id or its beginning (default: the newest op).")
    ] = None,
    *,
    redo: bool = False,
    reading: Reading,
    writing: Writing,
) -> None:
    """Undo one op: by default the newest in force that is not an undo.

    Two undos undo two ops. The context is then what it would be without the op; messages are not ops and stay.

    --redo undoes the newest undo instead, so that its op is in force again. Ops written in between do not matter. A
    redo is itself an undo (of an undo), and can be undone.
    """
    if redo and op is not None:
        raise Usage("--redo is of the newest undo: nothing was changed", "to undo another undo, name it without --redo")

    def action(target: Log) -> Op | None:
        return target.redo() if redo else target.undo(op)

    write(log, reading, writing, "undo", action)
