"""The tree of a pi session: from its last entry to the root, and what compactions on that path left out.

Pipeline: `reader.py` -> here (`View` of the transcript) -> `core/replay.py`. Source: TRUTH, pi rules 1, 4 and 7.
"""

from __future__ import annotations

from typing import Any

import msgspec

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


def view_of(entries: list[Entry], count: int) -> tuple[View, list[int]]:
    """The view, and the entries on the path (in which context edits that replace content are looked for)."""
    path = path_of(entries)
    order: list[int] = []
    cuts: list[tuple[Cut, int]] = []
    for place, at in enumerate(path):
        entry = entries[at]
        if entry.kept != -1:
            kept = next((i for i, one in enumerate(path[:place]) if one == entry.kept), place)
            while cuts and cuts[-1][1] > kept:  # an earlier summary goes, and what it stood for is back
                cuts.pop()
            cuts.append((_compaction(entries, path, place, kept), place))
        elif entry.removes and entry.target >= 0 and entries[entry.target].n:
            label = f"taken out by a context edit of pi at line {entry.line}"
            cuts.append((Cut(entry.row, [entries[entry.target].n], label), place))
        if entry.n and not entry.hidden:
            order.append(entry.n)
    placed = set(order)
    hidden = {entry.n: entry.hidden for entry in entries if entry.hidden}
    inactive = {n: hidden.get(n, "branch") for n in range(1, count + 1) if n not in placed}
    return View(order, inactive, [cut for cut, _ in cuts]), path


def _compaction(entries: list[Entry], path: list[int], place: int, kept: int) -> Cut:
    """What the compaction at `place` of the path left out, and that its summary stands before what it kept."""
    compaction = entries[path[place]]
    out: list[int] = []
    stays: list[int] = []
    for i, at in enumerate(path[:place]):
        entry = entries[at]
        if entry.n and not entry.hidden:
            gone = i < kept or entry.kept != -1
            (out if gone else stays).append(entry.n)
    label = f"compacted by pi at line {compaction.line}"
    return Cut(compaction.row, out, label, stays, compaction.n if stays else 0)


def number(value: Any) -> int:
    """A JSON integer, -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1
