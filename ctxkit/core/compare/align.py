"""Alignment: what two sequences have in common, in order. Linear: a patience alignment, never all against all.

Used by `compare` (messages of two logs, by their digests) and by `edits` (the words of one message).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import takewhile

Block = tuple[int, int, int]
"""`a`, `b`, `count`: that many elements from place `a` on one side equal those from place `b` on the other."""

SMALL = 4096
"""Cells of the table that a gap without any landmark may cost: 64 elements against 64."""

DEPTH = 40
"""How often a gap is looked at again for landmarks of its own; bounds the work where each round finds one only."""


def align(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Block]:
    """The blocks that `a` and `b` have in common, ascending on both sides, as long as they can be.

    Landmarks are elements that a gap has exactly once on each side; between them the same again. Where a gap has none,
    a small one is compared cell by cell, and a large one counts as different. The sides are alike: `align(b, a)` gives
    the same blocks, mirrored.
    """
    if _later(a, b):
        return [(i, j, count) for j, i, count in align(b, a)]
    found: list[Block] = []
    gaps = [(0, len(a), 0, len(b), 0)]
    while gaps:
        a1, a2, b1, b2, depth = gaps.pop()
        ahead = common(a, b, a1, a2, b1, b2)
        found.append((a1, b1, ahead))
        a1, b1 = a1 + ahead, b1 + ahead
        behind = common(a, b, a1, a2, b1, b2, back=True)
        a2, b2 = a2 - behind, b2 - behind
        found.append((a2, b2, behind))
        if a1 == a2 or b1 == b2:
            continue
        marks = _landmarks(a, b, a1, a2, b1, b2) if depth < DEPTH else []
        if not marks:
            if (a2 - a1) * (b2 - b1) <= SMALL:
                found += _cells(a, b, a1, a2, b1, b2)
            continue
        for i, j in marks:
            gaps.append((a1, i, b1, j, depth + 1))
            a1, b1 = i, j
        gaps.append((a1, a2, b1, b2, depth + 1))
    return list(joined(sorted(found)))


def common(
    a: Sequence[Hashable], b: Sequence[Hashable], a1: int, a2: int, b1: int, b2: int, *, back: bool = False
) -> int:
    """How many elements at the start (or end) of `a[a1:a2]` and `b[b1:b2]` are the same."""
    count = min(a2 - a1, b2 - b1)
    if back:
        same = (a[a2 - k] == b[b2 - k] for k in range(1, count + 1))
    else:
        same = (a[a1 + k] == b[b1 + k] for k in range(count))
    return sum(takewhile(bool, same))


def joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """Ascending blocks with neighbours made one, empty ones left out."""
    last: Block | None = None
    for block in blocks:
        if not block[2]:
            continue
        if last is not None and (last[0] + last[2], last[1] + last[2]) == block[:2]:
            last = (last[0], last[1], last[2] + block[2])
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last


def heaviest(places: Sequence[int], weights: Sequence[int]) -> list[int]:
    """The indices of the ascending subsequence of `places` (all different) with the largest sum of `weights`."""
    rank = {place: i for i, place in enumerate(sorted(places), start=1)}
    best: list[tuple[int, int]] = [(0, -1)] * (len(places) + 1)  # a tree of maxima over ranks: (weight, index)
    before: list[int] = []
    for i, place in enumerate(places):
        at, top = rank[place] - 1, (0, -1)
        while at:
            top = max(top, best[at])
            at &= at - 1
        before.append(top[1])
        mine, at = (top[0] + weights[i], i), rank[place]
        while at < len(best):
            best[at] = max(best[at], mine)
            at += at & -at
    at, last = len(places), (0, -1)
    while at:
        last = max(last, best[at])
        at &= at - 1
    found, i = [], last[1]
    while i >= 0:
        found.append(i)
        i = before[i]
    return found[::-1]


def _later(a: Sequence[Hashable], b: Sequence[Hashable]) -> bool:
    """An order between the two sides, whichever comes first in the call."""
    if len(a) != len(b):
        return len(a) > len(b)
    first = next((i for i in range(len(a)) if a[i] != b[i]), None)
    return first is not None and repr(a[first]) > repr(b[first])


def _landmarks(
    a: Sequence[Hashable], b: Sequence[Hashable], a1: int, a2: int, b1: int, b2: int
) -> list[tuple[int, int]]:
    """Places of what stands exactly once on each side, the longest run of them that ascends on both."""
    mine, other = _once(a, a1, a2), _once(b, b1, b2)
    pairs = [(i, j) for key, i in mine.items() if i >= 0 and (j := other.get(key, -1)) >= 0]
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect_left(tails, j)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [j]
        ends[at : at + 1] = [index]
    found: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _once(side: Sequence[Hashable], start: int, end: int) -> dict[Hashable, int]:
    """Key -> its place, in order of first places; -1 for what stands there more than once."""
    found: dict[Hashable, int] = {}
    for i in range(start, end):
        key = side[i]
        found[key] = -1 if key in found else i
    return found


def _cells(a: Sequence[Hashable], b: Sequence[Hashable], a1: int, a2: int, b1: int, b2: int) -> Iterator[Block]:
    """The longest common subsequence of a small gap, an element a block."""
    rows = [[0] * (b2 - b1 + 1)]
    for i in range(a2 - 1, a1 - 1, -1):
        row, below = [0] * (b2 - b1 + 1), rows[-1]
        for k in range(b2 - b1 - 1, -1, -1):
            row[k] = below[k + 1] + 1 if a[i] == b[b1 + k] else max(below[k], row[k + 1])
        rows.append(row)
    i, j = a1, b1
    while i < a2 and j < b2:
        here, below = rows[a2 - i], rows[a2 - i - 1]
        if a[i] == b[j]:
            yield i, j, 1
            i, j = i + 1, j + 1
        elif below[j - b1] >= here[j - b1 + 1]:
            i += 1
        else:
            j += 1
