"""Measures a log's context before and after each of its ops, in messages and tokens, by replay.

Each message is counted once, by today's counter, so all figures can be compared. From op to op, only what the op shows
or hides is added or subtracted. Windows and filters are not applied (replay 52); the overhead of a request is included.
So the size after the newest op is what `status` reports then.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import compress, groupby, repeat
from typing import NamedTuple

from ctxkit.core.board import LeftOut, shortening
from ctxkit.core.context import Entry, entry
from ctxkit.core.derive.usage import Figures, whole
from ctxkit.core.item_names import Name, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.op_fit import adrift, faults
from ctxkit.core.replay import History
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State
from ctxkit.core.transcript import Transcript
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import growing
from ctxkit.measure.count import Counting
from ctxkit.measure.limit import context_limit
from ctxkit.measure.size import Measuring, around

UNKNOWN = float("-inf")


class ContextSize(NamedTuple):
    """The size of a context."""

    messages: int
    tokens: int


class OpEffect(NamedTuple):
    """An op, and the size of the context before and after it; None for an op that has no effect, as it does not fit."""

    op: LedgerEntry
    before: ContextSize | None
    after: ContextSize | None


class OpSizes:
    """The ops of a log in order, each with its effect. `counter`: the name of what counts."""

    def __init__(self, log: OpenLog) -> None:
        self.log = log
        self._state = log.state()
        self.measuring = Measuring(Counting(log))
        self.counter = self.measuring.name
        self.around = around(self.measuring)

    def __iter__(self) -> Iterator[OpEffect]:
        """Yields the effects. Reads another program's log once more, for its state at each place where ops are."""
        entries, transcript = self._state.ledger.entries, self._state.transcript
        skipped = set(self._unfit(entries))
        moves = transcript.view is not None
        sizes = RunningTotal(self.measuring)
        for now, some in zip(self._transcripts(transcript), _groups(entries, apart=moves), strict=False):
            history = History(now, self._state.ledger, skipped, after=some[0].number - 1)
            sizes.begin(history.state)
            if not moves:
                sizes.weigh(history.state, Ranges.span(1, _count(now, some[-1])))  # at once, which is faster
            for one in some:
                sizes.reach(history.state, _count(now, one))
                before = self._size(sizes)
                if one.number in skipped:
                    yield OpEffect(one, None, None)
                    continue
                changed = history.play(one)
                sizes.update(history.state, changed)
                yield OpEffect(one, before, self._size(sizes))
        if entries:
            last, limit = self._size(sizes), context_limit(self.log).tokens
            self.log.tell(Figures(last.tokens, last.tokens, self.counter, last.messages, limit=limit))

    def _size(self, sizes: RunningTotal) -> ContextSize:
        beyond = self.measuring.beyond(sizes.shown)
        return ContextSize(sizes.messages, whole(sizes.tokens + self.around + beyond))

    def _transcripts(self, transcript: Transcript) -> Iterator[Transcript]:
        """Yields the log as it was at each place where ops are.

        For a native log this is the whole log: its messages only grow in number, which `RunningTotal` handles.
        """
        places = list(dict.fromkeys(one.place for one in self._state.ledger.entries))
        if transcript.view is None:
            yield from repeat(transcript)
        inside = [place for place in places if place < transcript.rows]
        yield from growing(self.log.opening, inside)
        yield transcript

    def _unfit(self, entries: Sequence[LedgerEntry]) -> Iterator[int]:
        """Yields the numbers of ops without effect: those that name missing messages, or that do not fit the log."""
        yield from adrift(entries)
        for one in entries:
            if one.void and not self.log.force and faults(one, self._state.transcript, self.log.identity):
                yield one.number


def _count(transcript: Transcript, one: LedgerEntry) -> int:
    """How many messages are before an op."""
    if one.place >= transcript.rows:
        return len(transcript.messages)
    return bisect_left(transcript.row_of, one.place)


def _groups(entries: Sequence[LedgerEntry], *, apart: bool) -> Iterator[list[LedgerEntry]]:
    """All entries, or, `apart`, those of each place."""
    return (list(some) for _, some in groupby(entries, key=lambda one: apart and one.place))


