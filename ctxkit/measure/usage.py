"""What providers counted of a log: the newest requests of its own context whose usage is recorded, to learn by.

Replies name their usage; compactions of the program part them into stretches, reasoning that passes with its exchange
is told apart. `measure/size.py` tells sizes by it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, zip_longest
from math import floor
from typing import NamedTuple

from ctxkit.core.derive.usage import RequestUsage
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Message
from ctxkit.core.transcript import ProgramCut, View, visibility
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.increments import Increments
from ctxkit.tokens.calibration import STEPS, Calibration, CountedRequest, calibrate

TRIES, GAP = 8, 64
"""Replies without a recorded usage after which none is looked for: from the newest on, and in a row before one that has
it. Each costs a look at its rows; between the counted replies of recorded sessions at most two such stand in a row.
"""

REPLIES = 1000
"""Replies that are looked at to learn what of an exchange's reasoning will leave."""


class RequestRun(NamedTuple):
    """Requests without a compaction between them. `held`: their messages, in order; `places`: of the newest counted
    replies among these; `steps`: what was counted, a step a place. `after`: a compaction came before it, from which
    nothing was kept as it was. `retold`: the newest count is what an export made of it.
    """

    held: Sequence[int]
    places: Sequence[int]
    steps: Sequence[CountedRequest]
    after: bool
    retold: bool


class RecordedUsage:
    """A log's usage: the newest requests of its own context that were counted, and what they say of the counter."""

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self.own = counting.log.own()
        """Messages of the log's own context, before any op of ctxkit's, in order."""
        self.now, *self.earlier = self._stretches()
        """Since the newest compaction that the program made, and what was before it, newest first."""
        self.steps = self.now.steps

    def _stretches(self) -> Iterator[RequestRun]:
        """The newest first, until STEPS requests were found."""
        log, rows, cuts = self.counting.log, self.counting.log.state().transcript.row_of, _cuts(self.counting.log)
        made = [cut.row for cut in cuts]
        last = len(made)
        found = _recorded(log, self.own, cuts)
        yield self._stretch(self.own, found, last > 0 and not cuts[last - 1].moved)
        if not last:
            return
        first = rows[self.own[found[0][0]] - 1] if found else log.state().transcript.rows
        parts: list[list[int]] = [[] for _ in range(last)]
        for n in _path(log):
            if (part := bisect_right(made, rows[n - 1])) < last and rows[n - 1] < first:
                parts[part].append(n)
        left = STEPS - len(found)
        for part in range(last - 1, -1, -1):
            found = _recorded(log, parts[part], ())[-left:] if left > 0 else []
            left -= len(found)
            if not found:
                return
            yield self._stretch(parts[part], found, part > 0 and not cuts[part - 1].moved)

    def _stretch(self, held: Sequence[int], found: Sequence[tuple[int, RequestUsage]], after: bool) -> RequestRun:
        messages, places = self.counting.log.state().messages, [place for place, _ in found]
        steps: list[CountedRequest] = []
        if found:
            first, passing = places[0], 0
            base = list(self.counting.base_as_read(held[first:]))
            ends, following = [*places[1:], len(held)], [usage.request for _, usage in found[1:]]
            for (place, usage), end, later in zip_longest(found, ends, following):
                is_reply = self._asks(place, held) == place
                since, beside = sum(base[place + 1 - first : end - first]), self._answers(held[place]) * is_reply
                passing += usage.passing
                shrank = later is not None and later < usage.request + usage.reply - passing / 2
                left = passing if shrank or _is_over(messages, held[place:end]) else 0
                passing -= left
                own = (base[place - first] - beside) * is_reply
                steps.append(CountedRequest(usage.request, usage.reply, own, since + beside, left, beside))
        return RequestRun(held, places, steps, after, bool(found) and found[-1][1].estimated)

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
        if not self.earlier or not self.earlier[0].after or self.overhead is None:
            return 0
        held = self.earlier[0].held
        first = _first(self.counting.log, held)
        if first is None:
            return 0
        return max(0, round(first[1].request - self.overhead - self.worth(held[: first[0]], as_read=True)))

    def worth(self, names: Sequence[Name], *, as_read: bool = False) -> float:
        """Tokens of messages, by the calibration: in replies hidden thinking is included."""
        found = self.counting.base_as_read(n for n in names if isinstance(n, int)) if as_read else None
        counted = zip(names, found or self.counting.base(names), strict=True)
        return sum((tokens * self.rate(name) for name, tokens in counted), 0.0)

    def rate(self, name: Name) -> float:
        """Tokens to one of the base, in a message: replies by what replies come to, others by what they do."""
        return rate(self.counting.log, self.calibration, name)

    @property
    def told(self) -> int:
        """What the provider counted up to the newest counted reply, itself included where it was counted whole."""
        step = self.steps[-1]
        return step.request + (step.reply if self.calibration.whole(step) else 0)

    @cached_property
    def end(self) -> float:
        """Tokens of the messages up to the newest counted reply, with all that is sent besides, in a request now."""
        if not self.steps:  # a compaction came after all that was counted
            return float((self.overhead or 0) + self.resent)
        step = self.steps[-1]
        return self.calibration.after(step) - step.left + step.beside * self.calibration.inwards

    @cached_property
    def increments(self) -> Increments:
        """What each message up to the newest counted reply comes to."""
        found = ((self._asks(place, self.own), float(usage.request)) for place, usage in self.counted)
        return Increments(
            (len(self.known), self.end), found, self._weights, self._around, lambda: float(self.overhead or 0)
        )

    @property
    def counted(self) -> Iterator[tuple[int, RequestUsage]]:
        """Place in `own` and usage of each counted reply since the program's newest compaction, newest first."""
        return _counted(self.counting.log, self.own, _cuts(self.counting.log))

    @cached_property
    def places(self) -> Mapping[int, int]:
        """Number -> place in `known`."""
        return {n: place for place, n in enumerate(self.known)}

    def size(self, n: int) -> float:
        """Tokens of a message of `known`, as its rows have it."""
        place = self.places[n]
        return self.increments.between(place, place + 1)

    def _asks(self, place: int, held: Sequence[int]) -> int:
        """How many of `held` the request has that was counted there: a reply is none of its own."""
        return place + (self.counting.log.state().messages[held[place] - 1].role != "assistant")

    def _weights(self, start: int, end: int) -> Sequence[float]:
        """Of each message at these places of `own`, an estimate."""
        numbers = self.own[start:end]
        counted = zip(numbers, self.counting.base_as_read(numbers), strict=True)
        found = [tokens * self.rate(n) for n, tokens in counted]
        if found and self._asks(start, self.own) == start:
            usage = self.counting.log.usage(numbers[0])  # a reply, that hides thinking which no row shows
            if usage is not None:
                found[0] = max(found[0], float(usage.reply))
        return found

    def _around(self, place: int, request: float) -> float:
        """Tokens around the messages, where the first request that was counted, of those before `place`, had so many:
        the overhead, and what the program sent without a row that says so.
        """
        around = max(float(self.overhead or 0), floor(request - sum(self._weights(0, place))))
        return min(around, request)

    def _answers(self, n: int) -> int:
        """Tokens of the base of results that a reply has in itself, which its request did not have."""
        message = self.counting.log.state().messages[n - 1]
        return self.counting.results_in(n) if message.results else 0

    @cached_property
    def overhead(self) -> int | None:
        """What the provider counted beyond messages: system prompt, tools, reminders.

        Learnt from the first request of the log, of a sidechain from its own: later ones may hold thinking that no row
        shows.
        """
        state = self.counting.log.state()
        side = state.sidechain(self.counting.log.lens_thread)
        every: Sequence[int] = range(1, len(state.messages) + 1) if side is None else side.order
        first = _first(self.counting.log, every)
        if first is None:
            return None
        place, usage = first
        held = sum(self.counting.base_as_read(every[:place])) * self.calibration.inwards
        return max(0, round(usage.request - held))

    @property
    def known(self) -> Sequence[int]:
        """The messages up to the newest counted reply, itself included."""
        return self.own[: self.now.places[-1] + 1] if self.now.places else []


