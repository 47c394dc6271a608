"""Makes a checkpoint automatically if the newest exchange is worth one and has none yet.

Pipeline: the messages that may matter are read, `snapshots/trigger_events.py` decides, `snapshots/make_checkpoint.py`
writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import pairwise

from ctxkit.core.context import entry, shown_names
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content
from ctxkit.core.select import opens
from ctxkit.core.state import State
from ctxkit.logfile.append import AppendableLog
from ctxkit.logfile.open import OpenLog
from ctxkit.snapshots.context_reference import reference
from ctxkit.snapshots.make_checkpoint import PATIENCE, Checkpoint, shelf, store, tried
from ctxkit.snapshots.trigger_events import SPOKEN, USUAL, TriggerEvent, matters, newest_event

LOOKED_BACK = 2
"""How many of the newest exchanges are checked, for a hook."""
READ, MOST = 8 << 20, 50_000
"""The most bytes and messages of an exchange that are read, the newest ones, because a hook waits for it."""


def by_itself(
    log: AppendableLog, label: str, also: Collection[str] = (), back: int = LOOKED_BACK, *, goes_on: bool = False
) -> Checkpoint | None:
    """A checkpoint of the newest of the last `back` exchanges that is worth one (`trigger_events`).

    None if none is, or if one that is newer has one already. `also`: tags that count besides the usual ones. `goes_on`:
    the newest exchange has not ended, and is left out.
    """
    known = {one.body.get("exchange") for one in shelf(log).checkpoints()}
    tags = (*USUAL, *also)
    newest = list(_newest_exchanges(log.state(), back + goes_on))[goes_on:]
    for (opener, names), (_, before) in pairwise([*newest, ("", [])][: back + 1]):
        if opener in known:
            return None
        event = _event(log, before, names, tags)
        if event is not None:
            kept = reference(log, event.tag, label or event.said, exchange=opener)
            made = tried(partial(store, log, kept, PATIENCE))
            return made if made.new else None  # another program made it at the same moment
    return None


def _event(log: OpenLog, before: list[Name], names: list[Name], tags: Collection[str]) -> TriggerEvent | None:
    """The newest event of an exchange; a command that failed in the one `before` may have succeeded in it."""
    new, found = frozenset(names), list(_that_matters(log, [*before, *names][-MOST:], tags))
    contents = [content for _, content in found]
    return newest_event(contents, tags, sum(name not in new for name, _ in found))


def _newest_exchanges(state: State, back: int) -> Iterator[tuple[str, list[Name]]]:
    """The `back` newest exchanges of the context and the one before them, the newest first: the name of the first
    message, and all names.
    """
    found: list[Name] = []
    given = 0
    for name in reversed(list(shown_names(state))):
        found.append(name)
        if opens(state, name):
            yield str(name), found[::-1]
            found, given = [], given + 1
            if given > back:
                return
    if found:
        yield "0", found[::-1]


def _that_matters(log: OpenLog, names: Iterable[Name], tags: Collection[str]) -> Iterator[tuple[Name, Content]]:
    """The contents that may trigger a checkpoint, at most the newest READ bytes. Calls that only read files, which are
    most of a log, are left out with their results.
    """
    state, speaks = log.state(), not SPOKEN.isdisjoint(tags)
    asked: set[str] = set()
    found: list[tuple[Name, int]] = []
    for name in names:
        message = state.messages[name - 1] if isinstance(name, int) else None
        if message is not None:
            pairs = zip(message.calls, message.tools, strict=False)
            mine = {call for call, tool in pairs if matters(tool)}
            asked |= mine
            if not (mine or not asked.isdisjoint(message.results) or (speaks and message.role == "assistant")):
                continue
        found.append((name, 0 if message is None else message.bytes))
    first, left = len(found), READ
    while first and (left := left - found[first - 1][1]) >= 0:
        first -= 1
    for name, _ in found[first:]:
        yield name, log.full(entry(state, name))
