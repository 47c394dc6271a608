"""Measuring the size of a context: what its provider counted, where the log records that, and an estimate of the rest.

The newest request whose usage is recorded gives the size of the log's own context at that point, system prompt and
tools included; messages that came since, and what ops took out or brought in, are counted by the session's own
calibration.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, zip_longest
from math import ceil
from typing import NamedTuple

from ctxkit.around import added
from ctxkit.core.context import Entry, Lens, listed, shown_names
from ctxkit.core.ledger import Ledger
from ctxkit.core.messages import Content, Message
from ctxkit.core.names import Name
from ctxkit.core.replay import fold
from ctxkit.core.state import State
from ctxkit.core.transcript import Cut, View
from ctxkit.core.usage import Figures, Measured, Usage
from ctxkit.counting import Counting
from ctxkit.opened import OpenedLog
from ctxkit.tokens.calibration import STEPS, Calibration, Step, calibrate
from ctxkit.tokens.models import named

TRIES = 8
"""Replies without a recorded usage, from the newest on, after which none is looked for."""

MOST = 2
"""Tokens in a count to one of a message, at most: rows that were taken from a larger context keep its usage."""
REPLIES = 1000
"""Replies that are looked at to learn what of an exchange's reasoning will leave."""


class Stretch(NamedTuple):
    """Requests without a compaction between them. `held`: their messages, in order; `places`: of the newest counted
    replies among these; `steps`: what was counted, a step a place. `after`: a compaction came before it, from which
    nothing was kept as it was. `retold`: the newest count is what an export made of it.
    """

    held: Sequence[int]
    places: Sequence[int]
    steps: Sequence[Step]
    after: bool
    retold: bool = False


class Session:
    """A log's usage: the newest requests of its own context that were counted, and what they say of the counter."""

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self.own = _own(counting.log)
        """Messages of the log's own context, before any op of ctxkit's, in order."""
        self.now, *self.earlier = self._stretches()
        """Since the newest compaction that the program made, and what was before it, newest first."""
        self.steps = self.now.steps

    def _stretches(self) -> Iterator[Stretch]:
        """The newest first, until STEPS requests were found."""
        log, rows, cuts = self.counting.log, self.counting.log.state().transcript.row_of, _cuts(self.counting.log)
        made = [cut.row for cut in cuts]
        last = len(made)
        found = _recorded(log, self.own, made[last - 1] if last else -1)
        yield self._stretch(self.own, found, last > 0 and not cuts[last - 1].moved)
        if not last:
            return
        parts: list[list[int]] = [[] for _ in range(last)]
        for n in _path(log):
            if (part := bisect_right(made, rows[n - 1])) < last:
                parts[part].append(n)
        left = STEPS - len(found)
        for part in range(last - 1, -1, -1):
            found = _recorded(log, parts[part], -1)[-left:] if left > 0 else []
            left -= len(found)
            if not found:
                return
            yield self._stretch(parts[part], found, part > 0 and not cuts[part - 1].moved)

    def _stretch(self, held: Sequence[int], found: Sequence[tuple[int, Usage]], after: bool) -> Stretch:
        messages, places = self.counting.log.state().messages, [place for place, _ in found]
        steps: list[Step] = []
        if found:
            first, passing = places[0], 0
            base = list(self.counting.base_as_read(held[first:]))
            ends, following = [*places[1:], len(held)], [usage.request for _, usage in found[1:]]
            for (place, usage), end, later in zip_longest(found, ends, following):
                since = sum(base[place + 1 - first : end - first])
                passing += usage.passing
                shrank = later is not None and later < usage.request + usage.reply - passing / 2
                left = passing if shrank or _is_over(messages, held[place:end]) else 0
                passing -= left
                steps.append(Step(usage.request, usage.reply, base[place - first], since, left))
        return Stretch(held, places, steps, after, bool(found) and found[-1][1].estimated)

    @cached_property
    def calibration(self) -> Calibration:
        """What the steps say."""
        runs = [stretch.steps for stretch in (*reversed(self.earlier), self.now)]
        return calibrate(runs, self.counting.counter.typical)

    @property
    def resent(self) -> int:
        """Tokens that the first request after a compaction holds beyond what the log shows of it, as the compaction
        before this one had them: files that the program sends again without a row that says so.
        """
        if self.earlier and self.earlier[0].after and self.overhead is not None:
            held = self.earlier[0].held
            for place, usage in _first(self.counting.log, held):
                return max(0, round(usage.request - self.overhead - self.worth(held[:place], as_read=True)))
        return 0

    def worth(self, names: Sequence[Name], *, as_read: bool = False) -> float:
        """Tokens of messages, by the calibration: in replies hidden thinking is included."""
        found = self.counting.base_as_read(n for n in names if isinstance(n, int)) if as_read else None
        counted = zip(names, found or self.counting.base(names), strict=True)
        return sum((tokens * self.rate(name) for name, tokens in counted), 0.0)

    def rate(self, name: Name) -> float:
        """Tokens to one of the base, in a message: replies by what replies come to, others by what they do."""
        replied = isinstance(name, int) and self.counting.log.state().messages[name - 1].role == "assistant"
        return self.calibration.outwards if replied else self.calibration.inwards

    @property
    def after(self) -> int:
        """Tokens of the context right after the newest counted reply."""
        return round(self.calibration.after(self.steps[-1]))

    @property
    def share(self) -> float:
        """Tokens in the newest count to one that its messages are estimated at: together they are what was counted
        beyond the overhead. Where that is more than MOST, what is more stands around them.
        """
        worth = self.worth(self.known, as_read=True)
        beyond = self.after - (worth if self.overhead is None else MOST * worth)
        fixed = min(self.after, max(self.overhead or 0, beyond))
        return (self.after - fixed) / worth if worth else 1.0

    @property
    def left(self) -> int:
        """Tokens of reasoning that the next request no longer has."""
        return self.steps[-1].left

    @cached_property
    def overhead(self) -> int | None:
        """What the provider counted beyond messages: system prompt, tools, reminders.

        Learnt from the first request of the log: later ones may hold thinking that no row shows.
        """
        for n, usage in _first(self.counting.log, range(1, len(self.counting.log.state().messages) + 1)):
            held = sum(self.counting.base_as_read(range(1, n + 1))) * self.calibration.inwards
            return max(0, round(usage.request - held))
        return None

    @property
    def known(self) -> Sequence[int]:
        """The messages up to the newest counted reply, itself included."""
        return self.own[: self.now.places[-1] + 1] if self.now.places else []


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
    one = measure(counting, list(shown_names(before)))
    other = measure(then, list(shown_names(after)))
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


