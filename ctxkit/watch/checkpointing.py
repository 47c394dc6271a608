"""Makes a checkpoint of a finished exchange in which a file was written, an error was solved or something was decided.

Pipeline: `watch/watcher.py` calls it in its worker when an exchange has ended -> `snapshots/triggers.py`
decides -> the sidecar of the log.
"""

from __future__ import annotations

import time
from pathlib import Path

from ctxkit.api.log import Log
from ctxkit.snapshots.make_checkpoint import shelf
from ctxkit.snapshots.retention import over_bound
from ctxkit.snapshots.triggers import by_itself
from ctxkit.watch.events import CheckpointMade
from ctxkit.watch.turns import whose_turn

ALSO = ("decision",)
"""Triggers besides code and solved errors."""
LOOKED_BACK = 8
"""How many of the newest exchanges are checked: several may end before the watcher comes to look."""


def checkpoint(path: Path, ended: float) -> tuple[CheckpointMade | None, list[str]]:
    """Make a checkpoint of the newest of the last exchanges that ended and is worth one, if it has none already.

    Returns the event, and what went wrong beside it. `ended`: when the exchange ended, in seconds since 1970. Exchanges
    that ended since the last call share it: it refers to the context as it is now. Raises what `Log.checkpoint` raises.
    """
    log = Log.open(path, tolerant=True, unsaid="none")
    try:
        goes_on = whose_turn(log.transcript).waits_for != "user"
        found = by_itself(log, "", ALSO, LOOKED_BACK, goes_on=goes_on)
        if found is None:
            return None, []
        log.prune_checkpoints()
        head = found.kept.head
        heads = [one.head for one in shelf(log).checkpoints() if one.head is not None]
        over = len(over_bound(heads, int(log.config["checkpoint.keep"])))
        made = CheckpointMade(
            log=str(path), id=head.short, label=head.description, tags=head.tags, over=over,
            seconds=round(max(0.0, time.time() - ended), 3), note="; ".join(log.notes) or None,
        )  # fmt: skip
        return made, list(log.warned)
    finally:
        log.opening.source.close()
