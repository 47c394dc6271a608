"""Plotting: what the course of a log's context is made of, read off the log: counts, cuts of its program, ops.

`core/course.py` puts it together; `status --plot` draws it. Of a session that its provider counted, only messages
around cuts, of ops, and behind the last count are counted here, so that it costs about what `status` costs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from ctxkit.core.context import belongs, protected_steps, window_seconds
from ctxkit.core.course import Anchor, Change, Course, Taking, course, own
from ctxkit.core.history import history
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.names import Name, Names
from ctxkit.core.ops import Mark, Window
from ctxkit.core.ranges import EMPTY, Ranges
from ctxkit.core.sliding import Slid, Stage, slid
from ctxkit.core.state import State
from ctxkit.core.transcript import Cut
from ctxkit.core.usage import Usage
from ctxkit.counting import Counting
from ctxkit.measuring import Measuring
from ctxkit.opened import OpenedLog
from ctxkit.recorded import Session
from ctxkit.tokens.calibration import STEPS, Calibration, Step, calibrate

SAMPLES = 24
"""Replies from the newest on, and as many spread over the log: where none of them has a usage, none is taken to."""
CUT, HIDDEN = "cut", "hidden"
"""Kinds of events that are no ops: of the log's own program; and what a filter hides at the end."""


class _Seen(NamedTuple):
    """An op or cut, behind `place` messages of the path. Of the program's own context at that point, `hidden` is what
    ops hide, `shortened` what they shorten; `added` and `written` (tokens) is what they show besides. Of a cut: `out`,
    or, where that is less, what it `left` (then `out` is empty, but not None).
    """

    place: int
    kind: str
    label: str
    op: int | None
    hidden: Ranges
    shortened: Ranges
    added: Ranges
    written: float
    out: Ranges | None
    left: Ranges | None
    stage: Stage


def plotted(log: OpenedLog, *, around: int = 0, limit: int | None = None) -> Course:
    """The course of the context of `log`, before filters; what these hide now is the last event.

    `around`: tokens that stand around the messages; `limit`: in tokens. Raises what `state` raises.
    """
    plot = _Plot(log)
    seen = list(plot.watched())
    needed = chain.from_iterable(names.pairs() for one in seen for names in _sets(one))
    plot.weights.know(Ranges(chain(needed, plot.mine.pairs() if plot.windows else ())))
    hidden = plot.slid(seen)
    cuts = [one for one in seen if one.out is not None]
    of = plot.weights.of
    taking = [Taking(one.place, of(one.out or EMPTY), None if one.left is None else of(one.left)) for one in cuts]
    own_course = own(plot.sizes, plot.anchors, taking, plot.weigh)
    order = {id(one): k for k, one in enumerate(cuts)}
    changes = [
        Change(one.place, one.kind, one.label, one.op, plot.delta(one), order.get(id(one)), less)
        for one, less in zip(seen, hidden.starts[1:] or [0.0] * len(seen), strict=True)
    ]  # fmt: skip
    end = own_course.values[-1] if own_course.values else 0.0
    if cuts and cuts[-1].place == len(plot.path):
        end = own_course.cuts[-1][1]
    if not plot.anchors or plot.measured.trust != "guess":
        filtered = log.lens_agent is not None or log.lens().newest is not None
        changes.append(Change(len(plot.path), HIDDEN if filtered else "", "", None, plot.measured.tokens - end))
    return course(
        plot.path, own_course, changes, plot.anchors, around=around, limit=limit, counter=plot.measured.counter,
        model=plot.counting.model, slid=hidden.behind,
    )  # fmt: skip


def _sets(one: _Seen) -> Iterable[Ranges]:
    return one.hidden, one.shortened, one.added, one.out or EMPTY, one.left or EMPTY


