"""Makes an export fit a budget as a whole.

`Log.fit` makes the context fit. The export of it may be larger: results added for calls without one, divided messages,
rows that a program needs; and no provider has counted it. So the export is read again like any file, counted by the
counter alone, and the context is cut further until the export fits too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from ctxkit.core import assembly
from ctxkit.core.context import NO_PROJECTION, listed
from ctxkit.core.derive.usage import Figures
from ctxkit.cut.enforce import fit
from ctxkit.cut.trim import OTHER_WAYS, TrimRequest
from ctxkit.errors import DoesNotFit
from ctxkit.export.request import Exported
from ctxkit.formats.base import Written
from ctxkit.logfile.commit import WritableLog
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import read
from ctxkit.measure.count import Counting
from ctxkit.measure.overhead import tokens_of, tools_of
from ctxkit.measure.size import measure
from ctxkit.settings.config import FLAG
from ctxkit.store.source import Source

L = TypeVar("L", bound=WritableLog)
T = TypeVar("T", bound=Exported | Written)

TRIES, NEAR = 8, 0.95
"""How many budgets of the context are tried if its export is too large, and the share of the budget that is enough."""


def within(
    log: L, asked: TrimRequest, make: Callable[[L], T], origin: str = FLAG, *, recounted: bool = False
) -> tuple[L, T]:
    """The export that `make` writes of `log`, cut as `asked`, and the log with the cut context.

    `origin`: who asks for it; `recounted`: the replies in the export have recounted usage, which has to fit too.
    Raises DoesNotFit, and what `make` and `Log.fit` raise.
    """
    budget = asked.budget if isinstance(asked.budget, int) else 0

    def attempt(room: int | str | None) -> tuple[L, T, int, Figures]:
        seen = log.seen_at(log.state())
        seen.noticed = list(log.noticed)
        figures = fit(seen, structs.replace(asked, budget=room), origin, budget)
        made = _in_memory(make(seen))
        return seen, made, _size(log, made, recounted=recounted), figures

    seen, made, size, figures = attempt(asked.budget)
    budget = figures.budget or 0
    if size <= budget:
        return seen, made
    first, found, best = size, None, figures
    high, low = min(budget, figures.after), None  # high: its export is too large; low: it fits, or nothing fits low
    room = high - (size - budget)
    for _ in range(TRIES):
        try:
            seen, made, size, figures = attempt(room)
        except DoesNotFit:
            low = room
        else:
            if size > budget:
                high = min(room, figures.after)
            else:
                found, low, best = (seen, made), room, figures
                if size >= NEAR * budget:
                    break
        room = high - (size - budget) if low is None else (low + high) // 2
        if low is not None and high - low <= max(1, budget // 100):
            break
    if found is None:
        what = f"{first:,} tokens, as it is written, do not fit into {budget:,}"
        raise DoesNotFit(f"{what}: nothing was written", OTHER_WAYS)
    log.tell(structs.replace(best, budget=budget))  # not the figures of other tries
    return found


def _in_memory(made: T) -> T:
    """Read the bytes into memory, because they are counted before they are printed."""
    if isinstance(made, Written):
        made.pieces = list(made.pieces)
    return made


def _size(log: OpenLog, made: Exported | Written, *, recounted: bool) -> int:
    """Tokens of an export, read as a file of its own: from the usage in its replies if they were recounted, else by
    the counter of `log`, with what is sent besides.
    """
    counting = Counting(log)
    opening = read(Source("export", b"".join(made.pieces)))
    other = OpenLog(opening, log.config.given({"model": counting.model}), clock=log.clock)
    other.cache_folder, state = log.cache_folder, other.state()
    status = assembly.status(state, NO_PROJECTION, other.text)  # chat lines may have threads, and so a status
    counted = Counting(other).of(listed(state)) + counting.of_texts([status] if status else [])
    alone = counted + tokens_of(counting, tools_of(log)) + int(log.config["overhead"])
    if not recounted:
        return alone
    own = OpenLog(opening, log.config, clock=log.clock)
    own.cache_folder = log.cache_folder
    measured = measure(Counting(own), listed(own.state()))
    return measured.resumed if measured.is_counted else alone
