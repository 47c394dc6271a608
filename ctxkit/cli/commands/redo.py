"""ctxkit redo: void the newest undo."""

from __future__ import annotations

from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, Reading, Writing, takes


@takes(Writing, Reading)
def command(log: LogArgument = "-", *, reading: Reading, writing: Writing) -> None:
    """Undo the newest undo, so that its op is in force again.

    Ops written in between do not matter. A redo is itself an undo (of an undo), and can be undone.
    """
    write(log, reading, writing, "redo", lambda target: target.redo())
