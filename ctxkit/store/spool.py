"""A spool: bytes that are written once and read as often as they are asked for, in memory or in a file without a name.

What is printed goes through one: it is whole before its first byte leaves, and memory does not grow with it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TypeVar, cast

from ctxkit.core.sets.sequences import LazySequence
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import WriteFailed

IN_MEMORY = 2 << 20
"""Bytes that are kept in memory; more go into a temporary file that its owner alone can read, and no path leads to."""
CHUNK = 1 << 20
T = TypeVar("T")


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
            yield from self.part(at, place)
            yield words
            at = place
        yield from self.part(at, self.size)

    def part(self, start: int, end: int) -> Iterator[bytes]:
        """What was written from `start` to `end`."""
        while start < end:
            self.stream.seek(start)
            piece = self.stream.read(min(CHUNK, end - start))
            start += len(piece)
            yield piece

    def lines(self) -> Iterator[bytes]:
        """Its lines."""
        return lines_of(self.pieces())


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines in these pieces."""
    held: list[bytes] = []
    for piece in pieces:
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join([*held, line])
            held = []
        held.append(rest)
    if any(held):
        yield b"".join(held)


def parted(pieces: Iterable[bytes], between: bytes) -> Iterator[bytes]:
    """What stands in these pieces between any two `between`; each is short."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(between)
        yield from whole
    yield rest


class Spooled(LazySequence[T]):
    """JSON values in a spool, each on a line of its own; a value is read when it is asked for."""

    def __init__(self, values: Iterable[Any], made: Callable[[Any], T]) -> None:
        """`made` makes of a JSON value what is given. Raises ValueError for what is no JSON, WriteFailed."""
        self._spool, self._made = Spool(), made
        self._ends = array("q", [0])
        for value in values:
            self._spool.write(dumps(value).encode("ascii") + b"\n")
            self._ends.append(self._spool.size)
        super().__init__(len(self._ends) - 1, self._read)

    def __iter__(self) -> Iterator[T]:
        return (self._made(loads(line)) for line in self.lines())

    def lines(self) -> Iterator[bytes]:
        """The values as JSON."""
        return self._spool.lines()

    def _read(self, place: int) -> T:
        return self._made(loads(b"".join(self._spool.part(self._ends[place], self._ends[place + 1]))))
