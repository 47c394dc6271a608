"""Comparing two contexts as messages: which are the same, gone, new, changed, and which stand elsewhere.

Pure: it sees names in order (`order`), and asks for digests where names say nothing. First by name, run by run: within
one log, and where two logs begin alike. Then, for what is left of two logs, by digest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple, Protocol

import msgspec

from ctxkit.core.compare.align import Block, align, common, heaviest
from ctxkit.core.item_names import NOTHING, Name, Names
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.sets.runs import NameRuns

SAME, GONE, CAME, CHANGED, MOVED = "same", "gone", "came", "changed", "moved"

PAIRS = 1024
"""Cells of the table that looking for changed messages in one gap may cost; in larger gaps neighbours are compared."""


class Hunk(msgspec.Struct, frozen=True):
    """`count` messages from place `a` (from 0) of one context on, and from place `b` of the other.

    GONE has no place in `b`, and CAME none in `a`: there it says what comes next. `moved`: CHANGED, and elsewhere too.
    Hunks come in the order of the second context; each of its places is in one of them, each of the first's too.
    """

    kind: str
    a: int
    b: int
    count: int
    moved: bool = False


class Digests(Protocol):
    """What tells messages of two logs apart. Places are those in the two contexts."""

    def same(self, a: int, b: int) -> bool:
        """Whether the two are the same message; cheap where their bytes are."""

    def digest(self, side: int, place: int) -> bytes:
        """The digest of a message of side 0 or 1."""

    def alike(self, a: int, b: int) -> bool:
        """Whether one may be what became of the other."""


class SharedRun(msgspec.Struct, frozen=True):
    """A run of names that both sides have, and where."""

    a: int
    b: int
    count: int
    changed: bool


class AlignmentGap(NamedTuple):
    """Places of the first side and of the second between two pieces that stay, and what comes behind on both."""

    mine: Sequence[int]
    other: Sequence[int]
    end_a: int
    end_b: int


def compare(
    a: NameRuns, b: NameRuns, known: Names, changed: Names = NOTHING, became: Mapping[Name, Name] | None = None,
    digests: Digests | None = None, still: Names = NOTHING,
) -> list[Hunk]:  # fmt: skip
    """The differences that make context `b` of context `a`, and what is the same.

    `known`: the names that mean one and the same message on both sides; `changed`: those of them that are shown
    otherwise; `became`: a name that only the first side has -> the name under which it goes on on the second; `still`:
    those of them that say the same all the same.
    Without `digests` other names are gone, or came. The sides are alike: swapped, the same differences, mirrored.
    """
    pieces = list(_pieces(a, b, known, changed, became or {}, still))
    stays = _staying(a, b, pieces)
    elsewhere = [piece for i, piece in enumerate(pieces) if i not in stays]
    found = [_hunk(piece, moved=i not in stays) for i, piece in enumerate(pieces)]
    gaps = list(_gaps(a, b, [piece for i, piece in enumerate(pieces) if i in stays], elsewhere))
    if digests is not None:
        gaps = _by_digest(gaps, digests, found)
    for gap in gaps:
        found += _spread(gap, _pairs(gap.mine, gap.other, digests) if digests else [])
    return list(_whole(sorted(found, key=lambda hunk: (hunk.b, hunk.kind != GONE, hunk.a))))


def _whole(hunks: Iterable[Hunk]) -> Iterator[Hunk]:
    """Hunks that continue each other as one; a changed message stays one of its own."""
    last: Hunk | None = None
    for hunk in hunks:
        if last is not None and hunk.kind == last.kind != CHANGED and _continues(last, hunk):
            last = msgspec.structs.replace(last, count=last.count + hunk.count)
            continue
        if last is not None:
            yield last
        last = hunk
    if last is not None:
        yield last


def _continues(last: Hunk, hunk: Hunk) -> bool:
    a = hunk.a == (last.a if last.kind == CAME else last.a + last.count)
    return a and hunk.b == (last.b if last.kind == GONE else last.b + last.count)


def _hunk(piece: SharedRun, *, moved: bool) -> Hunk:
    kind = CHANGED if piece.changed else MOVED if moved else SAME
    return Hunk(kind, piece.a, piece.b, piece.count, moved and piece.changed)


def _pieces(
    a: NameRuns, b: NameRuns, known: Names, changed: Names, became: Mapping[Name, Name], still: Names
) -> Iterator[SharedRun]:
    """The longest runs of known names that stand side by side in both, in the order of the first."""
    rows = [(first, count, start) for (first, count), start in zip(b.runs, b.starts, strict=False)]
    numbers = sorted((first, count, start) for first, count, start in rows if isinstance(first, int))
    firsts = [first for first, _, _ in numbers]
    place: dict[Name, int] = {first: start for first, _, start in rows if not isinstance(first, int)}
    new = {old: place[name] if name in place else _place(numbers, firsts, name) for old, name in became.items()}
    alone = changed.numbers | Ranges.of(name for name in new if isinstance(name, int))
    for (first, count), start in zip(a.runs, a.starts, strict=False):
        if not isinstance(first, int):
            if first in new:
                yield SharedRun(start, new[first], 1, first not in still)
            elif first in known and first in place:
                yield SharedRun(start, place[first], 1, first in changed)
            continue
        run = Ranges.span(first, first + count - 1)
        for low, high in (run & known.numbers).pairs():
            for piece_low, piece_high in _cut(low, high, alone):
                at = start + piece_low - first
                if piece_low in new:
                    yield SharedRun(at, new[piece_low], 1, piece_low not in still)
                    continue
                i = max(bisect_left(firsts, piece_low + 1) - 1, 0)
                while i < len(numbers) and firsts[i] <= piece_high:
                    from_, size, there = numbers[i]
                    one, last = max(from_, piece_low), min(from_ + size - 1, piece_high)
                    if one <= last:
                        yield SharedRun(start + one - first, there + one - from_, last - one + 1, one in changed)
                    i += 1


def _place(numbers: Sequence[tuple[int, int, int]], firsts: Sequence[int], n: Name) -> int:
    first, _, start = numbers[bisect_right(firsts, n) - 1]
    return start + n - first  # type: ignore[operator]  # only numbers are asked


def _cut(low: int, high: int, alone: Ranges) -> Iterator[tuple[int, int]]:
    """The range in pieces, so that each number of `alone` is one of its own."""
    for n in (Ranges.span(low, high) & alone) if alone else ():
        if low < n:
            yield low, n - 1
        yield n, n
        low = n + 1
    if low <= high:
        yield low, high


def _staying(a: NameRuns, b: NameRuns, pieces: Sequence[SharedRun]) -> set[int]:
    """Indices of the pieces that stand in the same order on both sides: as many messages as can be."""
    places = [piece.b for piece in pieces]
    if all(one < other for one, other in pairwise(places)):
        return set(range(len(pieces)))
    weights = [piece.count for piece in pieces]
    if str(a.runs) <= str(b.runs):
        return set(heaviest(places, weights))
    turned = sorted(range(len(pieces)), key=places.__getitem__)  # the same choice, whichever side comes first
    return {turned[i] for i in heaviest([pieces[i].a for i in turned], [weights[i] for i in turned])}


def _gaps(
    a: NameRuns, b: NameRuns, stays: Sequence[SharedRun], elsewhere: Sequence[SharedRun]
) -> Iterator[AlignmentGap]:
    """What is between the pieces that stay, without what stands elsewhere on the other side."""
    moved_a = sorted((piece.a, piece.count) for piece in elsewhere)
    moved_b = sorted((piece.b, piece.count) for piece in elsewhere)
    i = j = 0
    for piece in [*stays, SharedRun(len(a), len(b), 0, False)]:
        mine, other = _without(i, piece.a, moved_a), _without(j, piece.b, moved_b)
        i, j = piece.a + piece.count, piece.b + piece.count
        if mine or other:
            yield AlignmentGap(mine, other, piece.a, piece.b)


def _without(low: int, high: int, moved: Sequence[tuple[int, int]]) -> Sequence[int]:
    spans = []
    for start, count in moved[bisect_left(moved, (low, 0)) :]:
        if start >= high:
            break
        spans.append(range(low, start))
        low = start + count
    return list(chain(*spans, range(low, high))) if spans else range(low, high)


def _by_digest(gaps: Sequence[AlignmentGap], digests: Digests, found: list[Hunk]) -> list[AlignmentGap]:
    """Takes out of the gaps what is the same by digest; what stands in another gap, and once only, has moved."""
    left: list[AlignmentGap] = []
    for gap in gaps:
        mine, other = gap.mine, gap.other
        i = j = 0
        for a, b, count in [*_matched(mine, other, digests), (len(mine), len(other), 0)]:
            if i < a or j < b:
                left.append(AlignmentGap(mine[i:a], other[j:b], *_behind(gap, a, b)))
            for k, size in _unbroken(mine[a : a + count], other[b : b + count]):
                found.append(Hunk(SAME, mine[a + k], other[b + k], size))
            i, j = a + count, b + count
    alone = not any(gap.mine for gap in left) or not any(gap.other for gap in left)
    gone = {} if alone else _once((place for gap in left for place in gap.mine), 0, digests)
    came = {} if alone else _once((place for gap in left for place in gap.other), 1, digests)
    moved = {gone[key]: came[key] for key in gone.keys() & came.keys() if gone[key] >= 0 and came[key] >= 0}
    if not moved:
        return left
    found += (Hunk(MOVED, a, b, 1) for a, b in moved.items())
    arrived = set(moved.values())
    return [
        AlignmentGap(
            [i for i in gap.mine if i not in moved], [j for j in gap.other if j not in arrived], gap.end_a, gap.end_b
        )
        for gap in left
    ]


def _behind(gap: AlignmentGap, a: int, b: int) -> tuple[int, int]:
    """The places that come at these indices of a gap, or behind it."""
    return gap.mine[a] if a < len(gap.mine) else gap.end_a, gap.other[b] if b < len(gap.other) else gap.end_b


def _matched(mine: Sequence[int], other: Sequence[int], digests: Digests) -> list[Block]:
    """The blocks that two sides of a gap have in common; digests are made only between common start and end."""
    if not mine or not other:
        return []
    pair = _Pair(mine, 0, digests), _Pair(other, 1, digests)
    ahead = common(*pair, 0, len(mine), 0, len(other))
    behind = common(*pair, ahead, len(mine), ahead, len(other), back=True)
    ends = len(mine) - behind, len(other) - behind
    left = [digests.digest(0, place) for place in mine[ahead : ends[0]]]
    right = [digests.digest(1, place) for place in other[ahead : ends[1]]]
    inner = [(a + ahead, b + ahead, count) for a, b, count in align(left, right)] if left and right else []
    return [(0, 0, ahead), *inner, (*ends, behind)]


class _Place:
    """A message that is compared as cheaply as can be."""

    __slots__ = ("digests", "place", "side")

    def __init__(self, side: int, place: int, digests: Digests) -> None:
        self.side, self.place, self.digests = side, place, digests

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and self.digests.same(self.place, other.place)

    def __hash__(self) -> int:
        return hash(self.digests.digest(self.side, self.place))


class _Pair(Sequence[_Place]):
    """The messages of one side of a gap, made when asked for."""

    def __init__(self, places: Sequence[int], side: int, digests: Digests) -> None:
        self.places, self.side, self.digests = places, side, digests

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, at: int) -> _Place:  # type: ignore[override]  # never sliced
        return _Place(self.side, self.places[at], self.digests)


def _once(places: Iterable[int], side: int, digests: Digests) -> dict[bytes, int]:
    """Digest -> place; -1 for what stands there more than once."""
    found: dict[bytes, int] = {}
    for place in places:
        key = digests.digest(side, place)
        found[key] = -1 if key in found else place
    return found


def _pairs(mine: Sequence[int], other: Sequence[int], digests: Digests) -> list[Block]:
    """Which message of a gap may have become which, in order; the same whichever side comes first."""
    if not mine or not other:
        return []
    if len(mine) * len(other) > PAIRS:
        return [(k, k, 1) for k in range(min(len(mine), len(other))) if digests.alike(mine[k], other[k])]
    fits = [[digests.alike(a, b) for b in other] for a in mine]
    order = len(mine) - len(other)
    turned = order > 0 or (order == 0 and digests.digest(0, mine[0]) > digests.digest(1, other[0]))
    if turned:
        fits = [list(column) for column in zip(*fits, strict=True)]
    found = _most(fits)
    return [(j, i, 1) for i, j in found] if turned else [(i, j, 1) for i, j in found]


def _most(fits: Sequence[Sequence[bool]]) -> Iterator[tuple[int, int]]:
    """The most cells that can be taken, ascending in rows and columns."""
    rows, columns = len(fits), len(fits[0])
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + fits[i][j])
    i = j = 0
    while i < rows and j < columns:
        if fits[i][j] and best[i][j] == best[i + 1][j + 1] + 1:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i + 1][j] == best[i][j]:
            i += 1
        else:
            j += 1


def _spread(gap: AlignmentGap, pairs: Sequence[Block]) -> Iterator[Hunk]:
    """The hunks of a gap: what changed, and before each of these what is gone and what came."""
    mine, other = gap.mine, gap.other
    i = j = 0
    for a, b, count in [*pairs, (len(mine), len(other), 0)]:
        following, before = _behind(gap, a, j)[1], _behind(gap, a, b)[0]
        yield from (Hunk(GONE, mine[i + k], following, size) for k, size in _unbroken(mine[i:a]))
        yield from (Hunk(CAME, before, other[j + k], size) for k, size in _unbroken(other[j:b]))
        if count:
            yield Hunk(CHANGED, mine[a], other[b], count)
        i, j = a + count, b + count


def _unbroken(*sides: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of places that follow each other on all sides, which are of one length: index, size."""
    length, start = len(sides[0]), 0
    if all(isinstance(side, range) for side in sides):
        start = length
        if length:
            yield 0, length
    for k in range(start + 1, length + 1):
        if k == length or any(side[k] != side[k - 1] + 1 for side in sides):
            yield start, k - start
            start = k
