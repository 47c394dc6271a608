"""A spool: bytes that are written once and read as often as they are asked for, in memory or in a file without a name.

What is printed goes through one: it is whole before its first byte leaves, and memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, cast

from ctxkit.errors import WriteFailed

IN_MEMORY = 2 << 20
"""Bytes that are kept in memory; more go into a temporary file that its owner alone can read, and no path leads to."""
CHUNK = 1 << 20


class Spool:
    """Holds `pieces`; its `size` is theirs. Raises WriteFailed."""

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        from tempfile import SpooledTemporaryFile  # slow to import

        self.stream = cast(BinaryIO, SpooledTemporaryFile(max_size=IN_MEMORY, prefix="ctxkit-"))  # noqa: SIM115
        self._late: tuple[Sequence[int], bytes] = (), b""
        self.size = 0
        for piece in pieces:
            self.write(piece)

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        try:
            self.stream.write(piece)
        except OSError as error:
            text = f"cannot keep the result in a temporary file: {(error.strerror or str(error)).lower()}"
            raise WriteFailed(f"{text}: nothing was written", "TMPDIR names another folder") from error
        self.size += len(piece)

    def put_in(self, places: Sequence[int], words: bytes) -> None:
        """What is put in between at these places, which are ascending."""
        self._late = places, words

    def __iter__(self) -> Iterator[bytes]:
        return self.pieces()

    def pieces(self) -> Iterator[bytes]:
        """All of it, from the start."""
        places, words = self._late
        at = 0
        for place in places:
            yield from self._part(at, place)
            yield words
            at = place
        yield from self._part(at, self.size)

    def _part(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            self.stream.seek(start)
            piece = self.stream.read(min(CHUNK, end - start))
            start += len(piece)
            yield piece

    def lines(self) -> Iterator[bytes]:
        """Its lines."""
        held: list[bytes] = []
        for piece in self.pieces():
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield b"".join([*held, line])
                held = []
            held.append(rest)
        if any(held):
            yield b"".join(held)
