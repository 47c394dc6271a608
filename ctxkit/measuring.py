"""Measuring the size of a context: what its provider counted, where the log records that, and an estimate of the rest.

The newest request whose usage is recorded gives the size of the log's own context at that point, system prompt and
tools included; messages that came since, and what ops took out or brought in, are counted by the session's own
calibration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice

from ctxkit.core.context import Lens, listed, shown_names
from ctxkit.core.ledger import Ledger
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
        """Tokens of messages: replies by what replies come to, hidden thinking included, others by what they do."""
        messages, (inwards, outwards, _) = self.counting.log.messages, self.calibration
        found = self.counting.base_as_read(n for n in names if isinstance(n, int)) if as_read else None
        total = 0.0
        for name, tokens in zip(names, found or self.counting.base(names), strict=True):
            replied = isinstance(name, int) and messages[name - 1].role == "assistant"
            total += tokens * (outwards if replied else inwards)
        return total

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


def measure(counting: Counting, names: Sequence[Name]) -> Measured:
    """The size of the context `names`."""
    log = counting.log
    session = Session(counting) if counting.model == log.model else None
    if session is None or not session.steps:
        return _unmeasured(counting, names)
    overhead, worth = session.overhead, session.worth(session.known, as_read=True)
    if (overhead or 0) > LARGEST or session.after > MADE_OF * ((overhead or 0) + worth):
        return _unmeasured(counting, names)
    known, shown, stubbed = set(session.known), set(names), log.state().board.stubs.keys()
    came = session.worth([name for name in names if name not in known or name in stubbed])
    went = session.worth([n for n in session.known if n not in shown or n in stubbed], as_read=True)
    moved, error = round(came - went), session.calibration.error
    return Measured(
        tokens=max(0, session.after + moved),
        counter=_name(counting, session.calibration, session.known[-1], moved),
        known=session.after, at=session.known[-1], estimated=moved, overhead=overhead,
        error=None if error is None else round(100 * error, 2), trust="calibrated" if moved else "exact",
    )  # fmt: skip


def change(log: OpenedLog, after: State) -> Figures:
    """The context of `log`, and what it is in the state `after`, by one counter; before windows and filters."""
    before, counting = log.state(), Counting(log)
    shown, names = before.shown(), after.shown()
    one = measure(counting, list(shown_names(before)))
    other = measure(Counting(log.seen_at(after)), list(shown_names(after)))
    stubs = [name for name, stub in after.board.stubs.items() if before.board.stubs.get(name) != stub]
    return Figures(
        one.tokens, other.tokens, (other if other.estimated else one).counter, len(shown), len(shown - names),
        len(names - shown), sum(name in names and name in shown for name in stubs), 
        limit=log.config["limit"] or counting.limit,
    )  # fmt: skip


def _unmeasured(counting: Counting, names: Sequence[Name]) -> Measured:
    tokens, counter, known = counting.of(names), counting.counter, named(counting.model)
    own = counter.exact and (known.base, known.factor) == (counter.base, 1.0)
    return Measured(tokens, counter.name, trust="exact" if own else "guess")


def _name(counting: Counting, calibration: Calibration, at: int, moved: int) -> str:
    told = f"the provider's count at message {at}"
    if not moved:
        return told
    return f"{told}, then {_factor(counting, calibration)}"


def _factor(counting: Counting, calibration: Calibration) -> str:
    return f"{counting.counter.base} × {calibration.inwards:.2f} as this session has it"


def _own(log: OpenedLog) -> Sequence[int]:
    state = fold(log.transcript, Ledger([], {}, [])) if log.ledger.entries else log.state()
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
