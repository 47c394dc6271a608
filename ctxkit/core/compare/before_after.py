"""What ops and a program's own cuts make of a context, one after the other, beside the program's own context.

Pure: sets of names in and out. What an op changes is told by what it touches (`walk`), so that thousands of ops cost
what they name; `measure/timeline.py` makes tokens of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ctxkit.core.context import Entry, belongs, protected_steps
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.op_fit import adrift
from ctxkit.core.sets.bitset import Bits
from ctxkit.core.sets.ranges import EMPTY, Ranges
from ctxkit.core.state import State
from ctxkit.core.transcript import ProgramCut
from ctxkit.core.walk import Walk


class Transition(NamedTuple):
    """An op or cut (`what`), behind `place` messages of the path, beside what came before it.

    Of the messages that are there, `more` and `less`: the context has more of these as they were written than the
    program's own, or less; each counts as often as it is named. `wrote`: what it shows in words of an op now, instead
    of what `unwrote` names. Of a cut: `out`, or, where that is less, what it `left` (then `out` is empty, not None).
    `screened`, `open`: messages of the path that no window can hide now, as ops do or as they are protected, and those
    that one can again.
    """

    what: LedgerEntry | ProgramCut
    place: int
    more: Sequence[Ranges]
    less: Sequence[Ranges]
    wrote: Sequence[Entry]
    unwrote: Sequence[Name]
    out: Ranges | None
    left: Ranges | None
    screened: Ranges
    open: Ranges


class ContextOverTime:
    """A context over time. `path`: the messages that the program's own ever had, ascending; `windows`: whether it
    matters what windows can hide.
    """

    def __init__(self, state: State, path: Sequence[int], thread: str | None, *, windows: bool) -> None:
        self.path, self.thread, self.windows = path, thread, windows
        self.walk = Walk(state.transcript, state.ledger, adrift(state.ledger.entries), apart=True)
        self._log = self.walk.state
        """Before any op."""
        self._numbers, self.mine = self._log.numbers, Ranges.of(path)
        self._aside = thread is not None and not state.main(thread) and state.sidechain(thread) is None
        count = self._log.count
        begun = self._log.shown(thread).numbers
        self._shown = Bits(count, begun & self.mine if self._aside else begun)
        self._held = Bits(count, self.mine)
        self._short: set[int] = set()
        """Shown in other words than their own."""
        self._ahead: set[int] = set()
        """Those of them that are not there yet."""
        self._items: set[ItemName] = set()
        self._flags = -1
        self._guarded = EMPTY
        self._screen = Bits(count)
        self.screened = self._screen_of(self.mine, self._guard())[0]
        """What no window can hide before any op."""

    def __iter__(self) -> Iterator[Transition]:
        row_of = self._log.transcript.row_of
        rows = [row_of[n - 1] for n in self.path]
        reached = 0
        for what, touched in self.walk.each():
            place = bisect_left(rows, what.row if isinstance(what, ProgramCut) else what.place)
            now = max(reached, self.path[place - 1] if place else 0)
            there = Ranges.span(1, now)
            more, less = self._arrived(reached, now)
            reached, out, left = now, None, None
            if isinstance(what, ProgramCut):
                out = self._held.within(Ranges.of(what.out) & self._numbers & there)
                self._held.put(out, False)
                more.append(out)
                if len(out) * 2 > place:
                    out, left = EMPTY, self._held.within(there)
            touched = Names(touched.numbers & self._numbers, touched.items)
            here = self._here(touched)
            before = self._shown.within(touched.numbers)
            self._shown.put(touched.numbers, False)
            self._shown.put(here.numbers, True)
            more.append((here.numbers - before) & there)
            less.append((before - here.numbers) & there)
            wrote, unwrote, short, whole = self._words(touched, here, now)
            less.append(short)
            more.append(whole)
            screened = self._screen_of(touched.numbers & self.mine, self._guard())
            yield Transition(what, place, more, less, wrote, unwrote, out, left, *screened)

    def _arrived(self, reached: int, now: int) -> tuple[list[Ranges], list[Ranges]]:
        """`more` and `less` of the messages above `reached` that are there now."""
        more: list[Ranges] = []
        less: list[Ranges] = []
        if now > reached and self._shown.differs(self._held, reached + 1, now):
            came = Ranges.span(reached + 1, now)
            shown, held = self._shown.within(came), self._held.within(came)
            more.append(shown - held)
            less.append(held - shown)
        if self._ahead:
            short = {n for n in self._ahead if n <= now}
            self._ahead -= short
            less.append(Ranges.of(short))
        return more, less

    def _here(self, touched: Names) -> Names:
        """Those of these that the context shows."""
        if not self.walk.back:
            return NOTHING
        found = self.walk.among(touched, self.thread)
        if not self._aside:
            return found
        items = [name for name in found.items if belongs(self.walk.state, name, None, self.thread)]
        return Names(found.numbers & self.mine, items)

    def _words(self, touched: Names, here: Names, now: int) -> tuple[list[Entry], list[Name], Ranges, Ranges]:
        """What is shown in an op's words, and no longer; messages that are short now, or whole again."""
        state, stubs = self.walk.state, self.walk.state.board.stubs
        was = _both(touched.numbers, self._short)
        gone = touched.items & self._items
        unwrote: list[Name] = [*was, *gone]
        self._short.difference_update(was)
        short = {n: stubs[n] for n in _both(here.numbers, stubs.keys())}
        self._short.update(short)
        self._items = (self._items - gone) | here.items if gone or here.items else self._items
        wrote = [Entry(n, (one := state.messages[n - 1]).role, one, None, stub, False) for n, stub in short.items()]
        for name in here.items:
            item = state.board.items[name]
            wrote.append(Entry(name, item.role, None, item, stubs.get(name), False))
        there = {n for n in was if n not in self._ahead}
        self._ahead.difference_update(was)
        self._ahead.update(n for n in short if n > now)
        return wrote, unwrote, Ranges.of(n for n in short if n <= now), Ranges.of(there)

    def _guard(self) -> Ranges:
        """What no window may hide; where this changed, so did `_guarded`."""
        if not self.windows:
            return EMPTY
        state = self.walk.state
        if self._flags != state.board.flags:
            kept = Names(Ranges.span(1, state.preamble)) - state.board.unprotected | protected_steps(state)
            before, self._guarded = self._guarded, kept.numbers & self.mine
            self._flags = state.board.flags
            return (before - self._guarded) | (self._guarded - before)
        return EMPTY

    def _screen_of(self, touched: Ranges, guard: Ranges) -> tuple[Ranges, Ranges]:
        """What of these, and of what the `guard` changed, no window can hide now, and what one can again."""
        if not self.windows:
            return EMPTY, EMPTY
        some = touched | guard
        before = self._screen.within(some)
        after = (some - self._shown.within(some)) | (some & self._guarded)
        self._screen.put(before - after, False)
        self._screen.put(after - before, True)
        return after - before, before - after


def _both(numbers: Ranges, known: Collection[Name]) -> list[int]:
    """The numbers that both have, by a look at the smaller."""
    if len(numbers) <= len(known):
        return [n for n in numbers if n in known]
    return [n for n in known if isinstance(n, int) and n in numbers]
