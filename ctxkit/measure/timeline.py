"""What the course of a log's context is made of, read off the log: counts, cuts of its program, ops.

`core/compare/timeline.py` puts it together; `status --plot` draws it. Of a session that its provider counted, only
messages around cuts, of ops, and behind the last count are counted here, so that it costs about what `status` costs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

from ctxkit.core.compare.before_after import ContextOverTime, Transition
from ctxkit.core.compare.timeline import Anchor, CutSize, Timeline, TimelineChange, course, own
from ctxkit.core.compare.window_timeline import HiddenByWindow, WindowStage, slid
from ctxkit.core.context import Entry, belongs, window_seconds
from ctxkit.core.derive.usage import RequestUsage
from ctxkit.core.item_names import Name
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import Mark, Window
from ctxkit.core.sets.ranges import EMPTY, Ranges
from ctxkit.core.state import State
from ctxkit.core.transcript import ProgramCut
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.per_op import as_shown
from ctxkit.measure.size import Measuring

SAMPLES = 24
"""Replies from the newest on, and as many spread over the log: where none of them has a usage, none is taken to."""
EXACT = 8
"""Ops at the end of a log, from the newest on, whose contexts are measured as `status` does."""
CUT, HIDDEN = "cut", "hidden"
"""Kinds of events that are no ops: of the log's own program; and what a filter hides at the end."""


class _Seen(NamedTuple):
    """A turn of the context's, and the tokens of what it shows behind that in words of ops."""

    turn: Transition
    written: float
    stage: WindowStage


def plotted(log: OpenLog, *, around: int = 0, limit: int | None = None) -> Timeline:
    """The course of the context of `log`, before filters; what these hide now is the last event.

    `around`: tokens that stand around the messages; `limit`: in tokens. Raises what `state` raises.
    """
    plot = _Plot(log)
    seen = list(plot.watched())
    needed = chain.from_iterable(numbers.pairs() for one in seen for numbers in _sets(one.turn))
    plot.weights.know(Ranges(chain(needed, plot.mine.pairs() if plot.windows else ())))
    hidden = plot.slid([one.stage for one in seen])
    turns = [one.turn for one in seen]
    cuts = [turn for turn in turns if turn.out is not None]
    of = plot.weights.of
    taking = [CutSize(one.place, of(one.out or EMPTY), None if one.left is None else of(one.left)) for one in cuts]
    own_course = own(plot.sizes, plot.anchors, taking, plot.weigh)
    order = {id(one): k for k, one in enumerate(cuts)}
    beside = accumulate(sum(map(of, one.more)) - sum(map(of, one.less)) for one in turns)
    changes = [
        TimelineChange(one.turn.place, *_called(one.turn.what), delta + one.written, order.get(id(one.turn)), less)
        for one, delta, less in zip(seen, beside, hidden.starts[1:] or [0.0] * len(seen), strict=True)
    ]  # fmt: skip
    end = own_course.values[-1] if own_course.values else 0.0
    if cuts and cuts[-1].place == len(plot.path):
        end = own_course.cuts[-1][1]
    if not plot.anchors or plot.measured.trust != "guess":
        filtered = log.lens_agent is not None or log.projection().newest is not None
        left = plot.measured.tokens - end
        if not filtered:
            _settle(plot, changes, end)
        changes.append(TimelineChange(len(plot.path), HIDDEN if filtered else "", "", None, left))
    return course(
        plot.path, own_course, changes, plot.anchors, around=around, limit=limit, counter=plot.measured.counter,
        model=plot.counting.model, slid=hidden.behind,
    )  # fmt: skip


def _settle(plot: _Plot, changes: list[TimelineChange], whole: float) -> None:
    """Set what stands right behind ops at the end of the log to what `status` says of the context there: the whole is
    not always the sum of its messages. The newest op that changed the context is looked at; where a provider counted,
    the newest `EXACT`.

    `whole`: tokens of the program's own context at the end.
    """
    end, most, looked, before = len(plot.path), EXACT if plot.anchors else 1, 0, None
    for k in reversed(range(len(changes))):
        change = changes[k]
        if change.place != end or change.slid or looked == most:
            return
        old = changes[k - 1].delta if k else 0.0
        if change.delta != before:  # the newest of those with one figure; the others come next
            before, here = change.delta, k
        if change.delta == old or change.op is None:
            continue
        if looked:
            seen = plot.log.seen_at(str(change.op))
            left = Measuring(Counting(seen)).of(seen.listed()).tokens - whole
        else:
            left = plot.measured.tokens - whole
        changes[k : here + 1] = [one._replace(delta=left) for one in changes[k : here + 1]]
        looked += 1


def _sets(turn: Transition) -> Iterable[Ranges]:
    return *turn.more, *turn.less, turn.out or EMPTY, turn.left or EMPTY


