"""Measures the size of a context: by the provider's counts if the log records them, and by an estimate of the rest.

The newest request with a recorded usage gives the size of the log's own context at that point, system prompt and tools
included. What ops took out is measured by the differences between recorded requests. Newer messages, and those that ops
added, are counted by the session's own calibration.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from itertools import accumulate, islice, zip_longest
from math import ceil
from typing import NamedTuple

from ctxkit.content.thinking import is_put_in, next_change, without
from ctxkit.core.assembly import Assembly
from ctxkit.core.context import Entry, shown_names
from ctxkit.core.derive.usage import Figures, Measured, whole
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content
from ctxkit.core.state import State
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.increments import IncrementalContext
from ctxkit.measure.limit import context_limit
from ctxkit.measure.overhead import added, configured
from ctxkit.measure.usage import RecordedUsage
from ctxkit.tokens.counter import NotCountedError
from ctxkit.tokens.models import named
from ctxkit.tokens.reasoning import binds


class Measuring:
    """Measures contexts of a log, and each message of them. The parts add up to the whole: after a trim `status` shows
    less by what the trim took out.
    """

    def __init__(self, counting: Counting, around: Assembly | None = None) -> None:
        """`around`: what is sent around the messages; None: what config says."""
        self.counting, self._around = counting, around
        recorded = counting.is_own and not (counting.log.estimates or counting.log.own_counter)
        session = RecordedUsage(counting) if recorded else None
        usable = session is not None and (session.steps or (session.earlier and session.overhead is not None))
        self._session = session if usable else None
        self._places = session.places if session is not None and usable else {}
        self._thoughts: dict[int, float] = {}

    @property
    def is_calibrated(self) -> bool:
        """Whether messages are measured by the log's recorded usage; else each is estimated by itself."""
        return self._session is not None

    def with_counting(self, counting: Counting) -> Measuring:
        """Makes a copy for `counting`, of the same log in another state, with the same recorded usage."""
        made = copy(self)
        made.counting = counting
        return made

    def of(self, names: Sequence[Name]) -> Measured:
        """The size of the context `names`."""
        session = self._session
        if session is None:
            return self._estimated(round(sum(self.counting.counted(names)) - self._unsent(names)))
        known, error = session.newest_count if session.steps else None, session.calibration.error
        tokens = whole(self._tokens(session, names))
        moved = tokens - (known if known is not None else round(session.end))
        whole_log = not self.counting.log.transcript.broken  # what is missing now may have been counted
        is_exact = not (moved or known is None or session.now.corrected) and whole_log
        least, most = session.bounds(tokens)
        return Measured(
            tokens=tokens, counter=_name(session, moved), known=known,
            at=session.known[-1] if session.steps else None, estimated=moved,
            overhead=session.overhead, error=None if error is None else round(100 * error, 2),
            trust="exact" if is_exact else "calibrated" if least is None else "range",
            corrected=session.now.corrected, least=least, most=most, once=min(session.once, tokens),
        )  # fmt: skip

    def _tokens(self, session: RecordedUsage, names: Sequence[Name]) -> float:
        """Tokens of the context `names`, with the overhead of the request."""
        places = list(self._in_place(names))
        came = self.each([name for name, place in zip(names, places, strict=True) if place < 0])
        kept = IncrementalContext(session.increments)
        for start, end in _runs(place for place in places if place >= 0):
            kept.keep(start, end)
        return kept.tokens + sum(came) - self._unsent(names)

    def beyond(self, shown: Sequence[int]) -> float:
        """Tokens of a context beyond the sum of its messages. Not 0 if a recorded request was smaller than the one
        before, and what left is older than the context.

        `shown`: for each number, whether its message is in the context as it was written.
        """
        session = self._session
        if session is None or not session.increments.falls:
            return 0.0
        increments = session.increments
        # the log was counted as it is now; as it was at an earlier op, it may lack messages
        marks = bytearray(shown[n] if n < len(shown) else 0 for n in self._places)
        kept, apart = IncrementalContext(increments), increments.before(0)
        end = 0
        while (start := marks.find(1, end)) >= 0:
            end = marks.find(0, start)
            end = len(marks) if end < 0 else end
            kept.keep(start, end)
            apart += increments.between(start, end)
        return kept.tokens - apart

    def _unsent(self, names: Sequence[Name]) -> float:
        """Tokens of the thinking of the context `names` that is not sent, because the prefix it is bound to changed."""
        if not self._bound:
            return 0.0
        change = next_change(self.counting.log, self.counting.model, names, put_in=self._put_in)
        return 0.0 if change is None else self.bound(islice(names, change.place, None))

    @cached_property
    def _bound(self) -> bool:
        """Whether thinking may not count: its own model binds it, or the one that is counted for."""
        return binds(self.counting.model) or binds(self.counting.log.model)

    @cached_property
    def _put_in(self) -> bool:
        log = self.counting.log
        return is_put_in(log, configured(log) if self._around is None else self._around)

    def bound(self, names: Iterable[Name]) -> float:
        """Tokens of the thinking of these messages that is not sent behind a change; 0 if the model binds none."""
        log = self.counting.log
        if not self._bound:
            return 0.0
        return sum(self.thinking(n) for n in names if isinstance(n, int) and log.messages[n - 1].role == "assistant")

    def thinking(self, n: int) -> float:
        """Tokens of the thinking of message n."""
        if n not in self._thoughts:
            content = self.counting.log.content(n)
            rest = without(content)
            thought = 0.0 if rest is content else self.as_read([n])[0] - self.replacement(n, rest)
            self._thoughts[n] = max(0.0, thought)
        return self._thoughts[n]

    def before_each(self, context: Sequence[tuple[Name | None, Content | None]]) -> Iterator[tuple[float, bool]]:
        """Yields the tokens of the context before each message of `context`, and whether the message is in the place
        where it was counted; at last the tokens of the whole context. Yields nothing if no usage is recorded.

        `context`: name (None: a new message) and content (None: the message's own).
        """
        session = self._session
        if session is None:
            return
        kept, came = IncrementalContext(session.increments), -float(session.once)
        places = self._in_place(name if made is None else None for name, made in context)
        for (name, made), place in zip(context, places, strict=True):
            yield kept.tokens + came, place >= 0
            if place < 0:
                came += self._added(name, made)
            else:
                kept.keep(place, place + 1)
        yield kept.tokens + came, False

    def _added(self, name: Name | None, made: Content | None) -> float:
        if made is not None:
            return self.replacement(name, made)
        return 0.0 if name is None else sum(self.each([name]))

    def _in_place(self, names: Iterable[Name | None]) -> Iterator[int]:
        """Yields the place of each message among the counted ones; -1 if it was not counted, is shortened, or is out of
        order.
        """
        stubs, expected = self.counting.log.state().board.stubs, 0
        for name in names:
            place = self._places.get(name, -1) if isinstance(name, int) and name not in stubs else -1
            if place >= expected:
                expected = place + 1
                yield place
            else:
                yield -1

    def with_sizes(self, names: Sequence[Name]) -> tuple[Measured, Sequence[float]]:
        """The size of the context `names`, and the tokens of each message. The difference belongs to no message."""
        if self._session is not None:
            return self.of(names), self.each(names)
        counted = array("q", self.counting.counted(names))
        return self._estimated(round(sum(counted) - self._unsent(names))), counted

    def each(self, names: Sequence[Name]) -> Sequence[float]:
        """Tokens of each message in its current form."""
        session = self._session
        if session is None:
            return array("q", self.counting.counted(names))
        stubs, known = self.counting.log.state().board.stubs, self._places
        others = [name for name in names if name not in known or name in stubs]
        counted = dict(zip(others, self.counting.base(others), strict=True))
        self.counting.base_as_read([name for name in names if isinstance(name, int) and name not in counted])  # at once
        return [
            self.rate(name) * counted[name] if name in counted else session.size(name)  # type: ignore[arg-type]  # a number
            for name in names
        ]

    def as_read(self, numbers: Sequence[int]) -> Sequence[float]:
        """Tokens of each of these messages as the log's rows have it, whatever ops made of it."""
        session = self._session
        if session is None:
            return list(self.counting.counter.all(self.counting.base_as_read(numbers)))
        others = [n for n in numbers if n not in self._places]
        counted = dict(zip(others, self.counting.base_as_read(others), strict=True))
        return [counted[n] * self.rate(n) if n in counted else session.size(n) for n in numbers]

    def entries(self, some: Sequence[Entry]) -> list[float]:
        """Tokens of each of these entries, from any state of the log."""
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
        """The newest counted reply, and the tokens of the context right after it; None if no reply is counted."""
        session = self._session
        return (session.known[-1], session.end) if session is not None and session.steps else None

    @property
    def around(self) -> float:
        """Tokens of a request without any of the messages, by the recorded usage."""
        return 0.0 if self._session is None else self._session.increments.before(0)

    @property
    def name(self) -> str:
        """The name of what counts single messages."""
        counting, session = self.counting, self._session
        return counting.counter.name if session is None else _factor(session)

    def replacement(self, name: Name | None, content: Content) -> float:
        """Tokens of `content` in place of the message `name`; None: as a new message."""
        if self._session is None:
            return sum(self.counting.of_contents([content]))
        return sum(self.counting.base_of_contents([content])) * self.rate(name)

    def new(self, contents: Iterable[Content]) -> int:
        """Tokens of new messages of a user or tool."""
        if self._session is None:
            return sum(self.counting.of_contents(contents))
        return ceil(sum(self.counting.base_of_contents(contents)) * self._session.calibration.inwards)

    def rate(self, name: Name | None) -> float:
        """Tokens per token of the base in a message; None: in a new one."""
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
    """Groups rising places into runs without a gap. Yields the first of each, and the one after the last."""
    start = end = 0
    for place in places:
        if place != end:
            if start < end:
                yield start, end
            start = place
        end = place + 1
    if start < end:
        yield start, end


