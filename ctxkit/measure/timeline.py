"""Computes the size of a log's context over time, from recorded counts, cuts of the log's program, and ops.

`core/compare/timeline.py` puts the parts together; `status --plot` draws the timeline. If the provider counted the
session, only messages around cuts, those of ops, and those after the last count are counted here. So it costs about as
much as `status`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from ctxkit.core.board import Flags
from ctxkit.core.compare.timeline import Anchor, CutSize, Timeline, TimelineChange, course, own
from ctxkit.core.compare.window_timeline import HiddenByWindow, WindowStage, slid
from ctxkit.core.context import belongs, protected_steps, window_seconds
from ctxkit.core.derive.usage import RequestUsage
from ctxkit.core.item_names import Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.op_fit import adrift
from ctxkit.core.ops import Mark, Window
from ctxkit.core.replay import History
from ctxkit.core.sets.ranges import EMPTY, Ranges
from ctxkit.core.state import State
from ctxkit.core.transcript import ProgramCut
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.per_op import RunningTotal
from ctxkit.measure.size import Measuring

SAMPLES = 24
"""If none of so many newest replies, and of as many spread over the log, has a usage, the log counts as having none."""
DIGITS = 6
"""Digits of a difference of two sums that are kept: the others are what adding up in another order makes."""
EXACT = 8
"""How many of the newest ops at the end of a log are measured as `status` does."""
CUT, HIDDEN = "cut", "hidden"
"""Kinds of events that are not ops: a cut of the log's own program; what a filter hides at the end."""


class _Step(NamedTuple):
    """An op or cut, behind `place` messages of the path. `delta`: tokens by which the context is larger from here on
    than the program's own; of a cut its `size`.
    """

    what: LedgerEntry | ProgramCut
    place: int
    delta: float
    size: CutSize | None


def plotted(log: OpenLog, *, around: int = 0, limit: int | None = None) -> Timeline:
    """Computes the timeline of the context of `log`, before filters. What filters hide now is the last event.

    `around`: tokens around the messages; `limit`: in tokens. Raises what `state` raises.
    """
    plot = _Plot(log)
    steps, stages = plot.steps()
    hidden = plot.hidden_by_windows(stages)
    cuts = [one.size for one in steps if one.size is not None]
    own_course = own(plot.sizes, plot.anchors, cuts, plot.weigh)
    order = {id(one): k for k, one in enumerate(cuts)}
    changes = [
        TimelineChange(one.place, *_called(one.what), one.delta, order.get(id(one.size)), less)
        for one, less in zip(steps, hidden.starts[1:] or [0.0] * len(steps), strict=True)
    ]
    end = own_course.values[-1] if own_course.values else 0.0
    if cuts and cuts[-1].place == len(plot.path):
        end = own_course.cuts[-1][1]
    if not plot.anchors or plot.measured.trust != "guess":
        filtered = log.lens_agent is not None or log.projection().newest is not None
        left = plot.measured.tokens - end
        if not filtered:
            _correct_end(plot, changes, end)
        changes.append(TimelineChange(len(plot.path), HIDDEN if filtered else "", "", None, left))
    return course(
        plot.path, own_course, changes, plot.anchors, around=around, limit=limit, counter=plot.measured.counter,
        model=plot.counting.model, slid=hidden.behind,
    )  # fmt: skip


def _correct_end(plot: _Plot, changes: list[TimelineChange], whole: float) -> None:
    """Sets the sizes after the ops at the end of the log to those of `status`, which are not always the sum of the
    messages. Corrects the newest op that changed the context; the newest `EXACT` of these if a provider counted.

    `whole`: tokens of the program's own context at the end.
    """
    end, most, looked, before = len(plot.path), EXACT if plot.anchors else 1, 0, None
    for k in reversed(range(len(changes))):
        change = changes[k]
        if change.place != end or change.slid or looked == most:
            return
        old = changes[k - 1].delta if k else 0.0
        if change.delta != before:  # the newest of changes with the same size; the others of these come next
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


