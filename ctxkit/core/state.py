"""The state: the result of a replay, from which every context is made.

Pipeline: `replay.fold` fills it; `context`, `select` and the decisions of higher rooms only read it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import chain

import msgspec

from ctxkit.core.board import HIDING, Board, ContextItem, Key
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names, column
from ctxkit.core.ledger import Ledger, When
from ctxkit.core.messages import Message
from ctxkit.core.ops import Compact, Edit, Restore
from ctxkit.core.sets.ranges import EMPTY, Ranges
from ctxkit.core.steps import Steps
from ctxkit.core.times import MessageTimes, written
from ctxkit.core.transcript import MAIN, Transcript, View

PREAMBLE_ROLES = frozenset({"system", "developer"})


BLOCK = 256
"""Messages of another program's log whose first place is known at once."""
BRIEF = 60
"""Characters of a list of numbers in a report; `ctxkit log --json` has all of them."""


class LiveMark(msgspec.Struct, frozen=True):
    """A mark that can be rewound to: op number, op id, label, and the number of messages before it."""

    number: int
    op: str
    label: str | None
    position: int


class OpEnd(msgspec.Struct, frozen=True):
    """What ended the effect of an op that was not undone. `text`: `superseded by 7`; `by`: the op to undo to get it
    back, 0 if none.
    """

    text: str
    by: int


class Boundary(msgspec.Struct, frozen=True):
    """A clear, an edit or a `restore --replace`, with everything that it took out."""

    source: int
    kind: str
    names: Names


class DroppedItem(msgspec.Struct, frozen=True):
    """An item that is gone, and the source that dropped it."""

    item: ContextItem
    source: int


def recorded(text: str, at: int) -> Names:
    """Names as recorded (replay 8), without numbers above `at`: an op applies only to what the log held then."""
    names = Names.parse(text)
    return Names(names.numbers & Ranges.span(1, at), names.items)