def measure(counting: Counting, names: Sequence[Name], around: Assembly | None = None) -> Measured:
    """Measures the context `names`. `around`: as in Measuring."""
    return Measuring(counting, around).of(names)


def change(log: OpenLog, after: State) -> Figures:
    """Measures the context of `log` now and in the state `after`, by one counter, with the overhead of a request.

    Windows and filters are not applied.
    """
    before, counting, then = log.state(), Counting(log), Counting(log.seen_at(after))
    shown, names = before.shown(), after.shown()
    measuring = Measuring(counting)
    one = measuring.of(list(shown_names(before)))
    other = measuring.with_counting(then).of(list(shown_names(after)))
    stubs = [name for name, stub in after.board.stubs.items() if before.board.stubs.get(name) != stub]
    return Figures(
        one.resumed + added(counting, one), other.resumed + added(then, other),
        (other if other.estimated else one).counter, len(shown), len(shown - names),
        len(names - shown), sum(name in names and name in shown for name in stubs),
        limit=context_limit(log).tokens,
    )  # fmt: skip


class SizeAtHand(NamedTuple):
    """Tokens, counted without a tokenizer; `rough`: some of the texts by pieces of words."""

    tokens: int
    rough: bool


def moved(before: OpenLog, after: OpenLog) -> tuple[SizeAtHand, SizeAtHand] | None:
    """The sizes of the requests that two states of a log send, when resumed; None if counting takes long."""
    counting, then = _at_hand(before), _at_hand(after)
    with suppress(NotCountedError):
        measuring = Measuring(counting)
        one = measuring.of(before.listed())
        other = measuring.with_counting(then).of(after.listed())
        more = added(counting, one)  # of both: an op does not change what the config puts around the messages
        return (
            SizeAtHand(one.resumed + more, counting.counter.rough),
            SizeAtHand(other.resumed + more, then.counter.rough),
        )
    return None