def rate(log: OpenLog, calibration: Calibration, name: Name) -> float:
    """Tokens to one of the base, in a message of `log`, as `calibration` has it."""
    replied = isinstance(name, int) and log.state().messages[name - 1].role == "assistant"
    return calibration.outwards if replied else calibration.inwards


def _view(log: OpenLog) -> View | None:
    view = log.state().transcript.view
    return view.threads.get(log.lens_thread or "", view) if view is not None else None


def _cuts(log: OpenLog) -> list[ProgramCut]:
    view = _view(log)
    return view.cuts if view is not None else []


def _path(log: OpenLog) -> Sequence[int]:
    view = _view(log)
    return view.order if view is not None else ()


def _first(log: OpenLog, held: Sequence[int]) -> tuple[int, RequestUsage] | None:
    """How many of `held` the first request had that was counted, and its usage."""
    replies = ((place, n) for place, n in enumerate(held) if log.state().messages[n - 1].role == "assistant")
    newest = zip(range(len(held) - 1, -1, -1), reversed(held[-TRIES:]), strict=False)
    found = chain(
        ((place, log.usage(n)) for place, n in islice(replies, TRIES)),
        ((place + 1, log.noted(n)) for place, n in newest),
    )
    return next(((place, usage) for place, usage in found if usage is not None), None)


def _is_over(messages: Sequence[Message], some: Sequence[int]) -> bool:
    """Whether an exchange ends with the first of these, a reply: no call is open, and the user goes on."""
    return not messages[some[0] - 1].calls and any(messages[n - 1].role == "user" for n in some[1:])


def _recorded(log: OpenLog, held: Sequence[int], cuts: Sequence[ProgramCut]) -> list[tuple[int, RequestUsage]]:
    """Place in `held` and usage of the newest replies that have one, oldest first; none from before a compaction among
    `cuts`.
    """
    messages = log.state().messages
    found: list[tuple[int, RequestUsage]] = []
    for place, usage in _counted(log, held, cuts):
        if len(found) >= REPLIES:
            break
        if len(found) >= STEPS:
            before = found[-1][0]
            asked = any(messages[held[at] - 1].role == "user" for at in range(place + 1, before))
            if not found[0][1].passing or asked:
                break
        found.append((place, usage))
    return found[::-1]


def _counted(log: OpenLog, held: Sequence[int], cuts: Sequence[ProgramCut]) -> Iterator[tuple[int, RequestUsage]]:
    """The same, newest first, as far as is asked for."""
    messages = log.state().messages
    bare, most, newest = 0, TRIES, 0
    for place in visibility(held, cuts, log.state().transcript.row_of):
        if bare >= most:
            return
        n = held[place]
        if messages[n - 1].role == "assistant":
            usage = log.usage(n)
            bare += 1
        elif most == TRIES and newest < TRIES:  # of the newest an export may have told the context
            usage = log.noted(n)
            newest += 1
        else:
            continue
        if usage is not None:
            bare, most = 0, GAP
            yield place, usage
