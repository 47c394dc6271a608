"""Measuring the size of a context: what its provider counted, where the log records that, and an estimate of the rest.

The newest request whose usage is recorded gives the size of the log's own context at that point, system prompt and
tools included; messages that came since, and what ops took out or brought in, are counted by the session's own
calibration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from math import ceil

from ctxkit.around import added
from ctxkit.core.context import Entry, shown_names
from ctxkit.core.messages import Content
from ctxkit.core.names import Name
from ctxkit.core.state import State
from ctxkit.core.usage import Figures, Measured
from ctxkit.counting import Counting
from ctxkit.opened import OpenedLog
from ctxkit.recorded import Session
from ctxkit.tokens.models import named


class Measuring:
    """Measures contexts of a log, and each message of them, so that the parts add up to the whole: what `trim` takes
    out is what `status` shows less.
    """

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        session = Session(counting) if counting.model == counting.log.model else None
        taught = session is not None and (session.steps or (session.earlier and session.overhead is not None))
        self._session = session if taught else None
        self._known = frozenset(session.known) if session is not None and taught else frozenset()
        self._share = session.share if session is not None and session.steps else 1.0

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
            return self._estimated(sum(self.counting.counted(names)))
        stubbed, shown = self.counting.log.state().board.stubs.keys(), set(names)
        came = sum(self.each([name for name in names if name not in self._known or name in stubbed]))
        gone = [n for n in session.known if n not in shown or n in stubbed]
        went = session.worth(gone, as_read=True) * self._share
        moved, error = ceil(came - went - 1e-6), session.calibration.error
        if not session.steps:  # a compaction came after all that was counted
            told = (session.overhead or 0) + session.resent
            known = at = None
        else:
            told = known = session.after
            moved -= session.left
            at = session.known[-1]
        return Measured(
            tokens=max(0, told + moved), counter=_name(session, moved), known=known, at=at, estimated=moved,
            overhead=session.overhead, error=None if error is None else round(100 * error, 2),
            trust="calibrated" if moved or known is None or session.now.retold else "exact",
            retold=session.now.retold,
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

    def entries(self, some: Sequence[Entry]) -> list[int]:
        """Tokens of each of these entries, of whatever state of the log."""
        base = self.counting.base_of(some)
        if self._session is None:
            return list(map(self.counting.counter.tokens, base))
        return [round(self.rate(one.name) * tokens) for one, tokens in zip(some, base, strict=True)]

    @property
    def name(self) -> str:
        """What counts the messages, each by itself."""
        counting, session = self.counting, self._session
        return counting.counter.name if session is None else _factor(session)

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
    measuring = Measuring(counting)
    one = measuring.of(list(shown_names(before)))
    other = measuring.seen(then).of(list(shown_names(after)))
    stubs = [name for name, stub in after.board.stubs.items() if before.board.stubs.get(name) != stub]
    return Figures(
        one.tokens + added(counting, one), other.tokens + added(then, other),
        (other if other.estimated else one).counter, len(shown), len(shown - names),
        len(names - shown), sum(name in names and name in shown for name in stubs),
        limit=log.config["limit"] or counting.limit,
    )  # fmt: skip


def _name(session: Session, moved: int) -> str:
    known = f"the provider's count at message {session.known[-1]}" if session.steps else ""
    known += ", less what an export left out" if session.now.retold else ""
    if known and not moved:
        return known
    return f"{known}, then {_factor(session)}" if known else f"estimate, {_factor(session)}"


def _factor(session: Session) -> str:
    return f"{session.counting.counter.base} × {session.calibration.inwards:.2f} as this session has it"
