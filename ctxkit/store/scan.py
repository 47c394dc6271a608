"""A scan of a log's bytes for the traces of a needle, beside the reading of the log: on the second core, where one is.

Used by `search/full_search.py`. Where it finds nothing in the whole log, reading ends early: `Scan.check` is what the
source asks before each read.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

from ctxkit.errors import CtxkitError, NothingMatched
from ctxkit.store.source import Source

PIECE = 4 << 20
LARGE = 8 << 20
"""From this size on a scan runs beside the reading."""
READ_ALL = 2 << 20
"""The first bytes of a log are read whatever they hold: which format it has, whether it is sound."""
OVERLAP = 64
"""Bytes that two pieces share, at least: no trace but the needle itself is longer."""
UTF16 = (b"\xff\xfe", b"\xfe\xff", b'{\0"\0', b'\0{\0"')

Find = Callable[[bytearray, bytes, int, int], int]
"""Where the literal first stands in the bytes from one place to another; -1 for nowhere."""


class TracePattern(Protocol):
    """What is looked for (`core/text/search_pattern.py`)."""

    @property
    def literal(self) -> bytes:
        """Stands wherever the trace does; b"" says nothing."""

    @property
    def pattern(self) -> re.Pattern[bytes] | None:
        """Matches where the trace stands; None: where the literal does."""


class Scan:
    """Stretches of bytes, from a trace to the end of its line (or of a piece of it), in no order."""

    def __init__(self, traces: Sequence[TracePattern], *, fold: bool = False) -> None:
        """`fold`: the bytes are compared in lower case."""
        self._traces = traces
        self._fold = fold
        self._found: list[tuple[int, int]] = []
        self._failed: CtxkitError | None = None
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self.everywhere = not traces
        """Whether there is nothing to look for, so that the needle may stand in every record."""

    def start(self, source: Source, *, beside: bool = True, early: bool = True) -> None:
        """Scan `source`: at once, or, where it is large, beside what the caller does next.

        `early`: once nothing is found, reading it ends with NothingMatched.
        """
        if self.everywhere:
            return
        if not beside or source.size < LARGE:
            self._run(source, _find if source.size < LARGE else _fast_find())
            return
        if early:
            source.watch = self.check
        self._thread = threading.Thread(target=self._run, args=(source, _fast_find()), daemon=True)
        self._thread.start()

    def check(self, offset: int) -> None:
        """Raises NothingMatched where the scan is over and found nothing, so that no more need be read."""
        if offset >= READ_ALL and self._done.is_set() and not self._found and self._failed is None:
            raise NothingMatched("nothing found")

    def stretches(self) -> list[tuple[int, int]]:
        """What was found, once the scan is over: from, to. Raises what reading raised."""
        self._done.wait()
        if self._failed is not None:
            raise self._failed
        return self._found

    def _run(self, source: Source, find: Find) -> None:
        try:
            if source.read(0, 4).startswith(UTF16):
                self._found.append((0, 4))  # nothing that is looked for is spelled like that
            overlap = max([OVERLAP, *(len(trace.literal) for trace in self._traces)])
            buffer = bytearray(min(PIECE, source.size) + overlap)
            for start in range(0, source.size, PIECE):
                size = source.read_into(buffer, start)
                self._piece(bytearray(buffer.lower()) if self._fold else buffer, size, start, find)
        except CtxkitError as error:
            self._failed = error
        finally:
            self._done.set()

    def _piece(self, piece: bytearray, size: int, base: int, find: Find) -> None:
        for trace in self._traces:
            at = find(piece, trace.literal, 0, size) if trace.literal else 0
            while at >= 0:
                if trace.pattern is not None:
                    match = trace.pattern.search(piece, at, size)
                    if match is None:
                        break
                    at = match.start()
                end = piece.find(b"\n", at, size)
                self._found.append((base + at, base + (end if end >= 0 else size)))
                if end < 0:
                    break
                at = find(piece, trace.literal, end, size) if trace.literal else end


def _find(piece: bytearray, literal: bytes, start: int, end: int) -> int:
    return piece.find(literal, start, end)


@cache
def _fast_find() -> Find:
    """`bytes.find` by the C library, where it has it: several times as fast, and other threads go on meanwhile."""
    try:
        import ctypes

        memmem = ctypes.CDLL(None).memmem
    except (ImportError, OSError, AttributeError):
        return _find
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]

    def find(piece: bytearray, literal: bytes, start: int, end: int) -> int:
        base = ctypes.addressof(ctypes.c_char.from_buffer(piece))
        found = memmem(base + start, end - start, literal, len(literal))
        return -1 if found is None else int(found) - base

    return find
