"""Copies: other versions of a file that stand beside it, and how their lines differ. Both are only read.

Pipeline: `core/derive/conflict_copies.py` knows the names, `recovery/beside.py` tells what was found. A comparison
reads both files once; of what stands behind the first difference it remembers a number for each line.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ctxkit.core.derive.conflict_copies import SAID, copy_of
from ctxkit.store.source import CHUNK, Source


class CopyDifference(msgspec.Struct, frozen=True):
    """How a copy differs from its original, in lines that are not empty: records.

    `same`: how many both begin with; `more`: how many only the copy has; `fewer`: how many only the original has;
    `equal`: they differ in nothing.
    """

    same: int
    more: int = 0
    fewer: int = 0
    equal: bool = False


def beside(path: Path, host: str = "") -> list[tuple[Path, bool]]:
    """What stands beside `path` under the name of a copy of it, by name; whether the name says that it is one.

    Files and folders, no links. Empty where the folder cannot be read.
    """
    try:
        with os.scandir(path.parent) as entries:
            named = [(one.name, said) for one in entries if (said := copy_of(one.name, path.name, host))]
    except OSError:
        return []
    found = [(path.with_name(name), said == SAID) for name, said in sorted(named)]
    return [(copy, said) for copy, said in found if not copy.is_symlink()]


def parting(original: Source, copy: Source) -> CopyDifference:
    """Where the records of a copy part from those of its original, and how many each has that the other has not.

    Raises ReadFailed, UpdatedElsewhere.
    """
    start, same = _common(original, copy)
    known = [hash(row) for row in _lines(original, start)]
    left = Counter(known)
    more, place, equal = 0, 0, True
    for place, row in enumerate(_lines(copy, start), start=1):
        key = hash(row)
        equal = equal and place <= len(known) and known[place - 1] == key
        same += equal
        if left[key]:
            left[key] -= 1
        else:
            more += 1
    return CopyDifference(same, more, left.total(), equal and place == len(known))


def same_start(original: Source, copy: Source) -> bool:
    """Whether both begin with the same line, which is not empty."""
    first = next(_lines(original, 0), None)
    return first is not None and first == next(_lines(copy, 0), None)


def _common(one: Source, other: Source) -> tuple[int, int]:
    """Bytes that both begin with, up to the end of a line, and how many of the lines in them are not empty."""
    at = lines = end = 0
    size = min(one.size, other.size)
    carried = False  # something stands on the line that is not ended yet
    while at < size:
        mine, theirs = one.read(at, min(CHUNK, size - at)), other.read(at, min(CHUNK, size - at))
        same = len(mine) if mine == theirs else _same(mine, theirs)
        last = mine.rfind(b"\n", 0, same) + 1
        if last:
            pieces = mine[: last - 1].split(b"\n")
            lines += sum(bool(piece.strip()) for piece in pieces[1:]) + (carried or bool(pieces[0].strip()))
            end, carried = at + last, False
        carried = carried or bool(mine[last:same].strip())
        if same < len(mine):
            break
        at += same
    return end, lines


def _same(one: bytes, other: bytes) -> int:
    """How many bytes two pieces that differ begin with in common."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _lines(source: Source, start: int) -> Iterator[bytes]:
    """The lines from a line's start on, without blanks around them; those that are empty left out."""
    rest: list[bytes] = []
    for piece in source.chunks(start):
        first, *others = piece.split(b"\n")
        rest.append(first)
        if not others:
            continue
        for row in (b"".join(rest), *others[:-1]):
            if found := row.strip():
                yield found
        rest = [others[-1]]
    if found := b"".join(rest).strip():
        yield found