class _Weights:
    """Tokens of messages as their rows have them, and of sets of them by sums up to each."""

    def __init__(self, measuring: Measuring) -> None:
        self.measuring = measuring
        self._numbers: list[int] = []
        self._sums: list[float] = [0.0]

    def know(self, numbers: Ranges) -> None:
        """These will be asked for."""
        self._numbers = list(numbers)
        self._sums = list(accumulate(self.measuring.as_read(self._numbers), initial=0.0))

    def of(self, numbers: Ranges) -> float:
        """Of all these, which `know` was told."""
        found = 0.0
        for low, high in numbers.pairs():
            found += self._sums[bisect_left(self._numbers, high + 1)] - self._sums[bisect_left(self._numbers, low)]
        return found


class _Plot:
    """What is read off one log."""

    def __init__(self, log: OpenLog) -> None:
        self.log, self.state, self.counting = log, log.state(), Counting(log)
        self.measuring = Measuring(self.counting)
        self.measured = self.measuring.of(log.listed())
        self.path = _path(self.state, log.lens_thread)
        self.mine = Ranges.of(self.path)
        messages = self.state.messages
        self.sizes = [messages[n - 1].bytes for n in self.path]

    @cached_property
    def windows(self) -> bool:
        """Whether any window was ever set."""
        ops = any(isinstance(entry.op, Window) for entry in self.state.ledger.entries)
        return ops or any(self.log.projection().windows.values())

    @cached_property
    def contrast(self) -> ContextOverTime:
        """Its context, op by op, beside the program's own."""
        return ContextOverTime(self.state, self.path, self.log.lens_thread, windows=self.windows)

    def seconds(self, state: State) -> dict[str | None, int]:
        """The windows there are, by agent."""
        projection = self.log.projection()
        return {
            agent: window_seconds(state, projection, agent) for agent in (None, *state.windows, *projection.windows)
        }

    def slid(self, stages: Sequence[WindowStage]) -> HiddenByWindow:
        """What windows hid; nothing where there is none."""
        if not self.windows:
            return HiddenByWindow([], [])
        messages = self.state.messages
        moments = [self.state.effective(n) for n in self.path]
        agents = [messages[n - 1].agent for n in self.path]
        first = WindowStage(0, self.contrast.screened, EMPTY, self.seconds(self.state.afresh()))
        return slid(self.path, moments, agents, self.weigh(0, len(self.path)), [first, *stages], self.weights.of)

    @cached_property
    def usages(self) -> dict[int, RequestUsage]:
        """Place in the path -> what the provider counted; nothing where that says nothing of this context."""
        log, messages = self.log, self.state.messages
        if not self.measuring.is_taught:
            return {}
        replies = [place for place, n in enumerate(self.path) if messages[n - 1].role == "assistant"]
        spread = replies[:: max(1, len(replies) // SAMPLES)]
        if not any(log.usage(self.path[place]) for place in (*replies[-SAMPLES:], *spread)):
            return {}
        found = ((place, log.usage(self.path[place])) for place in replies)
        return {place: usage for place, usage in found if usage is not None}

    @cached_property
    def weights(self) -> _Weights:
        """Of its messages."""
        return _Weights(self.measuring)

    @cached_property
    def anchors(self) -> dict[int, Anchor]:
        """Place in the path -> what is known there."""
        found = {place: Anchor(usage.request, usage.request + usage.reply) for place, usage in self.usages.items()}
        last, newest = max(found, default=-1), self.measuring.newest
        if newest is not None and found and self.path[last] == newest[0]:
            found[last] = Anchor(found[last].request, newest[1])
        return found

    def weigh(self, start: int, end: int) -> Sequence[float]:
        """Of each message at these places of the path."""
        return self.measuring.as_read(self.path[start:end])

    def watched(self) -> Iterator[_Seen]:
        """Every op and cut."""
        shown: dict[Name, float] = {}
        known: dict[Hashable, float] = {}
        written, seconds = 0.0, dict[str | None, int]()
        for turn in self.contrast:
            for name in turn.unwrote:
                written -= shown.pop(name)
            for one, tokens in zip(turn.wrote, self._written(turn.wrote, known), strict=True):
                shown[one.name] = tokens
                written += tokens
            if self.windows:
                seconds = self.seconds(self.contrast.walk.state)
            yield _Seen(turn, written, WindowStage(turn.place, turn.screened, turn.open, seconds))

    def _written(self, some: Sequence[Entry], known: dict[Hashable, float]) -> list[float]:
        """Tokens of each of these, which ops wrote: items, and what messages were shortened to. `known`: as counted
        before.
        """
        keys = [(one.name, *as_shown(one)) for one in some]
        new = [(key, one) for key, one in zip(keys, some, strict=True) if key not in known]
        if new:
            counted = self.measuring.entries([one for _, one in new])
            for (key, _), tokens in zip(new, counted, strict=True):
                known[key] = tokens
        return [known[key] for key in keys]


def _path(state: State, thread: str | None) -> list[int]:
    """The messages that the program's own context ever had, as they came."""
    path = sorted(state.order_of(thread))
    if thread is None or state.main(thread) or state.sidechain(thread) is not None:
        return path
    return [n for n in path if belongs(state, n, None, thread)]


def _called(what: LedgerEntry | ProgramCut) -> tuple[str, str, int | None]:
    """Kind, label, and number of the op."""
    if isinstance(what, ProgramCut):
        return CUT, what.label, None
    label = what.op.label if isinstance(what.op, Mark) else None
    return what.name, label or "", what.number
