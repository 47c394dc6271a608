"""The tree of a pi session: from its last entry to the root, and what compactions on that path left out.

Pipeline: `reader.py` -> here (`View` of the transcript) -> `core/replay.py`. Source: agents, pi 1, 4 and 7.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, count
from typing import Any

import msgspec

from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.transcript import ProgramCut, View


class TreeEntry(msgspec.Struct, gc=False):
    """One entry. `n`: the message that it opens, 0 for none; `hidden`: why it is never in the context, "" if it may be.

    `parent`: index of the entry it hangs on, -1 for none. `kept`: index of the first entry that a compaction keeps, -1
    for anything else, -2 for a compaction that keeps nothing. `target`: index of the entry that a context edit changes.
    """

    n: int
    row: int
    line: int
    parent: int
    kept: int = -1
    target: int = -1
    removes: bool = False
    hidden: str = ""


def path_of(entries: list[TreeEntry]) -> list[int]:
    """Indices of the entries from the root to the last one, whatever its type (a label moves the leaf too)."""
    found: list[int] = []
    at = len(entries) - 1
    while at >= 0:
        found.append(at)
        above = entries[at].parent
        at = above if above < at else -1  # nothing hangs on what comes later
    return found[::-1]


def view_of(entries: list[TreeEntry], messages: int) -> tuple[View, list[int]]:
    """The view, and the entries on the path (in which context edits that replace content are looked for)."""
    path = path_of(entries)
    chain = [entries[at] for at in path]
    order = [entry.n for entry in chain if entry.n and not entry.hidden]
    inactive: dict[int, str] = {}
    if len(order) < messages:
        inactive = dict.fromkeys(sorted(set(range(1, messages + 1)).difference(order)), "branch")
        inactive.update((entry.n, entry.hidden) for entry in entries if entry.hidden)
    what = [place for place, entry in enumerate(chain) if entry.kept != -1 or entry.target >= 0]
    return View(order, inactive, _cuts(entries, path, order, what) if what else []), path


def _cuts(entries: list[TreeEntry], path: list[int], order: list[int], what: list[int]) -> list[ProgramCut]:
    """What the entries at the places `what` of the path, compactions and edits, took out; `order`: its messages."""
    places = dict(zip(path, count()))
    chain = [entries[at] for at in path]
    held = list(accumulate((entry.n > 0 and not entry.hidden for entry in chain), initial=0))
    told = _Runs(order)
    cuts: list[tuple[ProgramCut, int]] = []
    removed: list[tuple[ProgramCut, int]] = []
    edits = {chain[place].target: place for place in what if chain[place].target >= 0}
    for place in what:
        entry = chain[place]
        if entry.kept != -1:
            kept = places.get(entry.kept, place)
            while cuts and cuts[-1][1] > kept:  # an earlier summary goes, and what it stood for is back
                cuts.pop()
            cuts.append((_compaction(entry, chain[kept:place], told.first(held[kept])), place))
        elif entry.removes and edits[entry.target] == place and entries[entry.target].n:  # the last edit counts
            label = f"taken out by a context edit of pi at line {entry.line}"
            removed.append((ProgramCut(entry.row, [entries[entry.target].n], label), place))
    return [cut for cut, _ in sorted(cuts + removed, key=lambda one: one[1])]


class _Runs:
    """Ascending numbers, of which the first so many are wanted as ranges, again and again."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers
        self._low = [n for n, before in zip(numbers, [-1, *numbers], strict=False) if n != before + 1]
        self._high = [n for n, behind in zip(numbers, [*numbers[1:], -1], strict=False) if n + 1 != behind]

    def first(self, wanted: int) -> Ranges:
        """The first `wanted` numbers."""
        if not wanted:
            return Ranges()
        last = self._numbers[wanted - 1]
        runs = bisect_right(self._low, last)
        return Ranges(zip(self._low[:runs], [*self._high[: runs - 1], last], strict=True))


def _compaction(compaction: TreeEntry, kept: list[TreeEntry], before: Ranges) -> ProgramCut:
    """What it left out, and that its summary stands before what it kept. An earlier summary is not kept."""
    told = [entry for entry in kept if entry.n and not entry.hidden]
    stays = [entry.n for entry in told if entry.kept == -1]
    out = before | Ranges.of(entry.n for entry in told if entry.kept != -1)
    label = f"compacted by pi at line {compaction.line}"
    return ProgramCut(compaction.row, out, label, stays, compaction.n if stays else 0)


def number(value: Any) -> int:
    """A JSON integer, -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1
