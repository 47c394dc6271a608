"""The working copy: the context of a log as a small log in memory, so that a look costs the context and not the log.

Pipeline: `api/rolling.py` adds each message to the log and to its working copy. What is decided on the copy is carried
out in both: `in_log` gives an op of the copy the names of the log. A copy with many messages that left is made again
from itself, so its size follows that of the context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec import structs

from ctxkit.api.log import Log
from ctxkit.core.board import LeftOut
from ctxkit.core.context import shown_names
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.ops import (
    PARTS_VERSION,
    PLACE_VERSION,
    Compact,
    Index,
    Item,
    LogPosition,
    Op,
    Protect,
    Restore,
    Trim,
    Unprotect,
    Window,
    sealed,
)
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import PREAMBLE_ROLES, State
from ctxkit.core.text.json_text import dumps
from ctxkit.core.times import iso
from ctxkit.logfile.append import new_id
from ctxkit.logfile.assembly_sources import folder_of
from ctxkit.logfile.read import NATIVE
from ctxkit.store.source import GrowingSource

SPARE = 64
"""Messages that left, and are still in the copy, beside as many as the context has."""
IN_MEMORY = "a log in memory"
TOLD = dumps({"role": "user", "content": ""}).encode("ascii")
"""The row in the copy for all messages of a summary."""

V = TypeVar("V")


def in_memory(lines: Iterable[bytes] = ()) -> Log:
    """A native log in memory that grows as a file does, with these lines."""
    source = GrowingSource(IN_MEMORY)
    for line in lines:
        source.append(line)
    return Log.open(source.now(), format=NATIVE)


class WorkingCopy:
    """The context of a log, as a log. `log`: the copy; `whole`: it is the log itself, because no copy shows the same.

    `told[n - 1]`: the numbers in the log of message n of the copy: one, or those of a summary.
    """

    def __init__(self, log: Log, told: list[Ranges], *, whole: bool = False) -> None:
        self.log, self.told, self.whole = log, told, whole
        self.places = {one.first(): n for n, one in enumerate(told, start=1) if len(one) == 1}
        """Number in the log -> number in the copy."""

    @classmethod
    def of(cls, log: Log) -> WorkingCopy:
        """The working copy of a log. Raises what a replay raises."""
        made = cls._copied(log, lambda n: Ranges.span(n, n))
        return cls(log, [], whole=True) if made is None else made

    def made_again(self) -> WorkingCopy:
        """The same without the messages that left."""
        made = None if self.whole else self._copied(self.log, lambda n: self.told[n - 1])
        return self if made is None else made

    @property
    def is_sparse(self) -> bool:
        """Whether so many messages left that a new copy pays."""
        if self.whole:
            return False
        state = self.log.state()
        return state.count > 2 * len(state.shown()) + SPARE

    def add(self, line: bytes, n: int) -> None:
        """A message of the log: its row, and its number."""
        if self.whole:
            return
        source = self.log.opening.source
        if isinstance(source, GrowingSource):
            source.append(line)
        self.log.refresh()
        before = len(self.told)
        self.told += [Ranges.span(n, n)] * (len(self.log.messages) - before)
        self.places.update(dict.fromkeys([n] * (len(self.told) > before), len(self.told)))

    def append(self, op: Op) -> None:
        """Carry out an op of the copy."""
        self.log.append(sealed(op))

    def copied(self, names: Names) -> Names | None:
        """These names of the log as those of the copy; None if one is not in it."""
        if self.whole:
            return names
        numbers = [self.places.get(n) for n in names.numbers]
        if None in numbers:
            return None
        return Names(Ranges.of(n for n in numbers if n is not None), names.items)

    def in_log(self, names: Names) -> Names:
        """These names of the copy as those of the log."""
        if self.whole:
            return names
        pairs = [pair for n in names.numbers for pair in self.told[n - 1].pairs()]
        return Names(Ranges(pairs), names.items)

    def op_in_log(self, op: Op, at: LogPosition) -> Op:
        """An op of the copy with the names and the place of the log."""
        if self.whole:
            return op

        def named(text: str) -> str:
            return str(self.in_log(Names.parse(text)))

        def keyed(given: dict[str, V]) -> dict[str, V]:
            return {named(name): value for name, value in given.items()}

        match op:
            case Trim():
                parts, stubs, reasons = keyed(op.parts), keyed(op.stubs), keyed(op.reasons)
                return structs.replace(op, at=at, ids=named(op.ids), parts=parts, stubs=stubs, reasons=reasons)
            case Compact():
                return structs.replace(op, at=at, ids=named(op.ids), stubs=keyed(op.stubs))
            case Protect() | Unprotect():
                return structs.replace(op, at=at, ids=named(op.ids))
            case _:
                return structs.replace(op, at=at)

    @staticmethod
    def _copied(log: Log, told: Callable[[int], Ranges]) -> WorkingCopy | None:
        state = log.state()
        names = list(shown_names(state))
        if not _can_be_copied(state, names):
            return None
        source, board = log.opening.laid_out, state.board
        rows: list[bytes] = []
        found: list[Ranges] = []
        place: dict[Name, int] = {}
        for name in names:
            if isinstance(name, int):
                message = state.messages[name - 1]
                rows.append(source.read(message.offset, message.size))
                found.append(told(name))
            else:
                rows.append(TOLD)
                pairs = [pair for n in board.items[name].tells.numbers for pair in told(n).pairs()]
                found.append(Ranges(pairs))
            place[name] = len(rows)
        copy = in_memory(rows)
        copy.config, copy.tools, copy.own_counter = log.config, log.tools, log.own_counter
        copy.cache_folder, copy.clock, copy.now = log.cache_folder, log.clock, log.now
        copy.folder, copy.estimates = folder_of(log), True
        if len(copy.messages) != len(found):
            return None
        made = WorkingCopy(copy, found)
        for op in _ops(state, names, place):
            stamped = copy.stamp(op, op.id or new_id())
            made.append(structs.replace(stamped, ts=op.ts or stamped.ts))
        return made


def _can_be_copied(state: State, names: Sequence[Name]) -> bool:
    """Whether a copy shows the same context, also after a cut: each name is a message of one row, or a summary at the
    place of what it stands for; in the preamble is what leads the copy.
    """
    lead, shown = True, Names.of(names)
    for place, name in enumerate(names):
        if isinstance(name, int):
            message = state.messages[name - 1]
            if message.more or state.board.effective.get(name, 0.0) is None:
                return False
            lead = lead and message.role in PREAMBLE_ROLES
        else:
            item = state.board.items[name]
            if not item.summary or item.tells.items or name.k != 1:
                return False
            if isinstance(state.board.stubs.get(name), LeftOut):
                return False
            if item.tells.meets(shown):  # what stands for it may have another place than it has
                return False
            behind = names[place + 1] if place + 1 < len(names) else None
            if not item.tells or (behind is not None and state.key(behind) < state.first_key(item.tells)):
                return False
            lead = False
        if lead != state.is_preamble(name):
            return False
        behind_lead = place == 0 or state.is_preamble(names[place - 1])
        if not behind_lead and state.guarded(name) and not state.protected(name):
            return False  # the first message was moved: at another place it can only be protected in full
    return not state.threads


def _ops(state: State, names: Sequence[Name], place: dict[Name, int]) -> Iterable[Op]:
    """What makes the copy show what the log does: the times of what an op brought back, summaries, shortened messages,
    protection, windows.
    """
    at, board = LogPosition(messages=len(names)), state.board
    newer: dict[float, list[Item]] = {}
    for name in names:
        if isinstance(name, int) and (moment := board.effective.get(name)) is not None:
            newer.setdefault(moment, []).append(Item(n=place[name]))
    for moment, items in newer.items():
        yield Restore(at=at, v=PLACE_VERSION, ts=iso(moment), items=items, mode="place")
    for name in names:
        if isinstance(name, ItemName):
            text = board.items[name].message.get("content")
            yield Compact(at=at, id=name.op, ids=str(place[name]), text=str(text))
    stubs, parts = dict[str, object](), dict[str, list[Index]]()
    for name in names:
        held = board.stubs.get(name)
        key = str(place[name] if isinstance(name, int) else Names.of([name]))
        if isinstance(held, LeftOut):
            parts[key] = list(held.parts)
            held = held.stub
        if held is not None:
            stubs[key] = held
    if stubs or parts:
        yield Trim(v=PARTS_VERSION if parts else 1, at=at, ids="", stubs=stubs, parts=parts)
    named = {name: Names(Ranges.span(n, n)) if isinstance(name, int) else Names.of([name]) for name, n in place.items()}
    lead = sum(state.is_preamble(name) for name in names)
    guarded = [one for name, one in named.items() if state.guarded(name) and not state.is_preamble(name)]
    bare = [one for name, one in named.items() if place[name] <= lead + 1 and not state.guarded(name)]
    first = Names(Ranges.span(lead + 1, lead + 1))
    flagged = [one for one in guarded if one != first or state.protected(names[lead])]
    if flagged:
        yield Protect(at=at, ids=str(_all(flagged)))
    if bare:
        yield Unprotect(at=at, ids=str(_all(bare)))
    for agent, seconds in state.windows.items():
        yield Window(at=at, agent=agent, seconds=seconds)


def _all(some: Iterable[Names]) -> Names:
    found = Names()
    for one in some:
        found = found | one
    return found