class Uncached(NamedTuple):
    """The first message that a request has otherwise than the one before, and its tokens from there on."""

    first: Name
    tokens: int


def uncached(measuring: Measuring, before: OpenLog, after: OpenLog) -> Uncached | None:
    """What the next request sends without a provider's cache, which keeps a prefix, if it is of the state `after`.

    `measuring`: of `before`. None if both states send the same.
    """
    had, has = before.listed(), after.listed()
    short, shorter = before.state().board.stubs, after.state().board.stubs
    for place, (one, other) in enumerate(zip_longest(had, has)):
        if one != other or short.get(one) is not shorter.get(one):
            then = measuring.with_counting(Counting(after)).of(has).tokens
            return Uncached(other if one is None else one, max(0, then - measuring.of(had[:place]).tokens))
    return None


def uncached_line(log: OpenLog, found: Uncached) -> str:
    """The line about the prompt cache in a report or preview of a change."""
    where = log.state().label(found.first)
    return f"prompt cache: valid before message {where}; the next request sends {found.tokens:,} tokens uncached"


def size_at_hand(log: OpenLog, names: Sequence[Name]) -> SizeAtHand | None:
    """The size of these messages; None if counting takes long."""
    counting = _at_hand(log)
    with suppress(NotCountedError):
        return SizeAtHand(round(sum(Measuring(counting).each(names))), counting.counter.rough)
    return None


def _at_hand(log: OpenLog) -> Counting:
    found = copy(log)
    found.counts_at_hand = True
    return Counting(found)


def _name(session: RecordedUsage, moved: int) -> str:
    label = session.counting.log.state().label
    known = f"the provider's count at message {label(session.known[-1])}" if session.steps else ""
    known += ", as corrected by an export" if session.now.corrected else ""
    if known and not moved:
        return known
    return f"{known}, then {_factor(session)}" if known else f"estimate, {_factor(session)}"


def _factor(session: RecordedUsage) -> str:
    return f"{session.counting.counter.base} × {session.calibration.inwards:.2f} as in this session"


def around(measuring: Measuring) -> float:
    """Tokens of a resumed request without any of the messages: by the recorded usage, and what config adds."""
    alone = measuring.of([])
    return measuring.around - alone.once + added(measuring.counting, alone)


def cumulative(sizes: Sequence[float]) -> Sequence[float]:
    """The tokens before each message, and at last those of all. `sizes`: those of each message. The sums never fall.

    What left the context without a row in the log (`increments`) is older than the smaller request: a sum never exceeds
    a later one.
    """
    held = array("d", accumulate(sizes, initial=0.0))
    for place in range(len(held) - 2, -1, -1):
        held[place] = min(held[place], held[place + 1])
    return held
