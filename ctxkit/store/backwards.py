"""Lines of a source that hold some bytes, the newest first: for the few rows of a log that say what all of it is.

Used by `search/preview.py`. Of a long source no more is read than it takes to find one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxkit.store.source import Source

PIECE = 4 << 20
"""Bytes that are looked through at a time."""
LONGEST = 1 << 16
"""Bytes of a line; longer ones are passed over, as they hold what was said and not what it is called."""


class Backwards:
    """Of one source. What is small is read once, however often it is asked."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._whole = source.read(0, source.size) if source.size <= PIECE else None

    def holding(self, literal: bytes) -> Iterator[bytes]:
        """Every line in which `literal` stands, without its end; a line once. Raises what reading raises."""
        end = self._source.size
        while end > 0:
            start = max(0, end - PIECE)
            piece = self._read(start, min(end + len(literal) - 1, self._source.size))
            at = piece.rfind(literal)
            if at < 0:
                end = start
                continue
            first, line = self._line(start + at)
            if len(line) <= LONGEST:
                yield line
            end = first

    def _line(self, at: int) -> tuple[int, bytes]:
        """The line around a place, cut off where it is too long: where it starts, and its bytes."""
        low = max(0, at - LONGEST)
        before = self._read(low, at)
        start = low + before.rfind(b"\n") + 1
        after = self._read(at, at + LONGEST)
        stop = after.find(b"\n")
        return start, before[start - low :] + (after if stop < 0 else after[:stop])

    def _read(self, start: int, end: int) -> bytes:
        if self._whole is not None:
            return self._whole[start:end]
        return self._source.read(start, end - start)
