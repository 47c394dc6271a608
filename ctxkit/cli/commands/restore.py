"""ctxkit restore: a snapshot comes back into the context."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import write
from ctxkit.cli.options import LogArgument, Reading, Writing, takes
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import Op
from ctxkit.core.snapshot import Snapshot
from ctxkit.errors import BadSnapshot, NothingChanges, Usage
from ctxkit.snapshots.restore import loaded, strange, with_messages
from ctxkit.store.snapshot_files import LARGEST, parsed


@takes(Writing, Reading)
def command(
    log: LogArgument = "-",
    snapshot: Annotated[
        str | None, typer.Argument(metavar="ID", help="An id, its beginning, a description, latest, or a file.")
    ] = None,
    *,
    replace: bool = False,
    summary: bool = False,
    append: bool = False,
    writing: Writing,
    reading: Reading,
) -> None:
    """Bring a snapshot back into the context.

    Messages of the snapshot that are not visible now return to their places, with whole steps; those that were
    shortened come as copies. Messages of another log come at the end, as copies. --append puts all at the end.
    They keep their times for display; for windows they are as new as the restore. --replace takes everything else out:
    the context is exactly the snapshot, in its order. --summary adds only its summary, and none of its messages; not
    if some of them were forgotten since.

    ID names what `ctxkit snapshots LOG` lists. It can also be a file that `ctxkit snapshot` wrote; in a pipe only a
    file works: restore - FILE. Into another log, or with another model, it needs --yes. `ctxkit undo LOG` takes all of
    it back.
    """
    if not snapshot:
        raise Usage("which snapshot? nothing was changed", "ctxkit snapshots LOG lists them; restore LOG latest")

    def action(target: Log) -> Op | None:
        kept = loaded(target, snapshot, summary=summary) if snapshot != "-" else with_messages(target, _given(target))
        if not (target.op_id and target.op_id in target.ledger.by_id):
            _consent(target, kept, yes=writing.yes)
        return target.restore(kept, replace=replace, summary=summary, append=append)

    write(log, reading, writing, "restore", action)


def _consent(log: Log, kept: Snapshot, *, yes: bool) -> None:
    """Report what is strange about it; for a file, ask. Raises NothingChanges on a no, Usage if nobody can be asked."""
    reasons = list(strange(log, kept))
    asks = bool(reasons) and not (yes or log.dry_run or log.opening.path is None)
    for reason in reasons:
        if asks:
            streams.say_always(reason)
        else:
            streams.warn(reason)
    if not asks:
        return
    if not streams.on_terminal():
        raise Usage("this needs a confirmation, and there is no terminal to ask on: nothing was changed", "use --yes")
    if not streams.ask("Bring it in anyway?"):
        raise NothingChanges("not confirmed: nothing was changed")


def _given(log: Log) -> Snapshot:
    """The snapshot on standard input."""
    if log.opening.path is None:
        raise Usage("standard input cannot be both the log and the snapshot: nothing was changed", "a file for ID")
    if sys.stdin is None or sys.stdin.isatty():
        raise Usage("no snapshot comes on standard input: nothing was changed", "ctxkit restore LOG - <FILE")
    raw = sys.stdin.buffer.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise BadSnapshot("standard input: it is too large for a snapshot: nothing was changed")
    return parsed(raw, "standard input")
