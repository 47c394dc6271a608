"""Checkpointing: a small reference to the context, written before what replaces it, by hand, or where one is worth it.

`committing.py` and `checkpoint` ask for them; `pinning.py` makes one, `rebuilding.py` goes the way back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ctxkit.core.context import entry, shown_names
from ctxkit.core.kept import HAND, Kept, Tokens
from ctxkit.core.messages import Content
from ctxkit.core.names import Name
from ctxkit.core.ops import Op
from ctxkit.core.state import State
from ctxkit.errors import CannotCreate, CtxkitError, Locked, NoPermission, NothingChanges, Usage, WriteFailed
from ctxkit.pinning import moment, reference
from ctxkit.policies.retention import expired
from ctxkit.store.lock import DEADLINE
from ctxkit.store.snapshots import Snapshots, pieces

if TYPE_CHECKING:
    from ctxkit.appending import AppendingLog
    from ctxkit.opened import OpenedLog

PAUSES = (0.1, 0.3)
"""Seconds between the tries to write one."""
PATIENCE = 0.5
"""Seconds of a try in which another program may be at work in the folder."""
Done = TypeVar("Done")


class Pinned(msgspec.Struct, frozen=True):
    """A checkpoint that was made. `path`: its file; `new`: it was not there before."""

    kept: Kept
    path: Path
    new: bool

    @property
    def said(self) -> str:
        """What was done, in words."""
        return "Checkpoint created." if self.new else "The same checkpoint is there already: nothing was written."

    @property
    def id(self) -> str:
        """Its id."""
        return self.kept.head.session_id


def shelf(log: OpenedLog, patience: float = DEADLINE) -> Snapshots:
    """The snapshots beside a log. Raises Usage for a stream without --sidecar."""
    if log.opening.sidecar is None:
        raise Usage("a stream has no snapshots beside it", "name the log's file, or --sidecar DIR")
    return Snapshots(log.opening.sidecar, patience)


def store(log: OpenedLog, kept: Kept, patience: float = DEADLINE) -> Pinned:
    """Write a checkpoint beside its log, unless it is there. Raises CannotCreate, NoPermission, Locked, Usage."""
    path, new = shelf(log, patience).add(pieces(kept.body, kept), kept.head)
    return Pinned(kept, path, new)


def before_op(log: AppendingLog, op: Op) -> list[str]:
    """A checkpoint of the context that `op` is about to replace; what went wrong, in words. It never stops the op."""
    counted = log.figures if log.lens_agent is None and log.lens_thread is None else None
    tokens = None if counted is None else Tokens(counted.before, counted.counter)
    try:
        kept = reference(log, op.name, f"before {op.name}", tokens=tokens)
        tried(partial(store, log, kept, PATIENCE))
    except NothingChanges:
        return []
    except CtxkitError as error:
        return [f"no checkpoint was made: {error.message}"]
    return []


def by_hand(log: AppendingLog, label: str) -> Pinned:
    """A checkpoint that a person asks for; retention leaves it alone."""
    shelf(log)
    return store(log, reference(log, HAND, label))


def by_itself(log: AppendingLog, label: str, also: Collection[str] = ()) -> Pinned | None:
    """A checkpoint of the newest exchange, or of the one that it follows, where that is worth one (`policies`): None
    where it is not, or has one already. `also`: tags that count besides the usual ones.
    """
    from ctxkit.policies.checkpoint import USUAL, newest_event  # brings tables of commands

    known = {one.body.get("exchange") for one in shelf(log).checkpoints()}
    for opener, names in _newest_exchanges(log.state()):
        if opener in known:
            return None
        tags = (*USUAL, *also)
        event = newest_event(_that_matters(log, names, tags), tags)
        if event is not None:
            kept = reference(log, event.tag, label or event.said, exchange=opener)
            return tried(partial(store, log, kept, PATIENCE))
    return None


def tried(action: Callable[[], Done]) -> Done:
    """What `action` gives, which may fail twice where another program or the disk is in the way."""
    for pause in PAUSES:
        try:
            return action()
        except (CannotCreate, Locked, NoPermission, WriteFailed):
            time.sleep(pause)
    return action()


def prune(log: OpenedLog) -> list[str]:
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


def _newest_exchanges(state: State) -> Iterator[tuple[str, list[Name]]]:
    """The newest exchange of the context and the one before it: what opens them, and their messages."""
    from ctxkit.core.select import opens

    found: list[Name] = []
    given = 0
    for name in reversed(list(shown_names(state))):
        found.append(name)
        if opens(state, name):
            yield str(name), found[::-1]
            found, given = [], given + 1
            if given == 2:
                return
    if found:
        yield "0", found[::-1]


def _that_matters(log: OpenedLog, names: Iterable[Name], tags: Collection[str]) -> Iterator[Content]:
    """The contents that may trigger one: what reads is most of a log, and is not read again."""
    from ctxkit.policies.checkpoint import SPOKEN, matters

    state, speaks = log.state(), not SPOKEN.isdisjoint(tags)
    asked: set[str] = set()
    for name in names:
        message = state.messages[name - 1] if isinstance(name, int) else None
        if message is not None:
            pairs = zip(message.calls, message.tools, strict=False)
            mine = {call for call, tool in pairs if matters(tool)}
            asked |= mine
            if not (mine or not asked.isdisjoint(message.results) or (speaks and message.role == "assistant")):
                continue
        yield log.full(entry(state, name))
