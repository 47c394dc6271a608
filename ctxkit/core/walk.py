"""Walk: the state of a log after each of its ops, one after the other, without a replay for each.

Beside `replay`: an op, or a cut of the log's own program, is played onto the state before it, and says which names it
may have shown or hidden. Only where it voids what was played, or rewinds to before it, that and what came since is
played anew. `log --tokens` and `status --plot` look at every op through this.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from ctxkit.core.effects import Board, Item, Out
from ctxkit.core.ledger import Ledger, LedgerEntry, When
from ctxkit.core.names import NOTHING, ItemName, Names
from ctxkit.core.ops import Interrupted, Op, Rewind, Undo
from ctxkit.core.ranges import Ranges
from ctxkit.core.replay import FOREIGN, Event, Fold, goes_back_to, represents, undone
from ctxkit.core.state import State
from ctxkit.core.transcript import Cut, Transcript

SAVED, MOST = 64, 32
"""Ops and cuts after which a state is kept, and how many of these are; of the older ones fewer and fewer."""


class Watched(Board):
    """A board that notes which names were touched, and whether any of them may have come `back`."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: list[Names] = []
        self.back = False

    def take_out(self, out: Out) -> None:
        """`out.names` leave."""
        super().take_out(out)
        self.touched.append(out.names)

    def bring(self, item: Item) -> None:
        """A new item."""
        super().bring(item)
        self._came(Names(items=(item.name,)))

    def drop(self, name: ItemName) -> None:
        """The item goes; what its compact replaced may be back."""
        source = self.items[name].source
        for out in self.outs:
            if out.kind == "compact" and out.source == source:
                self._came(out.names)
        super().drop(name)
        self._came(Names(items=(name,)))

    def retell(self, name: ItemName, text: str, without: Names) -> None:
        """The item has other words."""
        super().retell(name, text, without)
        self._came(Names(items=(name,)))

    def shorten(self, names: Names, content: Any) -> None:
        """`names` are shown with this content."""
        super().shorten(names, content)
        self._came(names)

    def _lift(self, names: Names, *, boundaries: bool) -> None:
        super()._lift(names, boundaries=boundaries)
        self._came(names)

    def _came(self, names: Names) -> None:
        self.touched.append(names)
        self.back = True