def _own(log: OpenedLog) -> Sequence[int]:
    state = log.state()
    if state.ledger.entries:
        state = fold(state.transcript, Ledger([], {}, []))
    found = listed(state, Lens(thread=log.lens_thread))
    return found if isinstance(found, range) else [name for name in found if isinstance(name, int)]


def _view(log: OpenedLog) -> View | None:
    view = log.state().transcript.view
    return view.threads.get(log.lens_thread or "", view) if view is not None else None


def _cuts(log: OpenedLog) -> list[Cut]:
    view = _view(log)
    return view.cuts if view is not None else []


def _path(log: OpenedLog) -> Sequence[int]:
    view = _view(log)
    return view.order if view is not None else ()


def _first(log: OpenedLog, held: Sequence[int]) -> Iterator[tuple[int, Usage]]:
    """Place in `held` and usage of the first replies that have one."""
    replies = ((place, n) for place, n in enumerate(held) if log.state().messages[n - 1].role == "assistant")
    for place, n in islice(replies, TRIES):
        usage = log.usage(n)
        if usage is not None:
            yield place, usage


def _is_over(messages: Sequence[Message], some: Sequence[int]) -> bool:
    """Whether an exchange ends with the first of these, a reply: no call is open, and the user goes on."""
    return not messages[some[0] - 1].calls and any(messages[n - 1].role == "user" for n in some[1:])


def _recorded(log: OpenedLog, held: Sequence[int], since: int) -> list[tuple[int, Usage]]:
    """Place in `held` and usage of the newest replies that have one, oldest first; none from before row `since`."""
    found: list[tuple[int, Usage]] = []
    tries = 0
    for place in range(len(held) - 1, -1, -1):
        n = held[place]
        if log.state().transcript.row_of[n - 1] < since or (not found and tries >= TRIES) or len(found) >= REPLIES:
            break
        if len(found) >= STEPS and not (found[0][1].passing and log.state().messages[n - 1].role != "user"):
            break
        if log.state().messages[n - 1].role == "assistant":
            tries += 1
            usage = log.usage(n)
            if usage is not None:
                found.append((place, usage))
    return found[::-1]
