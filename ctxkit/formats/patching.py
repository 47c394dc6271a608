"""Patching: a log's bytes with some of its records changed, left out or put in, and every other byte as it was.

Pipeline: a format's `rewrite` decides on patches -> `patched` -> the session file. Damaged lines, blank ones and line
ends stay, as whatever the format's program would make of them is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

_CHUNK = 1 << 20


class Patch(msgspec.Struct, order=True):
    """`size` bytes of the log at `offset` become `data`. `order` decides between patches at one offset.

    Size 0 puts in whole lines; a record that becomes nothing takes its line end along.
    """

    offset: int
    order: int
    size: int
    data: bytes


def patched(read: Callable[[int, int], bytes], size: int, patches: Iterable[Patch]) -> Iterator[bytes]:
    """The first `size` bytes of a log after `patches`, which are in order and do not overlap, in pieces. Lines stay
    lines.

    `read(offset, size)` gives the log's bytes. What is put in at the end begins on a line of its own. A patch is asked
    for when it is due, so that none need be held.
    """
    at = 0
    line_open = False  # whether what was given so far ends within a line
    for patch in patches:
        for piece in _between(read, at, patch.offset):
            line_open = not piece.endswith(b"\n")
            yield piece
        at = max(at, patch.offset) + patch.size
        if patch.size and not patch.data:
            if not line_open:
                at = _line_end(read, at, size)
        elif patch.size == 0:
            yield (b"\n" if line_open else b"") + patch.data
            line_open = False
        else:
            line_open = True
            yield patch.data
    yield from _between(read, at, size)


def _between(read: Callable[[int, int], bytes], start: int, end: int) -> Iterator[bytes]:
    while start < end:
        piece = read(start, min(_CHUNK, end - start))
        if not piece:
            return
        start += len(piece)
        yield piece


def _line_end(read: Callable[[int, int], bytes], at: int, size: int) -> int:
    """Behind the line end, if nothing but blanks stands before it; else where it is."""
    for piece in _between(read, at, min(at + 2, size)):
        if piece.startswith(b"\r\n"):
            return at + 2
        if piece.startswith(b"\n"):
            return at + 1
    return at
