"""Makes a checkpoint of a finished exchange in which a file was written, an error was solved or something was decided.

Pipeline: `watch/watcher.py` calls it in a thread of its own when an exchange has ended -> `snapshots/triggers.py`
decides -> the sidecar of the log.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ctxkit.api.log import Log
from ctxkit.snapshots.make_checkpoint import shelf
from ctxkit.snapshots.retention import over_bound
from ctxkit.snapshots.triggers import by_itself
from ctxkit.watch.events import LastCheckpoint
from ctxkit.watch.full_reading import whose_turn

ALSO = ("decision",)
"""Triggers besides code and solved errors."""
LOOKED_BACK = 8
"""How many of the newest exchanges are checked: several may end before the watcher comes to look."""


class WatchedCheckpoint(NamedTuple):
    """A checkpoint that was made. `over`: how many made by hand there are beyond `checkpoint.keep`.

    `notes`: which checkpoints were removed; `warned`: what went wrong.
    """

    kept: LastCheckpoint
    over: int
    notes: list[str]
    warned: list[str]


def checkpoint(path: Path) -> WatchedCheckpoint | None:
    """A checkpoint of the newest of the last exchanges that ended and is worth one; None if none is, or if it has one
    already.

    Exchanges that ended since the last call share it: it refers to the context as it is now. Raises what
    `Log.checkpoint` raises.
    """
    log = Log.open(path, tolerant=True, unsaid="none")
    try:
        goes_on = whose_turn(log.transcript).waits_for != "user"
        found = by_itself(log, "", ALSO, LOOKED_BACK, goes_on=goes_on)
        if found is None:
            return None
        log.prune_checkpoints()
        head = found.kept.head
        heads = [one.head for one in shelf(log).checkpoints() if one.head is not None]
        over = len(over_bound(heads, int(log.config["checkpoint.keep"])))
        made = LastCheckpoint(head.short, head.timestamp, head.description, head.tags)
        return WatchedCheckpoint(made, over, list(log.notes), list(log.warned))
    finally:
        log.opening.source.close()