class State:
    """The result of all ops of a log. `count`: messages in the log; `warnings`: what the replay had to ignore."""

    def __init__(self, transcript: Transcript, ledger: Ledger, count: int) -> None:
        self.transcript = transcript
        self.ledger = ledger
        self.count = count
        self.board = Board()
        self.marks: list[LiveMark] = []
        self.windows: dict[str | None, int] = {}
        self.warnings: list[str] = []
        self.ended: dict[int, OpEnd] = {}
        """Op number -> what ended its effect, for ops that no undo voids; `core/ended_ops.py` knows of more."""
        self.boundaries: list[Boundary] = []
        self.dropped: dict[ItemName, DroppedItem] = {}
        self.representation: list[tuple[When, int]] = []
        """When and by which source the context was only told in other words: what a rewind to before it would undo."""
        self.inactive: Ranges = EMPTY
        self.inactive_reason: dict[int, str] = {}
        self.rank: dict[int, Key] = {}
        """Where messages stand in the log's own context that are not at the place of their number."""
        self.order: Sequence[int] = range(1, count + 1)
        self.told_threads: dict[ItemName, tuple[ContextItem, list[str]]] = {}
        """Summary -> it as it is now, and the threads of the messages that it stands for. These are many, so they are
        looked through once. `core/assembly.py` fills it, and the state of a log that grew has it too.
        """
        self.threads: dict[str, View] = {}
        self.aside: Ranges = EMPTY
        """What only a sidechain shows, by name: present, as what any filter hides (replay 33)."""

    @cached_property
    def messages(self) -> Sequence[Message]:
        """The messages that the log holds at this point."""
        messages = self.transcript.messages
        return messages if len(messages) == self.count else messages[: self.count]

    @cached_property
    def preamble(self) -> int:
        """The number of messages in the system preamble: the leading system and developer messages."""
        return next((m.n - 1 for m in self.transcript.messages if m.role not in PREAMBLE_ROLES), self.count)

    @cached_property
    def steps(self) -> Steps:
        """Which messages form a step."""
        return Steps(self.messages)

    @cached_property
    def times(self) -> MessageTimes:
        """The times of the messages."""
        return MessageTimes(self.messages)

    @cached_property
    def numbers(self) -> Ranges:
        """All message numbers."""
        return Ranges.span(1, self.count)

    def copied(self) -> State:
        """Another one that is the same, and changes by itself."""
        found = copy(self)
        found.board, found.marks, found.windows = self.board.copy(), self.marks.copy(), self.windows.copy()
        found.warnings, found.representation = self.warnings.copy(), self.representation.copy()
        found.ended, found.boundaries, found.dropped = self.ended.copy(), self.boundaries.copy(), self.dropped.copy()
        return found

    def afresh(self) -> State:
        """The same log before any op; what depends only on the log is shared."""
        found = copy(self)
        found.board, found.marks, found.windows = Board(), [], {}
        found.warnings, found.representation = [], []
        found.ended, found.boundaries, found.dropped = {}, [], {}
        return found

    def grown(self, transcript: Transcript, ledger: Ledger) -> State:
        """The state over a transcript with more messages at its end, before the further ops of `ledger` are applied.

        What is known of the messages so far is taken over, so that a new one costs what it brings.
        """
        found = copy(self) if ledger is self.ledger else self.copied()
        found.transcript, found.ledger = transcript, ledger
        if len(transcript.messages) == self.count:
            return found
        found.count = len(transcript.messages)
        found.order = range(1, found.count + 1)
        known = vars(found)
        for name in ("messages", "numbers", "last", "_openers", "_blocks"):
            known.pop(name, None)
        if known.get("preamble") == self.count:  # all so far, so the next ones may be of it
            del found.preamble
        if "steps" in known:
            found.steps = self.steps.grown(transcript.messages[self.count :])
        if "times" in known:
            found.times = self.times.grown(transcript.messages)
        return found

    @cached_property
    def _openers(self) -> list[int]:
        """The messages that open a turn, ascending."""
        return [message.n for message in self.messages if message.opens]

    def turn(self, at: int) -> int:
        """The number of the last user message up to `at`; 0 without one."""
        place = bisect_right(self._openers, at)
        return self._openers[place - 1] if place else 0

    def use(self, view: View) -> None:
        """Take a foreign log's own order and inactive messages as the base."""
        self.order = view.order
        self.inactive_reason = view.inactive
        self.inactive = Ranges.of(view.inactive)
        self.threads = view.threads
        known: set[int] = set()
        for path in (view.order, *(thread.order for thread in view.threads.values())):
            if not isinstance(path, range):
                highest = 0
                for index, n in enumerate(path):
                    if n >= highest:
                        highest = n
                    elif n not in known:
                        self.rank[n] = highest, 0, index, 0
            if view.threads:
                known.update(path)
        self.aside = self.inactive & Ranges.of(n for thread in view.threads.values() for n in thread.order)

    def main(self, thread: str | None) -> bool:
        """Whether `thread` is the default view: none is named, or it is the main thread of another program's log."""
        return thread is None or (thread == MAIN and self.transcript.view is not None)

    def sidechain(self, thread: str | None) -> View | None:
        """The view of the sidechain of this name; None for any other thread."""
        return None if thread is None else self.threads.get(thread)

    def order_of(self, thread: str | None) -> Sequence[int]:
        """The numbers of the default view or of a sidechain, as its program would send them."""
        side = self.sidechain(thread)
        return self.order if side is None else side.order

    def in_thread(self, name: Name, thread: str | None) -> bool:
        """Whether `name` belongs to this sidechain, or (None, "main") to the main thread; for a summary its messages
        decide (32).

        An item without a thread, and not made from a message that has one, belongs to the main thread.
        """
        aside = thread in self.threads
        if isinstance(name, int):
            own = self.messages[name - 1].thread
            return own == thread if aside else own not in self.threads or name not in self.inactive
        item = self.board.items[name]
        if item.tells:
            return any(self.in_thread(told, thread) for told in item.tells)
        own = item.message.get("thread")
        if own in self.threads:
            return bool(own == thread)
        return not aside if item.origin is None else self.in_thread(item.origin, thread)

    def aside_in(self, name: Name) -> str | None:
        """The sidechain that `name` belongs to, which the main thread does not show; None otherwise."""
        if not self.threads or self.in_thread(name, None):
            return None
        if isinstance(name, int):
            return self.messages[name - 1].thread
        item = self.board.items[name]
        own = item.message.get("thread")
        stems = (*item.tells, *((item.origin,) if item.origin is not None else ()))
        return own if own in self.threads else next((found for one in stems if (found := self.aside_in(one))), None)

    def key(self, name: Name) -> Key:
        """The position of `name` in the context."""
        found = self.board.keys.get(name)
        if found is None and isinstance(name, int):
            found = self.rank.get(name, (name, 0, 0, 0))
        return found if found is not None else (self.count + 1, 0, 0, 0)

    def home(self, name: Name) -> Key | None:
        """Where a restore puts `name`, or what was made of it: the place of the number that it comes from, or of the
        first one that it tells (68); of the system preamble the start, before a summary that tells it (69). None if
        it has no such place.
        """
        board, stem = self.board, name
        while isinstance(stem, ItemName) and stem in board.items and board.items[stem].origin is not None:
            stem = board.items[stem].origin or stem  # it was shortened, or is a copy of a copy
        if isinstance(stem, ItemName):
            told = self.told(stem, len(self.ledger.entries) + 1).numbers
            if not told:
                return None
            *lead, offset = min(self._natural(*pair) for pair in told.pairs())
            return *lead, offset - 1
        own = self.rank.get(stem, (stem, 0, 0, 0))
        if stem not in board.effective:  # where its program put it, if it did
            own = board.keys.get(stem, own)
        if not self.is_preamble(stem) or not (tellers := board.tellers(Names(Ranges.span(stem, stem)))):
            return own
        *lead, offset = min(self.key(item.name) for item in tellers)
        return min(own, (*lead, offset - 1))

    def told(self, name: Name | None, before: int) -> Names:
        """The messages that the item `name` stands for; its text outlives the op that wrote it, so a void compact's
        `ids` count too. `before`: the number of the op that asks.
        """
        if not isinstance(name, ItemName):
            return NOTHING
        if name in self.board.items:
            return self.board.items[name].tells
        source = self.ledger.by_id.get(name.op)
        if source is None or source.number >= before:
            return NOTHING
        match source.op:
            case Compact(ids=ids, tells=more, at=at) if name.k == 1:
                return recorded(ids, at.messages) | recorded(more, at.messages)
            case Edit(items=items) | Restore(items=items) if name.k <= len(items):
                origin = items[name.k - 1].origin
                return self.told(Names.parse(origin).single, source.number) if isinstance(origin, str) else NOTHING
            case _:  # it brought nothing in under this name
                return NOTHING

    def ordered(self, names: Names) -> Sequence[Name]:
        """These names in the order of the context."""
        if self.rank or self.board.keys or names.items:
            return sorted(names, key=self.key)
        return column(names)

    def first_key(self, names: Names) -> Key:
        """The position of the first of `names`, without looking at each number. Raises ValueError if there is none."""
        moved = [n for n in self.board.moved if n in names.numbers]
        plain = names.numbers - Ranges.of(moved)
        exact: list[Name] = [*names.items, *moved]
        return min(chain(map(self.key, exact), (self._natural(*pair) for pair in plain.pairs())))

    def _natural(self, low: int, high: int) -> Key:
        """The first key from `low` to `high`, if no op and no cut moved any of these."""
        if not self.rank:
            return low, 0, 0, 0
        first, last = -(-low // BLOCK), (high + 1) // BLOCK
        if first >= last:
            return min(self._keys_of(low, high + 1))
        edges = chain(self._keys_of(low, first * BLOCK), self._keys_of(last * BLOCK, high + 1))
        return min(chain(edges, self._blocks[first:last]))

    def _keys_of(self, low: int, end: int) -> Iterator[Key]:
        return (self.rank.get(n, (n, 0, 0, 0)) for n in range(low, end))

    @cached_property
    def _blocks(self) -> list[Key]:
        """The first key of each BLOCK of numbers, from 0 on."""
        return [min(self._keys_of(low, low + BLOCK)) for low in range(0, self.count + 1, BLOCK)]

    def everything(self) -> Names:
        """All numbers and all items."""
        return Names(self.numbers, self.board.items)

    def present(self) -> Names:
        """What no op and no program took out; compacts, trims, windows and filters only hide (replay 33)."""
        gone = self.board.absent()
        return Names(self.numbers - gone.numbers - (self.away - self.aside), self.board.items.keys() - gone.items)

    def missing(self, names: Names) -> Names:
        """Those of `names` that are not present. The time depends on these alone."""
        items = names.items - self.board.items.keys()
        away = (names.numbers & self.inactive) - self.aside
        if away:
            away -= Ranges.of(n for n in self.board.moved if n in self.board.effective)
        found = Names((names.numbers - self.numbers) | away, items)
        for out in self.board.holding(names):
            if out.kind not in HIDING:
                found = found | (out.names & names)
        return found

    def shown(self, thread: str | None = None, among: Names | None = None) -> Names:
        """The context before window and filters; that of a sidechain if `thread` names one. Of `among` only, the time
        depends on these alone.
        """
        gone, side = self.board.hidden(among), self.sidechain(thread)
        numbers = self.numbers if side is None else Ranges.of(side.order)
        items = self.board.items.keys() if among is None else among.items & self.board.items.keys()
        if among is not None:
            numbers = among.numbers & numbers
        if side is None:
            numbers -= self.away & numbers
        found = [name for name in items - gone.items if not self.threads or self.in_thread(name, thread)]
        return Names(numbers - gone.numbers, found)

    def among(self, names: Names) -> Names:
        """Those of `names` that the context shows."""
        return self.shown(None, names)

    @property
    def away(self) -> Ranges:
        """What the program's view leaves out (replay 26), except what an edit or restore put in."""
        if not self.inactive:
            return self.inactive
        return self.inactive - Ranges.of(name for name in self.board.effective if isinstance(name, int))

    def protected(self, name: Name) -> bool:
        """Whether `name` is protected in full: by an op, by its item, or as part of the system preamble."""
        if name in self.board.protected:
            return True
        return name not in self.board.unprotected and self.is_preamble(name)

    def guarded(self, name: Name) -> bool:
        """Whether `name` is protected against compact and trim: the first message is by default (replay 56)."""
        return self.protected(name) or (name not in self.board.unprotected and self.is_first(name))

    def is_preamble(self, name: Name) -> bool:
        """Whether `name` is part of the system preamble; a literal inherits this (replay 29)."""
        return name <= self.preamble if isinstance(name, int) else self._item_flag(name, "preamble")

    def preamble_names(self) -> Names:
        """The system preamble: its messages, and the items that were made from them."""
        return Names(Ranges.span(1, self.preamble), filter(self.is_preamble, self.board.items))

    def is_first(self, name: Name) -> bool:
        """Whether `name` is the first message after the preamble; a literal inherits this."""
        return name == self.preamble + 1 if isinstance(name, int) else self._item_flag(name, "first")

    def _item_flag(self, name: ItemName, flag: str) -> bool:
        item = self.board.items.get(name)
        return item is not None and bool(getattr(item, flag))

    def effective(self, name: Name) -> float | None:
        """The time that windows use, in seconds since 1970."""
        if name in self.board.effective:
            return self.board.effective[name]
        return self.times.of(name) if isinstance(name, int) else None

    def original(self, name: Name) -> float | None:
        """The time that is shown and that --since and --until use."""
        item = None
        while not isinstance(name, int):  # of an edit of an edit of …
            item = self.board.items.get(name)
            if item is None:
                return None
            if item.ts is not None or item.origin is None:
                break
            name = item.origin
        if isinstance(name, int) or item is None:
            return self.times.of(name) if isinstance(name, int) else None
        return self.effective(name) if item.ts is None else written(item.ts)

    @cached_property
    def last(self) -> float | None:
        """The newest time among all messages, or None. What ops put in has its own times (replay 65)."""
        return self.times.newest

    def label(self, name: Name) -> str:
        """`name` as people write it: 45, or 7.1 for item 1 of op number 7; ?45 if what stands before is not known."""
        if isinstance(name, int):
            return f"?{name}" if self.transcript.missing else str(name)
        entry = self.ledger.by_id.get(name.op)
        return f"{entry.number}.{name.k}" if entry else str(name)

    def say(self, names: Names) -> str:
        """`names` as people write them: 45-67,80,7.1."""
        return ",".join(filter(None, (str(names.numbers), *map(self.label, sorted(names.items)))))

    def brief(self, names: Names) -> str:
        """As `say`, cut after BRIEF characters: for reports, not for what is recorded."""
        text = self.say(names)
        return text if len(text) <= BRIEF else f"{text[:BRIEF].rpartition(',')[0]},…"
