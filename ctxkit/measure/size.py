"""Measuring the size of a context: what its provider counted, where the log records that, and an estimate of the rest.

The newest request whose usage is recorded gives the size of the log's own context at that point, system prompt and
tools included; what ops took out of it is told by the differences of the requests around it. Messages that came since,
and what ops brought in, are counted by the session's own calibration.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from itertools import accumulate, islice
from math import ceil

from ctxkit.content.thinking import first_change, without
from ctxkit.core.context import Entry, shown_names
from ctxkit.core.derive.usage import Figures, Measured, whole
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content
from ctxkit.core.state import State
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.increments import IncrementalContext
from ctxkit.measure.limit import context_limit
from ctxkit.measure.overhead import added
from ctxkit.measure.usage import RecordedUsage
from ctxkit.tokens.models import named
from ctxkit.tokens.preserved import binds


class Measuring:
    """Measures contexts of a log, and each message of them, so that the parts add up to the whole: what `trim` takes
    out is what `status` shows less.
    """

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        session = RecordedUsage(counting) if counting.is_own else None
        taught = session is not None and (session.steps or (session.earlier and session.overhead is not None))
        self._session = session if taught else None
        self._places = session.places if session is not None and taught else {}
        self._thoughts: dict[int, float] = {}

    @property
    def is_taught(self) -> bool:
        """Whether the log's own usage says what messages come to; else each is estimated by itself."""
        return self._session is not None

    def seen(self, counting: Counting) -> Measuring:
        """The same for `counting`, of the same log in another state: what the provider counted of it stands."""
        made = copy(self)
        made.counting = counting
        return made

    def of(self, names: Sequence[Name]) -> Measured:
        """The size of the context `names`."""
        session = self._session
        if session is None:
            return self._estimated(round(sum(self.counting.counted(names)) - self._unsent(names)))
        known, error = session.told if session.steps else None, session.calibration.error
        tokens = whole(self._tokens(session, names))
        moved = tokens - (known if known is not None else round(session.end))
        return Measured(
            tokens=tokens, counter=_name(session, moved), known=known,
            at=session.known[-1] if session.steps else None, estimated=moved,
            overhead=session.overhead, error=None if error is None else round(100 * error, 2),
            trust="calibrated" if moved or known is None or session.now.retold else "exact",
            retold=session.now.retold,
        )  # fmt: skip

    def _tokens(self, session: RecordedUsage, names: Sequence[Name]) -> float:
        """Tokens of the context `names`, with all that is sent besides."""
        places = list(self._in_place(names))
        came = self.each([name for name, place in zip(names, places, strict=True) if place < 0])
        kept = IncrementalContext(session.increments)
        for start, end in _runs(place for place in places if place >= 0):
            kept.keep(start, end)
        return kept.tokens + sum(came) - self._unsent(names)

    def beyond(self, shown: Sequence[int], stubs: Collection[Name]) -> float:
        """Tokens of a context beyond those of its messages, each by itself: where the requests shrank that these were
        counted in, and what left is no part of it. `shown`: of each number, whether the message is, as it was or not.
        """
        session = self._session
        if session is None or not session.increments.falls:
            return 0.0
        increments = session.increments
        marks = bytearray(map(shown.__getitem__, self._places))
        for name in stubs:
            if name in self._places:
                marks[self._places[name]] = 0  # type: ignore[index]  # a number
        kept, apart = IncrementalContext(increments), increments.before(0)
        end = 0
        while (start := marks.find(1, end)) >= 0:
            end = marks.find(0, start)
            end = len(marks) if end < 0 else end
            kept.keep(start, end)
            apart += increments.between(start, end)
        return kept.tokens - apart

    def _unsent(self, names: Sequence[Name]) -> float:
        """Tokens of the thinking of the context `names` that is not sent: it is bound to what stood before it."""
        log = self.counting.log
        change = first_change(log, names) if binds(log.model) else None
        if change is None:
            return 0.0
        messages = log.messages
        behind = (name for name in islice(names, change.place, None) if isinstance(name, int))
        return sum(self.thinking(n) for n in behind if messages[n - 1].role == "assistant")

    def thinking(self, n: int) -> float:
        """Tokens of the thinking of message n."""
        if n not in self._thoughts:
            content = self.counting.log.content(n)
            rest = without(content)
            mine = 0.0 if rest is content else self.as_read([n])[0] - self.instead(n, rest)
            self._thoughts[n] = max(0.0, mine)
        return self._thoughts[n]

    def before_each(self, context: Sequence[tuple[Name | None, Content | None]]) -> Iterator[tuple[float, bool]]:
        """Tokens of the request before each message of `context`, and whether it stands where it was counted; at last
        those of all of it. Nothing where no usage is recorded.

        `context`: names, None for a new message, and what stands for them where that was made.
        """
        session = self._session
        if session is None:
            return
        kept, came = IncrementalContext(session.increments), 0.0
        places = self._in_place(name if made is None else None for name, made in context)
        for (name, made), place in zip(context, places, strict=True):
            yield kept.tokens + came, place >= 0
            if place < 0:
                came += self._made(name, made)
            else:
                kept.keep(place, place + 1)
        yield kept.tokens + came, False

    def _made(self, name: Name | None, made: Content | None) -> float:
        if made is not None:
            return self.instead(name, made)
        return 0.0 if name is None else sum(self.each([name]))

    def _in_place(self, names: Iterable[Name | None]) -> Iterator[int]:
        """The place of each message among those that were counted, where it stands behind the one before as it did;
        else -1.
        """
        stubs, expected = self.counting.log.state().board.stubs, 0
        for name in names:
            place = self._places.get(name, -1) if isinstance(name, int) and name not in stubs else -1
            if place >= expected:
                expected = place + 1
                yield place
            else:
                yield -1

    def weighed(self, names: Sequence[Name]) -> tuple[Measured, Sequence[float]]:
        """The size of the context `names`, and tokens of each message of it; what is left is no message's."""
        if self._session is not None:
            return self.of(names), self.each(names)
        counted = array("q", self.counting.counted(names))
        return self._estimated(round(sum(counted) - self._unsent(names))), counted

    def each(self, names: Sequence[Name]) -> Sequence[float]:
        """Tokens of each message as it stands."""
        session = self._session
        if session is None:
            return array("q", self.counting.counted(names))
        stubs, known = self.counting.log.state().board.stubs, self._places
        others = [name for name in names if name not in known or name in stubs]
        counted = dict(zip(others, self.counting.base(others), strict=True))
        return [
            self.rate(name) * counted[name] if name in counted else session.size(name)  # type: ignore[arg-type]  # known
            for name in names
        ]

    def rising(self, names: Sequence[Name]) -> Sequence[float]:
        """What the messages before each of `names` have of the tokens of all of them, and at last all: never less than
        before. What left the requests without a row that tells of it (`increments`) stood before the request that was
        smaller: the messages before it hold no more than is left.
        """
        held = array("d", accumulate(self.each(names), initial=0.0))
        for place in range(len(held) - 2, -1, -1):
            held[place] = min(held[place], held[place + 1])
        return held

    def as_read(self, numbers: Sequence[int]) -> Sequence[float]:
        """Tokens of each of these messages as its rows have it, whatever ops made of it."""
        session = self._session
        if session is None:
            return list(self.counting.counter.all(self.counting.base_as_read(numbers)))
        others = [n for n in numbers if n not in self._places]
        counted = dict(zip(others, self.counting.base_as_read(others), strict=True))
        return [counted[n] * self.rate(n) if n in counted else session.size(n) for n in numbers]

    def entries(self, some: Sequence[Entry]) -> list[float]:
        """Tokens of each of these entries, of whatever state of the log."""
        session = self._session
        if session is None:
            return list(map(self.counting.counter.tokens, self.counting.base_of(some)))
        others = [one for one in some if one.stub is not None or one.name not in self._places]
        counted = iter(self.counting.base_of(others))
        return [
            session.size(one.name) if one.stub is None and isinstance(one.name, int) and one.name in self._places
            else self.rate(one.name) * next(counted)
            for one in some
        ]  # fmt: skip

    @property
    def newest(self) -> tuple[int, float] | None:
        """The newest reply that was counted, and tokens of the context right after it; None where none was."""
        session = self._session
        return (session.known[-1], session.end) if session is not None and session.steps else None

    @property
    def around(self) -> float:
        """Tokens of a request that has none of the messages."""
        return 0.0 if self._session is None else self._session.increments.before(0)

    @property
    def name(self) -> str:
        """What counts the messages, each by itself."""
        counting, session = self.counting, self._session
        return counting.counter.name if session is None else _factor(session)

    def instead(self, name: Name | None, content: Content) -> float:
        """Tokens of `content` where it stands for the message `name`, or for none."""
        if self._session is None:
            return sum(self.counting.of_contents([content]))
        return sum(self.counting.base_of_contents([content])) * self.rate(name)

    def new(self, contents: Iterable[Content]) -> int:
        """Tokens of messages that a user or tool would add."""
        if self._session is None:
            return sum(self.counting.of_contents(contents))
        return ceil(sum(self.counting.base_of_contents(contents)) * self._session.calibration.inwards)

    def rate(self, name: Name | None) -> float:
        """Tokens to one of the base, in a message; None: in a new one."""
        session = self._session
        if session is None:
            return self.counting.counter.factor
        if isinstance(name, int) and name in self._places:
            [base] = self.counting.base_as_read([name])
            if base:
                return session.size(name) / base
        return session.calibration.inwards if name is None else session.rate(name)

    def _estimated(self, tokens: int) -> Measured:
        counter, known = self.counting.counter, named(self.counting.model)
        own = counter.plain and (known.base, known.factor) == (counter.base, 1.0)
        return Measured(tokens, counter.name, trust="encoding" if own else "guess")


