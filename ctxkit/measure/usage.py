"""Reads the usage that providers recorded in a log, of the newest requests of its own context, and calibrates by it.

A reply records the usage of its request. Compactions of the program split the requests into runs. Reasoning that leaves
the context with its exchange is counted apart. `measure/size.py` measures by this.
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
from ctxkit.tokens.reasoning import UNKNOWN, rule

TRIES, GAP = 8, 64
"""The search for usage ends after so many replies without any: TRIES at the newest end, GAP in a row after one with it.
Each reply costs a look at its rows. In recorded sessions at most two replies in a row lack a usage.
"""

REPLIES = 1000
"""The most replies that are read to find out which reasoning will leave with its exchange."""


class SentAgain(NamedTuple):
    """Tokens of the first request after a program's own compaction beyond the overhead and the messages, as measured on
    real sessions (docs/tokens.md): the median, and the most. `once`: they are in no row, and leave with a resume.
    """

    typical: int
    most: int
    once: bool


SENT_AGAIN = {"claude-code": SentAgain(11_900, 33_900, once=True), "codex": SentAgain(2_990, 13_300, once=False)}
"""Claude Code: 13 compactions, files that it reads again. Codex: 7, summaries that are encrypted in their row; after a
compaction between two turns also its instructions, which later rows have."""
OTHERS = SentAgain(0, 33_900, once=False)
"""Programs of which no compaction was measured."""
SPARE, BELOW = 1.25, 0.95
"""Factors on the most that was measured, and on what is sent at least: the smallest request was 2 % smaller."""
LEAST_ONCE = 1000
"""Below so many tokens, an error of the estimates and something that was sent again look the same."""


class RequestRun(NamedTuple):
    """Requests without a compaction between them.

    `held`: their messages, in order; `places`: of the newest counted replies among these; `steps`: the counts, one per
    place; `after`: a compaction that kept no message unchanged came before; `corrected`: an export wrote the newest
    count.
    """

    held: Sequence[int]
    places: Sequence[int]
    steps: Sequence[CountedRequest]
    after: bool
    corrected: bool


class RecordedUsage:
    """The recorded usage of a log: the newest counted requests of its own context, and the calibration by them."""

    def __init__(self, counting: Counting) -> None:
        self.counting = counting
        self.own = counting.log.own()
        """Messages of the log's own context, in order, without ctxkit's ops."""
        self.now, *self.earlier = self._runs()
        """The run since the program's newest compaction, and those before it, newest first."""
        self.steps = self.now.steps

    def _runs(self) -> Iterator[RequestRun]:
        """Yields the runs, newest first, until STEPS requests were found."""
        log, rows, cuts = self.counting.log, self.counting.log.state().transcript.row_of, _cuts(self.counting.log)
        made = [cut.row for cut in cuts]
        last = len(made)
        found = _recorded(log, self.own, cuts)
        yield self._run(self.own, found, last > 0 and not cuts[last - 1].moved)
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
            yield self._run(parts[part], found, part > 0 and not cuts[part - 1].moved)

    def _run(self, held: Sequence[int], found: Sequence[tuple[int, RequestUsage]], after: bool) -> RequestRun:
        messages, places = self.counting.log.state().messages, [place for place, _ in found]
        passes = (known := rule(self.counting.log.model)).turn or known is UNKNOWN
        steps: list[CountedRequest] = []
        if found:
            first, passing = places[0], 0
            base = list(self.counting.base_as_read(held[first:]))
            ends, following = [*places[1:], len(held)], [usage.request for _, usage in found[1:]]
            for (place, usage), end, later in zip_longest(found, ends, following):
                is_reply = self._sent(place, held, usage) == place
                since, beside = sum(base[place + 1 - first : end - first]), self._answers(held[place]) * is_reply
                passing += usage.passing
                shrank = later is not None and later < usage.request + usage.reply - passing / 2
                left = passing if shrank or (passes and _is_over(messages, held[place:end])) else 0
                passing -= left
                own = (base[place - first] - beside) * is_reply
                steps.append(CountedRequest(usage.request, usage.reply, own, since + beside, left, beside))
        return RequestRun(held, places, steps, after, bool(found) and found[-1][1].estimated)

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration by the steps of all runs."""
        runs = [run.steps for run in (*reversed(self.earlier), self.now)]
        return calibrate(runs, self.counting.counter.typical)

    @property
    def again(self) -> SentAgain:
        """What the log's program is known to send again after its compactions."""
        return SENT_AGAIN.get(self.counting.log.opening.format.name, OTHERS)

    @cached_property
    def resent(self) -> int:
        """Tokens that the program sends after its newest compaction without a row in the log, such as files that it
        reads again.

        Measured at the first request since, else at that after the compaction before; else what is typical.
        """
        runs = [self.now] if self.steps else self.earlier[:1]
        if self.overhead is None or (self.steps and not self.now.after):
            return 0
        for run in runs:
            first = _first(self.counting.log, run.held) if run.after else None
            if first is not None:
                return max(0, round(first[1].request - self.overhead - self._calibrated(run.held[: first[0]])))
        return 0 if self._begun else self.again.typical

    @property
    def once(self) -> int:
        """The part of `resent` that leaves with a resume."""
        return self.resent if self.again.once and self.resent >= LEAST_ONCE else 0

    def bounds(self, tokens: int) -> tuple[int | None, int | None]:
        """The least and the most tokens of the next request, if the context has `tokens` and nothing was counted since
        the compaction; else None.
        """
        if self.steps:
            return None, None
        sent, more = tokens - self.resent, SPARE * self.again.most
        return round(BELOW * max(0, sent - more * self._begun)), round(sent + more)

    @property
    def _begun(self) -> bool:
        """Whether the log begins with a compaction: then `overhead` has what was sent again there."""
        transcript = self.counting.log.state().transcript
        return any(one.row < transcript.row_of[0] for one in transcript.compactions)

    def _calibrated(self, numbers: Sequence[int]) -> float:
        """Tokens of messages as their rows have them, by the calibration. Replies include hidden thinking."""
        counted = zip(numbers, self.counting.base_as_read(numbers), strict=True)
        return sum((tokens * self.rate(n) for n, tokens in counted), 0.0)

    def rate(self, name: Name) -> float:
        """Tokens per token of the base in a message: replies and other messages have factors of their own."""
        replied = isinstance(name, int) and self.counting.log.state().messages[name - 1].role == "assistant"
        return self.calibration.outwards if replied else self.calibration.inwards

    @property
    def newest_count(self) -> int:
        """The provider's count up to the newest counted reply, with the reply if it was counted whole."""
        step = self.steps[-1]
        return step.request + (step.reply if self.calibration.whole(step) else 0)

    @cached_property
    def end(self) -> float:
        """Tokens of a request now with the messages up to the newest counted reply, overhead included."""
        if not self.steps:  # no request was counted since the newest compaction
            return float((self.overhead or 0) + self.resent)
        step = self.steps[-1]
        return self.calibration.after(step) - step.left + step.beside * self.calibration.inwards

    @cached_property
    def increments(self) -> Increments:
        """The tokens of each message up to the newest counted reply."""
        found = ((self._sent(place, self.own, usage), float(usage.request)) for place, usage in self.counted)
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
        """Tokens of a message of `known`, as the log's rows have it."""
        place = self.places[n]
        return self.increments.between(place, place + 1)

    def _sent(self, place: int, held: Sequence[int], usage: RequestUsage) -> int:
        """How many of `held` are in the request that was counted at `place`: a reply is not in its own request."""
        return place + (usage.whole or self.counting.log.state().messages[held[place] - 1].role != "assistant")

    def _weights(self, start: int, end: int) -> Sequence[float]:
        """Estimates the tokens of each message at these places of `own`."""
        numbers = self.own[start:end]
        counted = zip(numbers, self.counting.base_as_read(numbers), strict=True)
        found = [tokens * self.rate(n) for n, tokens in counted]
        if found and self.counting.log.state().messages[numbers[0] - 1].role == "assistant":
            usage = self.counting.log.usage(numbers[0])  # of a reply with thinking that no row shows
            if usage is not None:
                found[0] = max(found[0], float(usage.reply))
        return found

    def _around(self, place: int, request: float) -> float:
        """Tokens around the messages: the overhead, and what the program sent without a row in the log.

        `request`: tokens of the first counted request, which has the messages before `place`.
        """
        around = max(float(self.overhead or 0), floor(request - sum(self._weights(0, place))))
        return min(around, request)

    def _answers(self, n: int) -> int:
        """Tokens, by the base, of results inside a reply, which its request did not have."""
        message = self.counting.log.state().messages[n - 1]
        return self.counting.results_in(n) if message.results else 0

    @cached_property
    def overhead(self) -> int | None:
        """Tokens of a request that are no message's: system prompt, tools, reminders. None if no request was counted.

        Measured at the first request of the log or sidechain: later ones may have thinking that no row shows.
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
        """The messages up to and including the newest counted reply."""
        return self.own[: self.now.places[-1] + 1] if self.now.places else []


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
    """How many of `held` are in the first counted request, and its usage; None if none was counted."""
    replies = ((place, n) for place, n in enumerate(held) if log.state().messages[n - 1].role == "assistant")
    newest = zip(range(len(held) - 1, -1, -1), reversed(held[-TRIES:]), strict=False)
    found = chain(
        ((place + _whole(usage), usage) for place, n in islice(replies, TRIES) for usage in [log.usage(n)]),
        ((place + 1, log.noted(n)) for place, n in newest),
    )
    return next(((place, usage) for place, usage in found if usage is not None), None)


def _whole(usage: RequestUsage | None) -> bool:
    return usage is not None and usage.whole


def _is_over(messages: Sequence[Message], some: Sequence[int]) -> bool:
    """Whether an exchange ends with the first of these, a reply: it has no calls, and a user message follows."""
    return not messages[some[0] - 1].calls and any(messages[n - 1].role == "user" for n in some[1:])


def _recorded(log: OpenLog, held: Sequence[int], cuts: Sequence[ProgramCut]) -> list[tuple[int, RequestUsage]]:
    """Place in `held` and usage of the newest counted replies since the compactions in `cuts`, oldest first."""
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
    """Yields place in `held` and usage of counted replies since the compactions in `cuts`, newest first."""
    messages = log.state().messages
    bare, most, newest = 0, TRIES, 0
    for place in visibility(held, cuts, log.state().transcript.row_of):
        if bare >= most:
            return
        n = held[place]
        if messages[n - 1].role == "assistant":
            usage = log.usage(n)
            bare += 1
        elif most == TRIES and newest < TRIES:  # an export may have written the size of the context beside the newest
            usage = log.noted(n)
            newest += 1
        else:
            continue
        if usage is not None:
            bare, most = 0, GAP
            yield place, usage
