"""Measuring the size of a context: what its provider counted, where the log records that, and an estimate of the rest.

The newest request whose usage is recorded gives the size of the log's own context at that point, system prompt and
tools included; messages that came since, and what ops took out or brought in, are counted by the session's own
calibration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from math import ceil

from ctxkit.around import added
from ctxkit.core.context import Lens, listed, shown_names
from ctxkit.core.ledger import Ledger
from ctxkit.core.messages import Content
from ctxkit.core.names import Name
from ctxkit.core.replay import fold
from ctxkit.core.state import State
from ctxkit.core.usage import Figures, Measured, Usage
from ctxkit.counting import Counting
from ctxkit.opened import OpenedLog
from ctxkit.tokens.calibration import STEPS, Calibration, Step, calibrate
from ctxkit.tokens.models import named

TRIES = 8
"""Replies without a recorded usage, from the newest on, after which none is looked for."""

LARGEST, MADE_OF = 120_000, 2
"""More tokens of system prompt and tools than any program has, and a size of more than so many times what its messages
come to: rows that were taken from a larger context, by their program or by an export of ours, keep its usage.
"""


class Session:
    """A log's usage: the newest requests of its own context that were counted, and what they say of the counter."""

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self.own = _own(counting.log)
        """Messages of the log's own context, before any op of ctxkit's, in order."""
        self._places: list[int] = []
        usages: list[Usage] = []
        for place, found in _recorded(counting.log, self.own):
            self._places.append(place)
            usages.append(found)
        self.steps = list(self._steps(usages))

    def _steps(self, usages: Sequence[Usage]) -> Iterable[Step]:
        if not usages:
            return
        first = self._places[0]
        base = list(self.counting.base_as_read(self.own[first:]))
        ends = [*self._places[1:], len(self.own)]
        for found, place, end in zip(usages, self._places, ends, strict=True):
            at = place - first
            yield Step(found.request, found.reply, base[at], sum(base[at + 1 : end - first]))

    @cached_property
    def calibration(self) -> Calibration:
        """What the steps say."""
        return calibrate(self.steps, self.counting.counter.factor)

    def worth(self, names: Sequence[Name], *, as_read: bool = False) -> float:
        """Tokens of messages, by the calibration: in replies hidden thinking is included."""
        found = self.counting.base_as_read(n for n in names if isinstance(n, int)) if as_read else None
        counted = zip(names, found or self.counting.base(names), strict=True)
        return sum((tokens * self.rate(name) for name, tokens in counted), 0.0)

    def rate(self, name: Name) -> float:
        """Tokens to one of the base, in a message: replies by what replies come to, others by what they do."""
        replied = isinstance(name, int) and self.counting.log.messages[name - 1].role == "assistant"
        return self.calibration.outwards if replied else self.calibration.inwards

    @property
    def after(self) -> int:
        """Tokens of the context right after the newest counted reply."""
        return round(self.calibration.after(self.steps[-1]))

    @property
    def overhead(self) -> int | None:
        """What the provider counted beyond messages: system prompt, tools, reminders.

        Learnt from the first request of the log: later ones may hold thinking that no row shows.
        """
        log = self.counting.log
        replies = (message.n for message in log.messages if message.role == "assistant")
        for n in islice(replies, TRIES):
            usage = log.usage(n)
            if usage is not None:
                held = sum(self.counting.base_as_read(range(1, n))) * self.calibration.inwards
                return max(0, round(usage.request - held))
        return None

    @property
    def known(self) -> Sequence[int]:
        """The messages up to the newest counted reply, itself included."""
        return self.own[: self._places[-1] + 1] if self._places else []