class _Plot:
    """The parts of the timeline of one log."""

    def __init__(self, log: OpenLog) -> None:
        self.log, self.state, self.counting = log, log.state(), Counting(log)
        self.measuring = Measuring(self.counting)
        self.measured = self.measuring.of(log.listed())
        self.path = _path(self.state, log.lens_thread)
        self.mine = Ranges.of(self.path)
        self._flags: Flags | None = None
        self._guarded = EMPTY
        """Messages of the path that no window hides, as they are protected."""
        messages = self.state.messages
        self.sizes = [messages[n - 1].bytes for n in self.path]

    @cached_property
    def windows(self) -> bool:
        """Whether a window was ever set."""
        ops = any(isinstance(entry.op, Window) for entry in self.state.ledger.entries)
        return ops or any(self.log.projection().windows.values())

    def seconds(self, state: State) -> dict[str | None, int]:
        """Agent -> window in seconds."""
        projection = self.log.projection()
        return {
            agent: window_seconds(state, projection, agent) for agent in (None, *state.windows, *projection.windows)
        }

    def hidden_by_windows(self, stages: Sequence[WindowStage]) -> HiddenByWindow:
        """What windows hid at each stage; nothing if there are no windows."""
        if not self.windows:
            return HiddenByWindow([], [])
        messages = self.state.messages
        moments = [self.state.effective(n) for n in self.path]
        agents = [messages[n - 1].agent for n in self.path]
        return slid(self.path, moments, agents, self.weigh(0, len(self.path)), stages)

    @cached_property
    def usages(self) -> dict[int, RequestUsage]:
        """Place in the path -> what the provider counted; empty if the usage is not of this context."""
        log, messages = self.log, self.state.messages
        if not self.measuring.is_calibrated:
            return {}
        replies = [place for place, n in enumerate(self.path) if messages[n - 1].role == "assistant"]
        spread = replies[:: max(1, len(replies) // SAMPLES)]
        if not any(log.usage(self.path[place]) for place in (*replies[-SAMPLES:], *spread)):
            return {}
        found = ((place, log.usage(self.path[place])) for place in replies)
        return {place: usage for place, usage in found if usage is not None}

    @cached_property
    def anchors(self) -> dict[int, Anchor]:
        """Place in the path -> the recorded sizes there."""
        found = {place: Anchor(usage.request, usage.request + usage.reply) for place, usage in self.usages.items()}
        last, newest = max(found, default=-1), self.measuring.newest
        if newest is not None and found and self.path[last] == newest[0]:
            found[last] = Anchor(found[last].request, newest[1])
        return found

    def weigh(self, start: int, end: int) -> Sequence[float]:
        """Tokens of each message at these places of the path."""
        return self.measuring.as_read(self.path[start:end])

    def seen(self, state: State, names: Names) -> Names:
        """Those of `names` that the context shows."""
        thread = self.log.lens_thread
        found = state.shown(thread, names)
        if thread is None or state.main(thread) or state.sidechain(thread) is not None:
            return found
        items = [name for name in found.items if belongs(state, name, None, thread)]
        return Names(found.numbers & self.mine, items)

    def steps(self) -> tuple[list[_Step], list[WindowStage]]:
        """Every op and cut, and what windows can hide before all of them and after each."""
        state, row_of = self.state, self.state.transcript.row_of
        history = History(state.transcript, state.ledger, adrift(state.ledger.entries))
        rows = [row_of[n - 1] for n in self.path]
        shown = RunningTotal(self.measuring, self.seen)
        shown.begin(history.state)
        held, tokens = self.mine, 0.0  # what the program's own context holds
        steps, stages = list[_Step](), [self.stage(0, history.state, Names(self.mine))]
        for _, _, what in history.events:
            cut = what if isinstance(what, ProgramCut) else None
            place, before = bisect_left(rows, what.place if isinstance(what, LedgerEntry) else what.row), shown.count
            shown.reach(history.state, self.path[place - 1] if place else 0)
            there, size = Ranges.span(1, shown.count), None
            tokens += shown.weigh(state, held & Ranges.span(before + 1, shown.count))
            if cut is not None:
                out = held & Ranges.of(cut.out) & there
                held, taken = held - out, shown.weigh(state, out)
                tokens -= taken
                most = len(out) * 2 > place
                size = CutSize(place, 0.0 if most else taken, shown.weigh(state, held & there) if most else None)
            changed = history.play(what)
            shown.update(history.state, changed)
            steps.append(_Step(what, place, round(shown.tokens - tokens, DIGITS), size))
            stages.append(self.stage(place, history.state, changed))
        return steps, stages

    def stage(self, place: int, state: State, changed: Names) -> WindowStage:
        """What windows can hide from here on, of what `changed`; and of what became protected, or no longer."""
        if not self.windows:
            return WindowStage(place, EMPTY, EMPTY, {})
        numbers, flags = changed.numbers & self.mine, (state.board.protected, state.board.unprotected)
        if flags != self._flags:
            kept = Names(Ranges.span(1, state.preamble)) - flags[1] | protected_steps(state)
            before, self._flags, self._guarded = self._guarded, flags, kept.numbers & self.mine
            numbers |= (before - self._guarded) | (self._guarded - before)
        hideable = self.seen(state, Names(numbers)).numbers - self._guarded
        return WindowStage(place, numbers - hideable, hideable, self.seconds(state))


def _path(state: State, thread: str | None) -> list[int]:
    """All messages that were ever in the program's own context, in the order in which they came."""
    path = sorted(state.order_of(thread))
    if thread is None or state.main(thread) or state.sidechain(thread) is not None:
        return path
    return [n for n in path if belongs(state, n, None, thread)]


def _called(what: LedgerEntry | ProgramCut) -> tuple[str, str, int | None]:
    """Kind and label of an event, and the number of the op."""
    if isinstance(what, ProgramCut):
        return CUT, what.label, None
    label = what.op.label if isinstance(what.op, Mark) else None
    return what.name, label or "", what.number
