"""Checkpointing: a small reference to the context, written before what replaces it, by hand, or where one is worth it.

`logfile/commit.py` and `checkpoint` ask for them; `snapshots/context_reference.py` makes one, `snapshots/rebuild.py`
goes the way back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ctxkit.core.ops import Op
from ctxkit.core.snapshot import HAND, Snapshot, SnapshotTokens
from ctxkit.errors import CannotCreate, CtxkitError, Locked, NoPermission, NothingChanges, Usage, WriteFailed
from ctxkit.snapshots.context_reference import moment, reference
from ctxkit.snapshots.retention import expired
from ctxkit.store.lock import DEADLINE
from ctxkit.store.snapshot_files import Snapshots, pieces

if TYPE_CHECKING:
    from ctxkit.logfile.append import AppendableLog
    from ctxkit.logfile.open import OpenLog

PAUSES = (0.1, 0.3)
"""Seconds between the tries to write one."""
PATIENCE = 0.4
"""Seconds of a try in which another program may be at work in the folder."""
Done = TypeVar("Done")


class Checkpoint(msgspec.Struct, frozen=True):
    """A checkpoint that was made. `path`: its file; `new`: it was not there before."""

    kept: Snapshot
    path: Path
    new: bool

    @property
    def said(self) -> str:
        """What was done, in words."""
        if not self.new:
            return "The same checkpoint exists already: nothing was written."
        return f"Kept a reference to this context: {self.kept.head.short}"

    @property
    def id(self) -> str:
        """Its id."""
        return self.kept.head.session_id


def shelf(log: OpenLog, patience: float = DEADLINE) -> Snapshots:
    """The snapshots beside a log. Raises Usage for a stream without --sidecar."""
    if log.opening.sidecar is None:
        raise Usage("a stream has no snapshots beside it", "name the log's file, or --sidecar DIR")
    return Snapshots(log.opening.sidecar, patience)


def store(log: OpenLog, kept: Snapshot, patience: float = DEADLINE) -> Checkpoint:
    """Write a checkpoint beside its log, unless it is there, or one of its exchange. Raises CannotCreate, NoPermission,
    Locked, Usage.
    """
    path, new = shelf(log, patience).add(pieces(kept.body, kept), kept.head, kept.body.get("exchange"))
    return Checkpoint(kept, path, new)


def before_op(log: AppendableLog, op: Op) -> list[str]:
    """A checkpoint of the context that `op` is about to replace; what went wrong, in words. It never stops the op."""
    counted = log.figures if log.lens_agent is None and log.lens_thread is None else None
    tokens = None if counted is None else SnapshotTokens(counted.before, counted.counter)
    try:
        kept = reference(log, op.name, f"before {op.name}", tokens=tokens)
        tried(partial(store, log, kept, PATIENCE))
    except NothingChanges:
        return []
    except CtxkitError as error:
        return [f"no checkpoint was made: {error.message}"]
    return []


def by_hand(log: AppendableLog, label: str) -> Checkpoint:
    """A checkpoint that a person asks for; retention leaves it alone."""
    shelf(log)
    return store(log, reference(log, HAND, label))


def tried(action: Callable[[], Done]) -> Done:
    """What `action` gives, which may fail twice where another program or the disk is in the way."""
    for pause in PAUSES:
        try:
            return action()
        except (CannotCreate, Locked, NoPermission, WriteFailed):
            time.sleep(pause)
    return action()


def prune(log: OpenLog) -> list[str]:
    """Remove the checkpoints that have outlived their time, as the config says; tells of it in a line. Raises as
    `Snapshots.remove`.
    """
    some = shelf(log, PATIENCE)
    keep, days = int(log.config["checkpoint.keep"]), int(log.config["checkpoint.days"])
    there = some.checkpoints()
    heads = [one.head for one in there if one.head is not None]
    going = expired(heads, moment(log.config, log.clock), keep, days)
    if not going:
        return []
    some.remove([there[place].path for place, _ in going])
    why = Counter(why for _, why in going)
    return [f"checkpoints removed: {', '.join(f'{count} {reason}' for reason, count in why.items())}"]