class _Weights:
    """Tokens of messages as their rows have them, and of sets of them by sums up to each."""

    def __init__(self, measuring: Measuring, worth: Calibration | None, *, measured: bool) -> None:
        self.measuring, self.counting, self.calibration, self.measured = measuring, measuring.counting, worth, measured
        self._numbers: list[int] = []
        self._sums: list[float] = [0.0]

    def each(self, numbers: Iterable[int]) -> Iterator[float]:
        """Of each of these."""
        listed = list(numbers)
        return map(self.worth, listed, self.counting.base_as_read(listed))

    def worth(self, name: Name, base: int) -> float:
        """What tokens of the base come to: as status measures them, else as the session's replies say."""
        if self.calibration is None:
            return self.counting.counter.tokens(base)
        if self.measured:
            return base * self.measuring.rate(name)
        replied = isinstance(name, int) and self.counting.log.state().messages[name - 1].role == "assistant"
        return base * (self.calibration.outwards if replied else self.calibration.inwards)

    def know(self, numbers: Ranges) -> None:
        """These will be asked for."""
        self._numbers = list(numbers)
        self._sums = list(accumulate(self.each(self._numbers), initial=0.0))

    def of(self, numbers: Ranges) -> float:
        """Of all these, which `know` was told."""
        found = 0.0
        for low, high in numbers.pairs():
            found += self._sums[bisect_left(self._numbers, high + 1)] - self._sums[bisect_left(self._numbers, low)]
        return found