class CountedOnce:
    """Tokens of entries as they are shown: each form of each is counted once."""

    def __init__(self, measuring: Measuring) -> None:
        self.measuring = measuring
        self._known: dict[Hashable, float] = {}

    def of(self, some: Sequence[Entry]) -> Sequence[float]:
        """Tokens of each."""
        keys = [(one.name, *as_shown(one)) for one in some]
        new = {key: one for key, one in zip(keys, some, strict=True) if key not in self._known}
        self._known.update(zip(new, self.measuring.entries(list(new.values())), strict=True))
        return [self._known[key] for key in keys]


class RunningTotal:
    """Number and tokens of what a state shows of the first `count` messages of the log, and of the items of ops.

    From state to state, what is shown otherwise is taken off and added again. `shown`: for each number, whether it is
    shown as it was written; `worded`: what is shown in words of ops, with its tokens.
    """

    def __init__(self, measuring: Measuring, seen: Callable[[State, Names], Names] = State.among) -> None:
        """`seen`: those of some names that are in the context."""
        self.seen, self.measuring = seen, measuring
        self.count, self.messages, self.tokens = 0, 0, 0.0
        self.shown, self.worded = bytearray(), dict[Name, float]()
        self._counted = CountedOnce(measuring)
        self._weights = array("d")
        self._rows: list[tuple[object, ...]] = []
        """The spans of each message when it was counted."""

    def begin(self, state: State) -> None:
        """Start anew, with no message and the items of `state`, in which messages may have got further rows."""
        rows: list[tuple[object, ...]] = [(one.offset, one.size, one.more) for one in state.messages]
        known = zip(rows, self._rows, self._weights[1:], strict=False)
        kept = [weight if now == then else UNKNOWN for now, then, weight in known]
        self._weights = array("d", [UNKNOWN, *kept, *repeat(UNKNOWN, len(rows) - len(kept))])
        self._rows, self.shown, self.worded = rows, bytearray(len(rows) + 1), {}
        self.count, self.messages, self.tokens = 0, 0, 0.0
        self.update(state, Names(items=state.board.items))

    def reach(self, state: State, count: int) -> None:
        """The first `count` messages are there."""
        if count > self.count:
            came = Names(Ranges.span(self.count + 1, count))
            self.count = count
            self.update(state, came)

    def update(self, state: State, changed: Names) -> None:
        """Add up again what may be shown otherwise."""
        changed = Names(changed.numbers & Ranges.span(1, self.count), changed.items)
        for low, high in changed.numbers.pairs():
            shown = self.shown[low : high + 1]
            self.messages -= shown.count(1)
            self.tokens -= sum(compress(self._weights[low : high + 1], shown))
            self.shown[low : high + 1] = bytes(high - low + 1)
        for name in changed.common(self.worded):
            self.messages -= 1
            self.tokens -= self.worded.pop(name)
        here = self.seen(state, changed)
        words: list[Name] = [*here.items, *(n for n in here.common(state.board.stubs) if isinstance(n, int))]
        new = self._counted.of([entry(state, name) for name in words])
        self.worded.update(zip(words, new, strict=True))
        plain = here.numbers - Ranges.of(sorted(n for n in words if isinstance(n, int)))
        self.messages += len(words) + len(plain)
        self.tokens += sum(new) + self.weigh(state, plain)
        for low, high in plain.pairs():
            self.shown[low : high + 1] = b"\1" * (high - low + 1)

    def weigh(self, state: State, numbers: Ranges) -> float:
        """Tokens of these messages as they were written."""
        unknown = [
            low + k
            for low, high in numbers.pairs()
            if UNKNOWN in (weights := self._weights[low : high + 1])
            for k, weight in enumerate(weights)
            if weight == UNKNOWN
        ]
        if unknown:
            some = [Entry(n, (one := state.messages[n - 1]).role, one, None, None, False) for n in unknown]
            for n, tokens in zip(unknown, self.measuring.entries(some), strict=True):
                self._weights[n] = tokens
        return sum(sum(self._weights[low : high + 1]) for low, high in numbers.pairs())


def as_shown(one: Entry) -> tuple[Hashable, Hashable]:
    """A key for what the tokens of an item depend on. It may use `id`: the values of ops live as long as the ledger."""
    message = one.item.message if one.item is not None else {}
    content = message.get("content")
    out = one.stub.parts if isinstance(one.stub, LeftOut) else ()
    return content if isinstance(content, str) else id(message), (out, id(shortening(one.stub)))
