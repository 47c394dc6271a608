"""Finds the points of a session at which its context changed: ops, and compactions of its own program.

`show` draws them between messages on a terminal. Sizes are those that the ops, the program and its provider recorded,
else counts of messages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from ctxkit.core.item_names import Name
from ctxkit.core.ledger import Ledger, LedgerEntry
from ctxkit.core.transcript import ProgramCut
from ctxkit.logfile.open import OpenLog

SIZES = ("before", "after")
NEAR = 20
"""How many messages after a cut are searched for a reply with the size of its request."""


class TurningPoint(NamedTuple):
    """An op or a cut of the program (`what`), after `row` rows of the log. `sizes`: before and after it, in `unit`
    (tokens or messages), None if unknown.
    """

    row: int
    what: LedgerEntry | ProgramCut
    sizes: tuple[int, int] | None
    unit: str


def turning_points(log: OpenLog) -> list[TurningPoint]:
    """All turning points in order. O(messages) if the program compacted, else O(ops)."""
    ledger = log.state().ledger
    found = [_of_op(ledger, entry) for entry in ledger.entries]
    return sorted([*_of_program(log), *found], key=lambda one: one.row)


def recorded_sizes(ledger: Ledger, entry: LedgerEntry) -> tuple[tuple[int, int], str] | None:
    """The sizes of the context before and after an op, and their unit: those that it recorded, or, of an undo, those of
    the op that it takes back; None if neither did.
    """
    found = _pair(entry, "messages")
    if (own := _pair(entry, "tokens")) is not None:
        return own, "tokens"
    undone = ledger.undone(entry)
    if undone and found is not None:
        op, way = undone[-1], 1 if len(undone) % 2 == 0 else -1
        sizes, messages = _pair(op, "tokens"), _pair(op, "messages")
        same = messages is not None and messages[::way] == found and _count(op) == _count(entry)
        if sizes is not None and same and _is_next(ledger, op, entry):
            return (sizes[::way][0], sizes[::way][1]), "tokens"
    return None if found is None else (found, "messages")


def _is_next(ledger: Ledger, op: LedgerEntry, entry: LedgerEntry) -> bool:
    """Whether all ops between the two had been taken back before `entry`, so that it changes the context of `op`."""
    return all(
        undone[-1].number >= op.number if (undone := ledger.undone(one)) else 0 < (one.voided_by or 0) < entry.number
        for one in ledger.entries[op.number : entry.number - 1]
    )


def _pair(entry: LedgerEntry, unit: str) -> tuple[int, int] | None:
    before, after = (size.get(unit) if isinstance(size, dict) else None for size in map(entry.body.get, SIZES))
    return (before, after) if isinstance(before, int) and isinstance(after, int) else None


def _count(entry: LedgerEntry) -> Any:
    """How many messages the log had at an op."""
    at = entry.body.get("at")
    return at.get("messages") if isinstance(at, dict) else None


def _of_op(ledger: Ledger, entry: LedgerEntry) -> TurningPoint:
    sizes, unit = recorded_sizes(ledger, entry) or (None, "")
    return TurningPoint(entry.place, entry, sizes, unit)


def _of_program(log: OpenLog) -> list[TurningPoint]:
    state = log.state()
    transcript, view = state.transcript, state.sidechain(log.lens_thread) or state.transcript.view
    if view is None or not view.cuts:
        return []
    noted = {one.row: one.tokens for one in transcript.compactions}
    rows = sorted(transcript.row_of[n - 1] for n in view.order)
    found, gone = list[TurningPoint](), set[int]()
    for cut in view.cuts:
        there = bisect_left(rows, cut.row)
        before = there - len(gone)
        came = sum(transcript.row_of[n - 1] >= cut.row for n in cut.moved)
        gone.update(cut.out)
        gone.difference_update(cut.moved)
        after = there - len(gone) + came
        request = _next_request(log, cut.row) if cut.row in noted else 0
        sizes = (noted[cut.row], request) if request else (before, max(0, after))
        found.append(TurningPoint(cut.row, cut, sizes, "tokens" if request else "messages"))
    return found


def _next_request(log: OpenLog, row: int) -> int:
    """Tokens of the first request after a row, as its provider counted them; 0 if no reply near it has them."""
    row_of = log.state().transcript.row_of
    first = bisect_left(row_of, row)
    for n in range(first + 1, min(first + NEAR, len(row_of)) + 1):
        if log.messages[n - 1].role == "assistant" and (usage := log.usage(n)) is not None:
            return usage.request
    return 0


def places(log: OpenLog, names: Sequence[Name], points: Sequence[TurningPoint]) -> list[int]:
    """For each of `points` the place in `names`, a context in order, before which it comes; len(names) for the end."""
    row_of = log.state().transcript.row_of
    rows = list(accumulate((row_of[name - 1] if isinstance(name, int) else -1 for name in names), max))
    found = []
    for point in points:
        place = bisect_left(rows, point.row)
        if isinstance(point.what, ProgramCut) and point.what.moved:  # the messages that it kept come after it
            kept = set(point.what.moved)
            place = next((i for i, name in enumerate(names[:place]) if name in kept), place)
        found.append(place)
    return list(accumulate(found, max))