def _runs(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Rising places as runs without a gap: the first, and the one behind the last."""
    start = end = 0
    for place in places:
        if place != end:
            if start < end:
                yield start, end
            start = place
        end = place + 1
    if start < end:
        yield start, end


def measure(counting: Counting, names: Sequence[Name]) -> Measured:
    """The size of the context `names`."""
    return Measuring(counting).of(names)


def change(log: OpenLog, after: State) -> Figures:
    """The context of `log`, and what it is in the state `after`, by one counter, with what is sent besides; before
    windows and filters.
    """
    before, counting, then = log.state(), Counting(log), Counting(log.seen_at(after))
    shown, names = before.shown(), after.shown()
    measuring = Measuring(counting)
    one = measuring.of(list(shown_names(before)))
    other = measuring.seen(then).of(list(shown_names(after)))
    stubs = [name for name, stub in after.board.stubs.items() if before.board.stubs.get(name) != stub]
    return Figures(
        one.tokens + added(counting, one), other.tokens + added(then, other),
        (other if other.estimated else one).counter, len(shown), len(shown - names),
        len(names - shown), sum(name in names and name in shown for name in stubs),
        limit=context_limit(log).tokens,
    )  # fmt: skip


def _name(session: RecordedUsage, moved: int) -> str:
    known = f"the provider's count at message {session.known[-1]}" if session.steps else ""
    known += ", as corrected by an export" if session.now.retold else ""
    if known and not moved:
        return known
    return f"{known}, then {_factor(session)}" if known else f"estimate, {_factor(session)}"


def _factor(session: RecordedUsage) -> str:
    return f"{session.counting.counter.base} × {session.calibration.inwards:.2f} as in this session"


def around(measuring: Measuring) -> float:
    """Tokens of a request that has none of the messages."""
    return measuring.around + added(measuring.counting, measuring.of([]))
