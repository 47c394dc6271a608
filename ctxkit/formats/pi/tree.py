"""The tree of a pi session: from its last entry to the root, and what compactions on that path left out.

Pipeline: `reader.py` -> here (`View` of the transcript) -> `core/replay.py`. Source: TRUTH, pi rules 1, 4 and 7.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Any

import msgspec

from ctxkit.core.ranges import Ranges
from ctxkit.core.transcript import Cut, View


class Entry(msgspec.Struct, gc=False):
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


def path_of(entries: list[Entry]) -> list[int]:
    """Indices of the entries from the root to the last one, whatever its type (a label moves the leaf too)."""
    found: list[int] = []
    at, seen = len(entries) - 1, set[int]()
    while at >= 0 and at not in seen:
        seen.add(at)
        found.append(at)
        at = entries[at].parent
    return found[::-1]


class _Line:
    """The messages on the path so far, ascending: as numbers, and as runs of numbers without a gap."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._first: list[int] = []
        self._last: list[int] = []

    def add(self, n: int) -> None:
        """Message n comes next."""
        self.numbers.append(n)
        if self._last and self._last[-1] == n - 1:
            self._last[-1] = n
        else:
            self._first.append(n)
            self._last.append(n)

    def before(self, count: int) -> Ranges:
        """The first `count` messages."""
        if not count:
            return Ranges()
        last = self.numbers[count - 1]
        runs = bisect_right(self._first, last)
        return Ranges(zip(self._first[:runs], [*self._last[: runs - 1], last], strict=True))


def view_of(entries: list[Entry], count: int) -> tuple[View, list[int]]:
    """The view, and the entries on the path (in which context edits that replace content are looked for)."""
    path = path_of(entries)
    line = _Line()
    order = line.numbers
    held = array("q")
    places: dict[int, int] = {}
    cuts: list[tuple[Cut, int]] = []
    removed: list[tuple[Cut, int]] = []
    edits = {entries[at].target: at for at in path if entries[at].target >= 0}
    for place, at in enumerate(path):
        entry = entries[at]
        held.append(len(order))
        places[at] = place
        if entry.kept != -1:
            kept = places.get(entry.kept, place)
            while cuts and cuts[-1][1] > kept:  # an earlier summary goes, and what it stood for is back
                cuts.pop()
            cuts.append((_compaction(entry, [entries[i] for i in path[kept:place]], line.before(held[kept])), place))
        elif entry.removes and edits.get(entry.target) == at and entries[entry.target].n:  # the last edit counts
            label = f"taken out by a context edit of pi at line {entry.line}"
            removed.append((Cut(entry.row, [entries[entry.target].n], label), place))
        if entry.n and not entry.hidden:
            line.add(entry.n)
    inactive: dict[int, str] = {}
    if len(order) < count:
        inactive = dict.fromkeys(sorted(set(range(1, count + 1)).difference(order)), "branch")
        inactive.update((entry.n, entry.hidden) for entry in entries if entry.hidden)
    return View(order, inactive, [cut for cut, _ in sorted(cuts + removed, key=lambda one: one[1])]), path


def _compaction(compaction: Entry, kept: list[Entry], before: Ranges) -> Cut:
    """What it left out, and that its summary stands before what it kept. An earlier summary is not kept."""
    told = [entry for entry in kept if entry.n and not entry.hidden]
    stays = [entry.n for entry in told if entry.kept == -1]
    out = before | Ranges.of(entry.n for entry in told if entry.kept != -1)
    label = f"compacted by pi at line {compaction.line}"
    return Cut(compaction.row, out, label, stays, compaction.n if stays else 0)


def number(value: Any) -> int:
    """A JSON integer, -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1
