"""The tree of a pi session: from its last entry to the root, and what compactions on that path left out.

Pipeline: `reader.py` -> here (`View` of the transcript) -> `core/replay.py`. Source: agents, pi 1, 4 and 7.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.transcript import ProgramCut, View
from ctxkit.formats.columns import PackedValues

RECENT = 1 << 15
"""Ids that are found at once, or twice as many; older ones take a look at each so many."""


class IdIndex:
    """Where each id stands: the newest of those that repeat one. A few bytes for each, where a `dict` takes 150."""

    def __init__(self) -> None:
        self.ids = PackedValues()
        """The id of each place, None or "" for none; to be read."""
        self._recent: dict[str | None, int] = {}
        self._before: dict[str | None, int] = {}
        """Those right before."""
        self._bounds = [0]
        """The first place of each run of ids, and of `_before` and `_recent`, as far as there are any."""
        self._runs: list[tuple[array[int], array[int]]] = []
        """Codes of the ids of runs, ascending, and beside each its place; made when an old id is asked for."""

    def extend(self, first: int, ids: Sequence[str | None]) -> None:
        """The ids of the places from `first` on, which is the next."""
        self.ids.extend(ids)
        self._recent.update(zip(ids, range(first, first + len(ids)), strict=True))
        if len(self._recent) >= RECENT:
            self._before, self._recent = self._recent, {}
            self._bounds.append(first + len(ids))

    def get(self, key: str, missing: int) -> int:
        """The newest place with this id, `missing` for none."""
        found = self._recent.get(key)
        if found is None:
            found = self._before.get(key)
        if found is None and key:
            found = self._older(key)
        return missing if found is None or not key else found

    def _older(self, key: str) -> int | None:
        """The same in what came before."""
        wanted = _code(key)
        while len(self._runs) < len(self._bounds) - 2:
            self._runs.append(self._run(*self._bounds[len(self._runs) :][:2]))
        for codes, places in reversed(self._runs):
            place = bisect_right(codes, wanted)
            while place and codes[place - 1] == wanted:
                place -= 1
                if self.ids[places[place]] == key:
                    return places[place]
        return None

    def _run(self, start: int, end: int) -> tuple[array[int], array[int]]:
        codes = [_code(key) if key else -1 for key in self.ids.part(start, end)]
        order = sorted(range(end - start), key=codes.__getitem__)
        return array("i", [codes[k] for k in order]), array("i", [start + k for k in order])


def _code(key: str) -> int:
    """A number that two ids rarely share, small enough to be sorted fast."""
    return hash(key) & 0x3FFFFFFF


class EntryTree:
    """The entries of a session, in columns, by index in file order.

    `numbers`: the message that each opens, 0 for none; `rows` (0-based), `lines` (1-based): where it stands; `parents`:
    index of the entry that it hangs on, -1 for none. Of some alone: `hidden`: why its message is never in the context;
    `kept`: index of the first entry that a compaction keeps, -2 for none; `targets`: index of the entry that a context
    edit changes; `removing`: edits that take it out. `opened`: index of the entry of each message, from message 1 on.
    """

    def __init__(self) -> None:
        self.numbers, self.rows, self.lines, self.parents = array("i"), array("i"), array("i"), array("i")
        self.opened = array("i")
        self.hidden: dict[int, str] = {}
        self.kept: dict[int, int] = {}
        self.targets: dict[int, int] = {}
        self.removing: set[int] = set()
        self.index = IdIndex()

    def __len__(self) -> int:
        return len(self.rows)

    def extend(
        self, numbers: Sequence[int], rows: Sequence[int], lines: Sequence[int], parents: Sequence[int],
        ids: Sequence[str | None],
    ) -> None:  # fmt: skip
        """The next entries, a column each, of one length."""
        first = len(self.rows)
        self.opened += array("i", compress(range(first, first + len(numbers)), numbers))
        self.numbers += array("i", numbers)
        self.rows += array("i", rows)
        self.lines += array("i", lines)
        self.parents += array("i", parents)
        self.index.extend(first, ids)

    def path(self) -> Sequence[int]:
        """Indices of the entries from the root to the last one, whatever its type (a label moves the leaf too)."""
        parents = self.parents
        if parents == array("i", range(-1, len(parents) - 1)):
            return range(len(parents))
        found = array("i")
        at = len(parents) - 1
        while at >= 0:
            found.append(at)
            above = parents[at]
            at = above if above < at else -1  # nothing hangs on what comes later
        found.reverse()
        return found

    def told(self, entries: Iterable[int]) -> Iterable[int]:
        """Those of these entries that open a message which may be in the context."""
        numbers, hidden = self.numbers, self.hidden
        return (at for at in entries if numbers[at] and at not in hidden)


def view_of(tree: EntryTree) -> tuple[View, Sequence[int]]:
    """The view, and the entries on the path (in which context edits that replace content are looked for)."""
    path, numbers, messages = tree.path(), tree.numbers, len(tree.opened)
    order: Sequence[int] = array("i", [numbers[at] for at in tree.told(path)])
    inactive: dict[int, str] = {}
    if len(order) < messages:
        inactive = dict.fromkeys(Ranges.span(1, messages) - Ranges.of(order), "branch")
        inactive.update((numbers[at], why) for at, why in tree.hidden.items())
    else:
        order = range(1, messages + 1)
    return View(order, inactive, _cuts(tree, path, order) if tree.kept or tree.targets else []), path


def place_of(path: Sequence[int], at: int) -> int:
    """Where entry `at` stands on a path, -1 where it does not."""
    place = bisect_left(path, at)
    return place if place < len(path) and path[place] == at else -1


def _cuts(tree: EntryTree, path: Sequence[int], order: Sequence[int]) -> list[ProgramCut]:
    """What compactions and edits on the path took out; `order`: its messages."""
    told = Ranges.of(order)
    cuts: list[tuple[ProgramCut, int]] = []
    removed: list[tuple[ProgramCut, int]] = []
    what = sorted(at for at in {*tree.kept, *tree.targets} if place_of(path, at) >= 0)
    edits = {tree.targets[at]: at for at in what if at in tree.targets}
    for at in what:
        place = place_of(path, at)
        if at in tree.kept:
            first = place_of(path, tree.kept[at])
            kept = place if first < 0 else first
            while cuts and cuts[-1][1] > kept:  # an earlier summary goes, and what it stood for is back
                cuts.pop()
            before = told & Ranges.span(1, bisect_left(tree.opened, path[kept]))
            cuts.append((_compaction(tree, at, path[kept:place], before), place))
        elif at in tree.removing and edits[tree.targets[at]] == at and (n := tree.numbers[tree.targets[at]]):
            label = f"taken out by a context edit of pi at line {tree.lines[at]}"  # the last edit of an entry counts
            removed.append((ProgramCut(tree.rows[at], [n], label), place))
    return [cut for cut, _ in sorted(cuts + removed, key=lambda one: one[1])]


def _compaction(tree: EntryTree, at: int, kept: Sequence[int], before: Ranges) -> ProgramCut:
    """What it left out, and that its summary stands before what it kept. An earlier summary is not kept."""
    told = list(tree.told(kept))
    stays = [tree.numbers[one] for one in told if one not in tree.kept]
    out = before | Ranges.of(tree.numbers[one] for one in told if one in tree.kept)
    label = f"compacted by pi at line {tree.lines[at]}"
    return ProgramCut(tree.rows[at], out, label, stays, tree.numbers[at] if stays else 0)


def number(value: Any) -> int:
    """A JSON integer, -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1
