"""Summarizes what a trim drops (the config's `trim.summarize`), if a summary fits beside what stays.

`Log` passes it to `cut/trim.py`. The op is then a compact that fits the budget. Its summary takes the place of the
first dropped message, and tells anew what the summaries tell that a trim would shorten. If messages that it covers are
forgotten, it is made again without them, or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import structs

from ctxkit.core.item_names import ItemName, Names
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact, LogPosition
from ctxkit.core.strategies import GIVEN, RULES
from ctxkit.cut.rank.candidates import guarded, originals
from ctxkit.cut.summarize.extraction import extract
from ctxkit.cut.trim import Trimming, TrimSummary
from ctxkit.cut.units.text_segments import all_pieces
from ctxkit.errors import DoesNotFit
from ctxkit.measure.count import PER_MESSAGE, Counting

ROOM = 0.15
"""The least share of the budget for the summary."""
TRIES = 3


Write = Callable[[Sequence[Content], int], str | None]
"""Called with messages, and the most tokens of their summary by the counter's base; returns it, None for none."""


def summarize_dropped(found: Trimming, write: Write | None = None) -> TrimSummary | None:
    """Makes a trim with a summary that fits the budget of `found`; None if there is no room for a summary.

    `write`: writes the summary (default: by rules).
    """
    log, state, budget = found.log, found.state, found.budget
    less = Trimming(log, structs.replace(found.asked, budget=int((1 - ROOM) * budget)))
    try:
        made = less.plan()
    except DoesNotFit:
        return None
    told = [name for name in made.stubs if found.summarized(name)]
    ids = originals(state, Names.of([*made.dropped, *told]), guarded(state))
    if not ids:
        return None
    contents = [(name, log.original(name)) for name in sorted(ids, key=state.key)]
    pieces = all_pieces(contents) if write is None else []
    room = budget - less.after(made) + sum(less.left_of(made, name) for name in told)
    rate = found.measuring.rate(ItemName("", 1)) * found.scale
    for _ in range(TRIES):
        size = int(room / rate) - PER_MESSAGE
        if size <= 0:
            return None
        if write is None:
            text = extract(pieces, size, found.counting.counter.counts, covered=ids, label=state.label)
        else:
            text = write([content for _, content in contents], size)
        if text is None:
            return None
        op = Compact(
            at=log.here() if log.at is None else LogPosition(messages=state.count), ids=str(ids), text=text,
            stubs={str(name): stub for name, stub in made.stubs.items() if name not in told},
            strategy=RULES if write is None else GIVEN, target=str(budget), budget=size,
        )  # fmt: skip
        one = _measured(found, op, len(made.dropped), len(made.stubs))
        if one.figures.after <= budget:
            return one
        room -= one.figures.after - budget
    return None


def _measured(found: Trimming, op: Compact, dropped: int, stubbed: int) -> TrimSummary:
    """Measures the context with `op`."""
    made = found.log.stamp(op)
    after = found.seen(made)
    names, then = after.names(), found.measuring.with_counting(Counting(after))
    was, now = found.shown, set(names)
    sizes = then.each(names)
    fixed = found.fixed
    tokens = fixed + round(sum(sizes) * found.scale)
    if found.measuring.is_calibrated and not found.refused:
        tokens = then.of(names).tokens - found.measured.tokens + found.total
    [summary] = then.each([ItemName(made.id, 1)])
    figures = structs.replace(
        found.figures(), after=tokens, dropped=sum(name not in now for name in was),
        came=len(now.difference(was)), stubbed=stubbed,
    )  # fmt: skip
    return TrimSummary(op, round(summary * found.scale), dropped, stubbed, figures)
