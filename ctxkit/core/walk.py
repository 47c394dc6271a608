"""Walk: the state of a log after each of its ops, one after the other, without a replay for each.

Beside `replay`: an op is played onto the state before it, and says which names it may have shown or hidden. Only where
it voids what was played, or rewinds to before it, all of it is played anew.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Collection
from typing import Any

from ctxkit.core.effects import Board, Item, Out
from ctxkit.core.ledger import Ledger, LedgerEntry
from ctxkit.core.names import NOTHING, ItemName, Names
from ctxkit.core.ops import Interrupted, Rewind, Undo
from ctxkit.core.replay import FOREIGN, Event, Fold, play_all, undone
from ctxkit.core.state import State
from ctxkit.core.transcript import Transcript

SAVED, MOST = 64, 32
"""Ops after which a state is kept, and how many of these are; of the older ones fewer and fewer."""


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
    because they do not fit or cannot be read.
    """

    def __init__(self, transcript: Transcript, ledger: Ledger, skipped: Collection[int] = ()) -> None:
        self.ledger, self.transcript = ledger, transcript
        self._ops = [entry for entry in ledger.entries if entry.op is not None and entry.number not in skipped]
        self._counts = {entry.number for entry in self._ops}
        self._after = len(ledger.entries) + 1
        self._rewinds = any(isinstance(entry.op, Rewind | Interrupted) for entry in self._ops)
        self._voids: dict[int, list[int]] = {}
        """Op -> the undos of it so far."""
        self._void: set[int] = set()
        self._undone: set[int] = set()
        self._touched: dict[int, Names] = {}
        self._saved: list[tuple[int, State]] = []
        """States after so many ops, the newest last: what an undo goes back to."""
        self.state = self._begun()
        self._from_start(0)

    def play(self, entry: LedgerEntry) -> Names | None:
        """Take the next op. Names that are shown otherwise now, or may be; None: any may."""
        if entry.number not in self._counts:
            return NOTHING
        changed: set[int] = set()
        if isinstance(entry.op, Undo):
            target = self.ledger.by_id[entry.op.op]
            self._voids.setdefault(target.number, []).append(entry.number)
            changed = self._settle(target)
        if self._rewinds and (changed or isinstance(entry.op, Rewind | Interrupted)):
            undone = self._rewound(entry.number)
            changed |= undone ^ self._undone
            self._undone = undone
        if not changed:
            self._one(entry)
            return self._touched.get(entry.number, NOTHING)
        if self.transcript.view is not None:
            self._from_start(entry.number)
            return None
        return self._again(min(changed), entry.number)

    @property
    def back(self) -> bool:
        """Whether any of the names that the last op touched may be shown; else it only hid them."""
        return self._board.back

    def among(self, names: Names) -> Names:
        """Those of `names` that the context shows, as `State.shown` tells of all."""
        state = self.state
        for out in state.board.outs:
            if out.names.meets(names):
                names = names - out.names
        items = [name for name in names.items if name in state.board.items]
        if state.threads:
            items = [name for name in items if state.in_thread(name, None)]
        return Names((names.numbers & state.numbers) - state.away, items)

    def move(self, transcript: Transcript, number: int) -> None:
        """The log as `transcript` has it, after its first `number` ops."""
        self.transcript = transcript
        self._from_start(number)

    def _begun(self) -> State:
        state = State(self.transcript, self.ledger, len(self.transcript.messages))
        state.board = Watched()
        if self.transcript.view is not None:
            state.use(self.transcript.view)
        return state

    def _from_start(self, number: int) -> None:
        """Play the first `number` ops, and the program's own cuts."""
        self._take(self._begun())
        self._saved.clear()
        play_all(self._fold, self._events(number), self._after)

    def _take(self, state: State) -> None:
        board = state.board
        if not isinstance(board, Watched):
            raise TypeError("a walk is on a watched board")
        self.state, self._board, self._fold = state, board, Fold(state)

    def _events(self, number: int) -> list[Event]:
        """The first `number` ops, those in force, and the program's own cuts, in order."""
        view = self.transcript.view
        cuts = view.all_cuts if view is not None else ()
        found: list[Event] = [((cut.row, self._after), FOREIGN - index, cut) for index, cut in enumerate(cuts)]
        found += [(e.when, e.number, e) for e in self._ops if e.number <= number and e.number not in self._void]
        return sorted(found, key=lambda event: event[0])

    def _one(self, entry: LedgerEntry) -> None:
        """Play an op onto the state."""
        done = self._saved[-1][0] if self._saved else 0
        if self.transcript.view is None and entry.number > done + SAVED:
            self._saved.append((entry.number - 1, _copied(self.state)))
            if len(self._saved) > MOST:
                self._saved[: MOST // 2] = self._saved[: MOST // 2 : 2]
        board = self._board
        board.touched, board.back = [], False
        if entry.op is not None:
            self._fold.op(entry, entry.op)
        found = NOTHING
        for names in board.touched:
            found = found | names
        self._touched[entry.number] = found

    def _again(self, first: int, last: int) -> Names:
        """Play from op `first` on anew; what was touched by that, before and now."""
        found = NOTHING
        for number in range(first, last):
            found = found | self._touched.pop(number, NOTHING)
        while self._saved and self._saved[-1][0] >= first:
            self._saved.pop()
        done, state = self._saved[-1] if self._saved else (0, self._begun())
        self._take(_copied(state))
        for entry in self._ops[bisect_right(self._ops, done, key=lambda one: one.number) :]:
            if entry.number > last:
                break
            if entry.number not in self._void and entry.number not in self._undone:
                self._one(entry)
                if entry.number >= first:
                    found = found | self._touched[entry.number]
        self._board.back = True
        return found

    def _rewound(self, number: int) -> set[int]:
        """The sources that rewinds among the first `number` ops undo."""
        scratch = State(self.transcript, self.ledger, self.state.count)
        return undone(scratch, self._events(number), self._after)

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
    board.outs = [copy.copy(out) for out in board.outs]
    board.items = {name: copy.copy(item) for name, item in board.items.items()}
    board.telling = {name: board.items[name] for name in board.telling}
    board.keys, board.effective, board.stubs = dict(board.keys), dict(board.effective), dict(board.stubs)
    board.moments, board.flags = list(board.moments), list(board.flags)
    found.board, found.marks, found.windows = board, list(state.marks), dict(state.windows)
    found.warnings, found.representation = list(state.warnings), list(state.representation)
    return found