class Measuring:
    """Measures contexts of a log, and each message of them, so that the parts add up to the whole: what `trim` takes
    out is what `status` shows less.
    """

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        session = Session(counting) if counting.model == counting.log.model else None
        self._session = session if session is not None and session.steps and self._take(session) else None

    def _take(self, session: Session) -> bool:
        """Whether the newest count is of what the log holds. Sets what its messages came to in it."""
        worth, beyond = session.worth(session.known, as_read=True), session.overhead
        if (beyond or 0) > LARGEST or session.after > MADE_OF * ((beyond or 0) + worth):
            return False
        self._overhead, self._known = beyond, frozenset(session.known)
        fixed = min(session.after, max(0.0, session.after - worth) if beyond is None else beyond)
        self._share = (session.after - fixed) / worth if worth else 1.0
        """Tokens in the provider's count to one that its messages are estimated at."""
        return True

    def of(self, names: Sequence[Name]) -> Measured:
        """The size of the context `names`."""
        session = self._session
        if session is None:
            return self._estimated(sum(self.counting.counted(names)))
        stubbed, shown = self.counting.log.state().board.stubs.keys(), set(names)
        came = sum(self.each([name for name in names if name not in self._known or name in stubbed]))
        gone = [n for n in session.known if n not in shown or n in stubbed]
        went = session.worth(gone, as_read=True) * self._share
        moved, error = ceil(came - went - 1e-6), session.calibration.error
        return Measured(
            tokens=max(0, session.after + moved),
            counter=_name(self.counting, session.calibration, session.known[-1], moved),
            known=session.after, at=session.known[-1], estimated=moved, overhead=self._overhead,
            error=None if error is None else round(100 * error, 2), trust="calibrated" if moved else "exact",
        )  # fmt: skip

    def weighed(self, names: Sequence[Name]) -> tuple[Measured, Sequence[float]]:
        """The size of the context `names`, and tokens of each message of it; what is left is no message's."""
        if self._session is not None:
            return self.of(names), self.each(names)
        counted = list(self.counting.counted(names))
        return self._estimated(sum(counted)), counted

    def each(self, names: Sequence[Name]) -> Sequence[float]:
        """Tokens of each message as it stands."""
        if self._session is None:
            return list(self.counting.counted(names))
        return [self.rate(name) * tokens for name, tokens in zip(names, self.counting.base(names), strict=True)]

    @property
    def name(self) -> str:
        """What counts the messages, each by itself."""
        counting, session = self.counting, self._session
        return counting.counter.name if session is None else _factor(counting, session.calibration)

    def instead(self, name: Name, content: Content) -> float:
        """Tokens of `content` where it stands for the message `name`."""
        [counted] = self.counting.of_contents([content])
        return counted if self._session is None else counted / self.counting.counter.factor * self.rate(name)

    def new(self, contents: Iterable[Content]) -> int:
        """Tokens of messages that a user or tool would add."""
        counted = sum(self.counting.of_contents(contents))
        if self._session is None:
            return counted
        return ceil(counted / self.counting.counter.factor * self._session.calibration.inwards)

    def rate(self, name: Name) -> float:
        """Tokens to one of the base, in a message."""
        if self._session is None:
            return self.counting.counter.factor
        return self._session.rate(name) * (self._share if name in self._known else 1.0)

    def _estimated(self, tokens: int) -> Measured:
        counter, known = self.counting.counter, named(self.counting.model)
        own = counter.exact and (known.base, known.factor) == (counter.base, 1.0)
        return Measured(tokens, counter.name, trust="exact" if own else "guess")


def measure(counting: Counting, names: Sequence[Name]) -> Measured:
    """The size of the context `names`."""
    return Measuring(counting).of(names)


def change(log: OpenedLog, after: State) -> Figures:
    """The context of `log`, and what it is in the state `after`, by one counter, with what is sent besides; before
    windows and filters.
    """
    before, counting, then = log.state(), Counting(log), Counting(log.seen_at(after))
    shown, names = before.shown(), after.shown()
    one = measure(counting, list(shown_names(before)))
    other = measure(then, list(shown_names(after)))
    stubs = [name for name, stub in after.board.stubs.items() if before.board.stubs.get(name) != stub]
    return Figures(
        one.tokens + added(counting, one), other.tokens + added(then, other),
        (other if other.estimated else one).counter, len(shown), len(shown - names),
        len(names - shown), sum(name in names and name in shown for name in stubs), 
        limit=log.config["limit"] or counting.limit,
    )  # fmt: skip


def _name(counting: Counting, calibration: Calibration, at: int, moved: int) -> str:
    told = f"the provider's count at message {at}"
    if not moved:
        return told
    return f"{told}, then {_factor(counting, calibration)}"


def _factor(counting: Counting, calibration: Calibration) -> str:
    return f"{counting.counter.base} × {calibration.inwards:.2f} as this session has it"


def _own(log: OpenedLog) -> Sequence[int]:
    state = log.state()
    if state.ledger.entries:
        state = fold(log.transcript, Ledger([], {}, []))
    found = listed(state, Lens(thread=log.lens_thread))
    return found if isinstance(found, range) else [name for name in found if isinstance(name, int)]


def _recorded(log: OpenedLog, own: Sequence[int]) -> list[tuple[int, Usage]]:
    """Place in `own` and usage of the newest replies that have one, oldest first; none from before a compaction."""
    view = log.transcript.view
    seen = view.threads.get(log.lens_thread or "", view) if view is not None else None
    cut = max((one.row for one in seen.cuts), default=-1) if seen is not None else -1
    found: list[tuple[int, Usage]] = []
    tries = 0
    for place in range(len(own) - 1, -1, -1):
        n = own[place]
        if log.transcript.row_of[n - 1] < cut or len(found) >= STEPS or (not found and tries >= TRIES):
            break
        if log.messages[n - 1].role == "assistant":
            tries += 1
            usage = log.usage(n)
            if usage is not None:
                found.append((place, usage))
    return found[::-1]