class _Plot:
    """What is read off one log."""

    def __init__(self, log: OpenedLog) -> None:
        self.log, self.state, self.counting = log, log.state(), Counting(log)
        self.measuring = Measuring(self.counting)
        self.measured = self.measuring.of(log.listed())
        self.path = _path(self.state, log.lens_thread)
        self.mine = Ranges.of(self.path)
        row_of, messages = self.state.transcript.row_of, self.state.messages
        self.rows = [row_of[n - 1] for n in self.path]
        self.sizes = [m.size + sum(size for _, size in m.more) for m in (messages[n - 1] for n in self.path)]

    @cached_property
    def windows(self) -> bool:
        """Whether any window was ever set."""
        ops = any(isinstance(entry.op, Window) for entry in self.state.ledger.entries)
        return ops or any(self.log.lens().windows.values())

    def stage(self, state: State, place: int) -> Stage:
        """What a window can hide from `place` on, and which windows there are."""
        if not self.windows:
            return Stage(place, EMPTY, {})
        lens, shown = self.log.lens(), state.shown(self.log.lens_thread)
        guarded = Names(Ranges.span(1, state.preamble)) - state.board.unprotected | protected_steps(state)
        agents = {None, *state.windows, *lens.windows}
        seconds = {agent: window_seconds(state, lens, agent) for agent in agents}
        return Stage(place, (self.mine - shown.numbers) | guarded.numbers, seconds)

    def slid(self, seen: Sequence[_Seen]) -> Slid:
        """What windows hid; nothing where there is none."""
        if not self.windows:
            return Slid([], [])
        state, messages = self.state.afresh(), self.state.messages
        moments = [self.state.effective(n) for n in self.path]
        agents = [messages[n - 1].agent for n in self.path]
        stages = [self.stage(state, 0), *(one.stage for one in seen)]
        return slid(self.path, moments, agents, self.weigh(0, len(self.path)), stages, self.weights.of)

    @cached_property
    def usages(self) -> dict[int, Usage]:
        """Place in the path -> what the provider counted; nothing where that says nothing of this context."""
        log, messages = self.log, self.state.messages
        if self.counting.model != log.model or (self.measured.known is None and Session(self.counting).steps):
            return {}  # of another model, or rows that were taken from a larger context
        replies = [place for place, n in enumerate(self.path) if messages[n - 1].role == "assistant"]
        spread = replies[:: max(1, len(replies) // SAMPLES)]
        if not any(log.usage(self.path[place]) for place in (*replies[-SAMPLES:], *spread)):
            return {}
        found = ((place, log.usage(self.path[place])) for place in replies)
        return {place: usage for place, usage in found if usage is not None}

    @cached_property
    def steps(self) -> list[Step]:
        """The newest counted replies, whatever was cut between them."""
        places = sorted(self.usages)[-STEPS:]
        if not places:
            return []
        first, ends = places[0], [*places[1:], len(self.path)]
        base = list(self.counting.base_as_read(self.path[first:]))
        sums = [0, *accumulate(base)]
        return [
            Step(*self.usages[place][:2], base[place - first], sums[end - first] - sums[place - first + 1])
            for place, end in zip(places, ends, strict=True)
        ]

    @cached_property
    def weights(self) -> _Weights:
        """Of its messages, by what its steps say."""
        said = calibrate([self.steps], self.counting.counter.typical) if self.steps else None
        return _Weights(self.measuring, said, measured=self.measured.is_counted)

    @cached_property
    def anchors(self) -> dict[int, Anchor]:
        """Place in the path -> what is known there."""
        found = {place: Anchor(usage.request, usage.request + usage.reply) for place, usage in self.usages.items()}
        if found and self.weights.calibration is not None:
            last = max(found)
            found[last] = Anchor(found[last].request, round(self.weights.calibration.after(self.steps[-1])))
        return found

    def weigh(self, start: int, end: int) -> Sequence[float]:
        """Of each message at these places of the path."""
        return list(self.weights.each(self.path[start:end]))

    def delta(self, one: _Seen) -> float:
        """By how much ops make the context larger than the program's own."""
        of = self.weights.of
        return of(one.added) + one.written - of(one.shortened) - of(one.hidden)

    def watched(self) -> Iterator[_Seen]:
        """Every op and cut."""
        thread, held = self.log.lens_thread, self.mine
        aside = thread is not None and not self.state.main(thread) and self.state.sidechain(thread) is None
        known: dict[Name, tuple[object, float]] = {}
        for what, state in history(self.state.transcript, self.state.ledger):
            place = bisect_left(self.rows, what.row if isinstance(what, Cut) else what.place)
            arrived = Ranges.span(1, self.path[place - 1]) if place else EMPTY
            out = held & Ranges.of(what.out) & arrived if isinstance(what, Cut) else None
            held = held if out is None else held - out
            kept = held & arrived if out is not None and len(out) * 2 > place else None
            shown = state.shown(thread)
            if aside:
                items = [name for name in shown.items if belongs(state, name, None, thread)]
                shown = Names(shown.numbers & self.mine, items)
            stubs = Names.of(name for name in state.board.stubs if name in shown)
            written = self._written(state, stubs | Names(items=shown.items), known)
            yield _Seen(
                place, *_called(what), (held - shown.numbers) & arrived, stubs.numbers & arrived,
                (shown.numbers - held) & arrived, written, out if kept is None else EMPTY, kept,
                self.stage(state, place),
            )  # fmt: skip

    def _written(self, state: State, names: Names, known: dict[Name, tuple[object, float]]) -> float:
        """Tokens of what ops wrote: items, and what messages were shortened to. `known`: what was counted before."""
        board = state.board
        made: dict[Name, object] = {name: board.items[name].message for name in names.items}
        made |= {name: board.stubs[name] for name in names if name in board.stubs}
        new = [name for name, words in made.items() if name not in known or known[name][0] is not words]
        if new:
            counting = Counting(self.log.seen_at(state))
            for name, tokens in zip(new, counting.base(new), strict=True):
                known[name] = made[name], self.weights.worth(name, tokens)
        return sum(known[name][1] for name in made)


def _path(state: State, thread: str | None) -> list[int]:
    """The messages that the program's own context ever had, as they came."""
    path = sorted(state.order_of(thread))
    if thread is None or state.main(thread) or state.sidechain(thread) is not None:
        return path
    return [n for n in path if belongs(state, n, None, thread)]


def _called(what: LedgerEntry | Cut) -> tuple[str, str, int | None]:
    """Kind, label, and number of the op."""
    if isinstance(what, Cut):
        return CUT, what.label, None
    label = what.op.label if isinstance(what.op, Mark) else None
    return what.name, label or "", what.number
