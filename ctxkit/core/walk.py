"""Walk: the state of a log after each of its ops, one after the other, without a replay for each.

Beside `replay`: an op, or a cut of the log's own program, is played onto the state before it, and says which names it
may have shown or hidden. Where it voids what was played, or rewinds to before it, that is taken back, and what came
since is played anew, as far as it hangs on that: of ops that name what they concern only those that have a name in
common, directly or by others (`OpDependencies`). `log --tokens` and `status --plot` look at every op through this.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from ctxkit.core.board import Board, ContextItem, Exclusion
from ctxkit.core.boundaries import FOREIGN
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names
from ctxkit.core.ledger import Ledger, LedgerEntry, When
from ctxkit.core.ops import Compact, Index, Interrupted, Mark, Op, Rewind, Undo, Window
from ctxkit.core.replay import Event, Fold, goes_back_to, represents, undone
from ctxkit.core.sets.dependencies import OpDependencies, joined
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import LiveMark, State
from ctxkit.core.transcript import ProgramCut, Transcript

Journal = list[Callable[[], object]]


class Removal(NamedTuple):
    """An item that an op dropped, what stood in its words, and what brings both back."""

    item: ContextItem
    names: Names
    back: Journal


class WatchedBoard(Board):
    """A board that notes what was `dropped`, which names were `touched` else, and whether any may have come `back`."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped: dict[ItemName, Removal] = {}
        self.touched: list[Names] = []
        self.back = False

    def take_out(self, out: Exclusion) -> None:
        """`out.names` leave."""
        super().take_out(out)
        self.touched.append(out.names)

    def bring(self, item: ContextItem) -> None:
        """A new item."""
        super().bring(item)
        self._came(Names(items=(item.name,)))

    def drop(self, name: ItemName) -> None:
        """The item goes; what its compact replaced may be back."""
        journal, self.journal = self.journal, []
        item, names = self.items[name], self.replaced(name)
        super().drop(name)
        self.dropped[name] = Removal(item, names, self.journal)
        self.journal, self.back = journal, True

    def retell(self, name: ItemName, text: str, without: Names, short: str | None = None) -> None:
        """The item has other words."""
        super().retell(name, text, without, short)
        self._came(Names(items=(name,)))

    def shorten(self, names: Names, content: Any) -> None:
        """`names` are shown with this content."""
        super().shorten(names, content)
        self._came(names)

    def leave_out(self, name: Name, parts: Iterable[Index]) -> None:
        """These parts of `name` are no longer shown."""
        super().leave_out(name, parts)
        self._came(Names.of([name]))

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
        self._turning = [entry.when for entry in self._ops if isinstance(entry.op, Rewind | Interrupted)]
        """Of the ops that go back to an earlier point."""
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
        self._from_start(0)

    def play(self, entry: LedgerEntry) -> Names:
        """Take the next op. Names that are shown otherwise now, or may be."""
        return self._next((entry.when, entry.number, entry)) if entry.number in self._counts else NOTHING

    def each(self) -> Iterator[tuple[LedgerEntry | ProgramCut, Names]]:
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
        names = names - joined([out.names for out in state.board.holding(names)])
        items = [name for name in names.items if name in state.board.items]
        if state.threads:
            items = [name for name in items if state.in_thread(name, thread)]
        side = state.sidechain(thread)
        if side is not None:
            return Names(names.numbers & Ranges.of(side.order), items)
        away = names.numbers & state.inactive
        if away:
            away -= Ranges.of(n for n in state.board.moved if n in state.board.effective)
        return Names((names.numbers & state.numbers) - away, items)

    def move(self, transcript: Transcript, number: int) -> None:
        """The log as `transcript` has it, after its first `number` ops."""
        self.transcript = transcript
        self._from_start(number)

    def _from_start(self, number: int) -> None:
        """Play the first `number` ops, and the program's own cuts where these are not apart."""
        self._base = State(self.transcript, self.ledger, len(self.transcript.messages))
        if self.transcript.view is not None:
            self._base.use(self.transcript.view)
        self.state, self._board = self._base.afresh(), WatchedBoard()
        self.state.board = self._board
        self._fold = Fold(self.state)
        self._live: list[int] = []
        """Places of what is on the board, ascending."""
        self._bonds = OpDependencies()
        self._played: dict[int, _Played] = {}
        """By place, what is on the board."""
        self._droppers: dict[ItemName, int] = {}
        """Item -> place of what dropped it last."""
        found = [] if self._apart else list(self._cuts())
        found += [(e.when, e.number, e) for e in self._ops if e.number <= number and not isinstance(e.op, Undo)]
        self._came = sorted(found, key=lambda event: event[0])
        self._place = {source: place for place, (_, source, _) in enumerate(self._came)}
        self._undone = set()
        self._rewound()
        for place in range(len(self._came)):
            self._count_in(place)
        self._board.back = True

    def _cuts(self) -> Iterator[Event]:
        view = self.transcript.view
        for index, cut in enumerate(view.all_cuts if view is not None else ()):
            yield (cut.row, self._after), FOREIGN - index, cut

    def _next(self, event: Event) -> Names:
        """Play what comes next."""
        _, source, what = event
        op = None if isinstance(what, ProgramCut) else what.op
        if isinstance(op, Undo):
            target = self.ledger.by_id[op.op]
            self._voids.setdefault(target.number, []).append(source)
            changed = self._settle(target) & self._place.keys()
            if self._turning:
                changed |= self._turned([one for one in changed if self._turns(one)])
            return self._anew([self._place[one] for one in changed]) if changed else NOTHING
        place = self._place[source] = len(self._came)
        self._came.append(event)
        if undone := self._went_back(event, op):
            return self._anew([self._place[one] for one in undone], place)
        return self._one(place)

    def _one(self, place: int) -> Names:
        """Play onto the state what came at `place`; what it touched."""
        board, state = self._board, self.state
        _, source, what = self._came[place]
        op = None if isinstance(what, ProgramCut) else what.op
        journal: Journal = []
        board.journal = journal
        board.touched, board.dropped, board.back = [], {}, False
        if isinstance(op, Mark):
            journal.append(lambda: self._set_marks([mark for mark in state.marks if mark.number != source]))
        elif self._bonds.names_of(place, what) is None:
            journal.append(partial(self._set_marks, list(state.marks)))
        elif isinstance(op, Window):
            journal.append(partial(self._set_window, op.agent, state.windows.get(op.agent)))
        self._fold.play(self._came[place])
        if isinstance(op, Mark):
            state.marks.sort(key=lambda mark: mark.number)
        state.warnings.clear()
        insort(self._live, place)
        self._bonds.add(place, what)
        self._droppers.update(dict.fromkeys(board.dropped, place))
        played = self._played[place] = _Played(journal, board.dropped, joined(board.touched))
        return played.names

    def _count_in(self, place: int) -> Names:
        """Play what came at `place`, where it is in force; what it touched."""
        source = self._came[place][1]
        return NOTHING if source in self._void or source in self._undone else self._one(place)

    def _set_marks(self, marks: list[LiveMark]) -> None:
        self.state.marks[:] = marks

    def _set_window(self, agent: str | None, seconds: int | None) -> None:
        self.state.windows.pop(agent, None)
        if seconds is not None:
            self.state.windows[agent] = seconds

    def _off(self, place: int) -> Names:
        """Take off the board what came at `place`, and what hangs on it is off already; what it had touched."""
        played = self._played.pop(place)
        self._board.journal = None
        for back in chain(reversed(played.journal), *(one.back for one in played.dropped.values())):
            back()
        del self._live[bisect_left(self._live, place)]
        self._bonds.drop(place)
        return played.names

    def _made_up_for(self, place: int) -> bool:
        """Take off the board a compact that changes nothing: a later one replaced its summary, and would have replaced
        all that this one did. Whether that is so: else what hangs on it must be played anew.
        """
        what, played = self._came[place][2], self._played[place]
        if not isinstance(what, LedgerEntry) or not isinstance(what.op, Compact) or what.op.stubs or not what.id:
            return False
        name = ItemName(what.id, 1)
        later = self._droppers.get(name, -1)
        heir = self._came[later][2] if later in self._played and name in self._played[later].dropped else None
        if not isinstance(heir, LedgerEntry) or not isinstance(heir.op, Compact):
            return False
        mine, ids = self._bonds.names_of(place, what), Names.parse(heir.op.ids)
        concerned = [mine or NOTHING, *(one.item.tells | one.names for one in played.dropped.values())]
        concerned.append(Names(items=played.dropped))
        if ids.items or (mine or NOTHING).items != {name}:
            return False
        if not all(one.names.meets(ids) or one.item.tells.within(ids) for one in played.dropped.values()):
            return False
        first, last = bisect_right(self._live, place), bisect_left(self._live, later)
        between = (self._bonds.names_of(one, self._came[one][2]) for one in self._live[first:last])
        all_ = joined(concerned)
        if any(names is None or names.meets(all_) for names in between):
            return False
        dropped = self._played[later].dropped
        del dropped[name]
        dropped.update(played.dropped)
        self._droppers.update(dict.fromkeys(played.dropped, later))
        self._played[place] = played._replace(dropped={})
        self._off(place)
        return True

    def _anew(self, places: Sequence[int], last: int | None = None) -> Names:
        """What came at `places` counts now or no longer: play it anew, with all that hangs on it, and `last`. What was
        touched by that, before and now.
        """
        found: list[Names] = []
        void = all(self._came[place][1] in self._void for place in places)
        if len(places) == 1 and void and last is None and places[0] in self._played and self._made_up_for(places[0]):
            self._board.back = False
            return NOTHING
        if places:
            for place in places:
                self._bonds.names_of(place, self._came[place][2])
            first = bisect_left(self._live, min(places))
            alone = self._live[first:] in ([], [*places])
            hanging = set() if alone else self._bonds.hanging(places)
            off = self._live[first:] if hanging is None else sorted(hanging.union(places) & set(self._live[first:]))
            found = [self._off(place) for place in reversed(off)]
            found += [self._count_in(place) for place in sorted({*off, *places})]
        if last is not None:
            found.append(self._one(last))
        self._board.back = True
        return joined(found)

    def _turns(self, source: int) -> bool:
        """Whether it matters to what rewinds undo that this is void or not."""
        what = self._came[self._place[source]][2]
        return isinstance(what, ProgramCut) or represents(what.op) or isinstance(what.op, Rewind | Interrupted)

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

    def _turned(self, changed: Sequence[int]) -> set[int]:
        """These count now, or no longer, which may matter to what rewinds undo: the sources for which it does."""
        if not changed:
            return set()
        first = min(self._came[self._place[one]][0] for one in changed)
        if any(first <= when <= self._came[-1][0] for when in self._turning):
            return self._rewound()
        for one in changed:  # nothing went back to before it yet
            entry = self._came[self._place[one]][0], one
            at = bisect_left(self._left, entry)
            if one in self._void:
                del self._left[at]
            else:
                self._left.insert(at, entry)
        return set()

    def _rewound(self) -> set[int]:
        """Find anew what rewinds undo; the sources for which that changed."""
        scratch = self._base.afresh()
        found = set(undone(scratch, [event for event in self._came if event[1] not in self._void], self._after))
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


class _Played(NamedTuple):
    """What an op did: what takes it off the board again, what it dropped, and the names that it touched besides."""

    journal: Journal
    dropped: dict[ItemName, Removal]
    touched: Names

    @property
    def names(self) -> Names:
        """All that it may have shown or hidden."""
        return joined([self.touched, *(one.names for one in self.dropped.values()), Names(items=self.dropped)])