class Walk:
    """The state after the first ops of `ledger`, one more at each `play`. `skipped`: numbers of ops that never count,
    because they do not fit or cannot be read. `apart`: the program's own cuts come in their turn, by `each`; else all
    that the transcript has were there before.
    """

    def __init__(
        self, transcript: Transcript, ledger: Ledger, skipped: Collection[int] = (), *, apart: bool = False
    ) -> None:
        self.ledger, self.transcript = ledger, transcript
        self._apart = apart
        self._ops = [entry for entry in ledger.entries if entry.op is not None and entry.number not in skipped]
        self._counts = {entry.number for entry in self._ops}
        self._after = len(ledger.entries) + 1
        self._rewinds = any(isinstance(entry.op, Rewind | Interrupted) for entry in self._ops)
        self._voids: dict[int, list[int]] = {}
        """Op -> the undos of it so far."""
        self._void: set[int] = set()
        self._undone: set[int] = set()
        self._left: list[tuple[When, int]] = []
        """What a rewind may yet undo, the newest last."""
        self._came: list[Event] = []
        """Whatever was played so far, void or not, but for undos: these do nothing themselves."""
        self._place: dict[int, int] = {}
        """Source -> place in what came."""
        self._touched: dict[int, Names] = {}
        """Place in what came -> names."""
        self._saved: list[tuple[int, State]] = []
        """States after so many of what came, the newest last: what an undo goes back to."""
        self._base = self._bare()
        self.state = self._begun()
        self._from_start(0)

    def play(self, entry: LedgerEntry) -> Names:
        """Take the next op. Names that are shown otherwise now, or may be."""
        return self._next((entry.when, entry.number, entry)) if entry.number in self._counts else NOTHING

    def each(self) -> Iterator[tuple[LedgerEntry | Cut, Names]]:
        """Play all ops that count, and the cuts of the program where they are `apart`, in order; what `play` says of
        each, once it is played: later undos did not count yet.
        """
        ops: list[Event] = [(entry.when, entry.number, entry) for entry in self._ops]
        for event in sorted([*ops, *self._cuts()] if self._apart else ops, key=lambda one: one[0]):
            yield event[2], self._next(event)

    @property
    def back(self) -> bool:
        """Whether any of the names that the last op touched may be shown; else it only hid them."""
        return self._board.back

    def among(self, names: Names, thread: str | None = None) -> Names:
        """Those of `names` that the context shows, as `State.shown` tells of all."""
        state = self.state
        names = names - _union([out.names for out in state.board.outs if out.names.meets(names)])
        items = [name for name in names.items if name in state.board.items]
        if state.threads:
            items = [name for name in items if state.in_thread(name, thread)]
        side = state.sidechain(thread)
        if side is not None:
            return Names(names.numbers & Ranges.of(side.order), items)
        away = names.numbers & state.inactive
        if away:
            away -= Ranges.of(name for name in state.board.effective if isinstance(name, int))
        return Names((names.numbers & state.numbers) - away, items)

    def move(self, transcript: Transcript, number: int) -> None:
        """The log as `transcript` has it, after its first `number` ops."""
        self.transcript = transcript
        self._base = self._bare()
        self._from_start(number)

    def _bare(self) -> State:
        state = State(self.transcript, self.ledger, len(self.transcript.messages))
        if self.transcript.view is not None:
            state.use(self.transcript.view)
        return state

    def _begun(self) -> State:
        state = self._base.afresh()
        state.board = Watched()
        return state

    def _from_start(self, number: int) -> None:
        """Play the first `number` ops, and the program's own cuts where these are not apart."""
        found = [] if self._apart else list(self._cuts())
        found += [(e.when, e.number, e) for e in self._ops if e.number <= number and not isinstance(e.op, Undo)]
        self._came = sorted(found, key=lambda event: event[0])
        self._place = {source: place for place, (_, source, _) in enumerate(self._came)}
        self._undone = set()
        self._rewound()
        self._saved.clear()
        self._touched.clear()
        self._again(0)

    def _cuts(self) -> Iterator[Event]:
        view = self.transcript.view
        for index, cut in enumerate(view.all_cuts if view is not None else ()):
            yield (cut.row, self._after), FOREIGN - index, cut

    def _take(self, state: State) -> None:
        board = state.board
        if not isinstance(board, Watched):
            raise TypeError("a walk is on a watched board")
        self.state, self._board, self._fold = state, board, Fold(state)

    def _next(self, event: Event) -> Names:
        """Play what comes next."""
        _, source, what = event
        op = None if isinstance(what, Cut) else what.op
        changed: set[int] = set()
        if isinstance(op, Undo):
            target = self.ledger.by_id[op.op]
            self._voids.setdefault(target.number, []).append(source)
            changed = self._settle(target) & self._place.keys()
            if self._rewinds and any(map(self._turns, changed)):
                changed |= self._rewound()
        else:
            self._place[source] = len(self._came)
            self._came.append(event)
            changed = self._went_back(event, op)
        if changed:
            return self._again(min(self._place[one] for one in changed))
        if isinstance(op, Undo):
            return NOTHING
        return self._one(len(self._came) - 1)

    def _one(self, place: int) -> Names:
        """Play onto the state what came at `place`; what it touched."""
        done = self._saved[-1][0] if self._saved else 0
        if place >= done + SAVED:
            self._saved.append((place, _copied(self.state)))
            if len(self._saved) > MOST:
                self._saved[: MOST // 2] = self._saved[: MOST // 2 : 2]
        board = self._board
        board.touched, board.back = [], False
        self._fold.play(self._came[place])
        found = self._touched[place] = _union(board.touched)
        return found

    def _again(self, first: int) -> Names:
        """Play from what came at `first` on anew; what was touched by that, before and now."""
        found = [self._touched.pop(place) for place in range(first, len(self._came)) if place in self._touched]
        while self._saved and self._saved[-1][0] > first:
            self._saved.pop()
        done, state = self._saved[-1] if self._saved else (0, self._begun())
        self._take(_copied(state))
        for place in range(done, len(self._came)):
            source = self._came[place][1]
            if source not in self._void and source not in self._undone:
                touched = self._one(place)
                if place >= first:
                    found.append(touched)
        self._board.back = True
        return _union(found)

    def _turns(self, source: int) -> bool:
        """Whether it matters to what rewinds undo that this is void or not."""
        what = self._came[self._place[source]][2]
        return isinstance(what, Cut) or represents(what.op) or isinstance(what.op, Rewind | Interrupted)

    def _went_back(self, event: Event, op: Op | None) -> set[int]:
        """The sources that this one undoes, as a rewind."""
        when, source, _ = event
        found: set[int] = set()
        if represents(op):
            self._left.append((when, source))
        elif (since := goes_back_to(self.state, when, op, self._after)) is not None:
            while self._left and self._left[-1][0] > since:
                found.add(self._left.pop()[1])
        self._undone |= found
        return found

    def _rewound(self) -> set[int]:
        """Find anew what rewinds undo; the sources for which that changed."""
        scratch = self._base.afresh()
        found = undone(scratch, [event for event in self._came if event[1] not in self._void], self._after)
        changed = found ^ self._undone
        self._left, self._undone = scratch.representation, found
        return changed

    def _settle(self, target: LedgerEntry) -> set[int]:
        """An undo of `target` was played: the ops that are void now, or no longer."""
        changed: set[int] = set()
        waiting = [target]
        while waiting:
            one = waiting.pop()
            void = any(undo not in self._void for undo in self._voids.get(one.number, ()))
            if void != (one.number in self._void):
                self._void ^= {one.number}
                changed ^= {one.number}
                if isinstance(one.op, Undo) and one.number in self._counts:
                    waiting.append(self.ledger.by_id[one.op.op])
        return changed


def _copied(state: State) -> State:
    """A state that goes its own way from here."""
    found, board = copy.copy(state), copy.copy(state.board)
    board.outs = list(board.outs)
    board.items = {name: copy.copy(item) for name, item in board.items.items()}
    board.telling = {name: board.items[name] for name in board.telling}
    board.keys, board.effective, board.stubs = dict(board.keys), dict(board.effective), dict(board.stubs)
    board.moments, board.flags = list(board.moments), list(board.flags)
    found.board, found.marks, found.windows = board, list(state.marks), dict(state.windows)
    found.warnings, found.representation = list(state.warnings), list(state.representation)
    return found


def _union(some: Sequence[Names]) -> Names:
    """All of these."""
    if len(some) < 2:
        return some[0] if some else NOTHING
    pairs = chain.from_iterable(names.numbers.pairs() for names in some)
    return Names(Ranges(pairs), chain.from_iterable(names.items for names in some))
