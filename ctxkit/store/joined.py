"""The bytes of a log whose history begins in other files, as if they stood in one.

```
   oldest file      bytes up to where the next one goes on   ┐
   parent           bytes up to where the log goes on        ├─►  JoinedSource, offsets from 0
   the log itself   all bytes                                ┘
```

Pipeline: `logfile/history.py` finds the files -> here -> `jsonl.py`, as any source. Only looks come here: a joined log
belongs to another program, so nothing is appended to one of its files.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

import msgspec

from ctxkit.core.messages import Damage
from ctxkit.store.source import SeenLog, Source

_BLANK = b" \t\r\n\xef\xbb\xbf"


class Piece(NamedTuple):
    """Whole lines of a source, from byte `start` to before `end`; `line`: the number of the first one in its file."""

    source: Source
    start: int
    end: int
    line: int


class JoinedSource(Source):
    """The bytes of all pieces, in order. The last one is of the log itself, and ends with it."""

    def __init__(self, name: str, pieces: list[Piece]) -> None:
        super().__init__(name)
        self._pieces = pieces
        self._starts = list(accumulate((piece.end - piece.start for piece in pieces), initial=0))
        self._size = self._starts.pop()

    @property
    def others(self) -> dict[str, SeenLog]:
        """Path -> the file as it was opened, of each file but the log itself."""
        own = self._pieces[-1].source
        every = (piece.source for piece in self._pieces)
        return {one.name: one.seen for one in every if one is not own and one.seen is not None}

    @property
    def own(self) -> int:
        """Where the bytes of the log itself begin."""
        return self._starts[-1]

    def where(self, damage: Damage) -> Damage:
        """The damage at its offset in its own file, with that file's name if it is not the log itself."""
        piece, start, _ = self._at(damage.offset)
        file = "" if piece.source.name == self.name else piece.source.name
        return msgspec.structs.replace(damage, offset=start, file=file)

    def within(self, offset: int) -> str:
        """The name of the file that holds the byte at `offset`; "" if nothing but blanks stands before it there."""
        piece, start, _ = self._at(offset)
        return piece.source.name if piece.source.read(piece.start, start - piece.start).strip(_BLANK) else ""

    def grown(self, own: Source) -> JoinedSource:
        """The same history with the log itself as it is now, which only grew."""
        last = self._pieces[-1]
        return JoinedSource(self.name, [*self._pieces[:-1], last._replace(source=own, end=own.size)])

    def sections(self) -> list[tuple[int, int]]:
        """As that of `Source`: each piece counts its lines by itself."""
        ends = [*self._starts[1:], self._size]
        return [(end, piece.line) for end, piece in zip(ends, self._pieces, strict=True)]

    def read(self, offset: int, size: int) -> bytes:
        """As that of `Source`."""
        found = b""
        size = max(min(size, self._size - offset), 0)
        while len(found) < size:
            piece, start, rest = self._at(offset + len(found))
            found += piece.source.read(start, min(rest, size - len(found)))
        return found

    def read_into(self, buffer: bytearray, offset: int) -> int:
        """As that of `Source`."""
        read = self.read(offset, len(buffer))
        buffer[: len(read)] = read
        return len(read)

    def _at(self, offset: int) -> tuple[Piece, int, int]:
        """The piece that holds the byte at `offset`, the byte's place in its source, and how many bytes are left."""
        at = bisect_right(self._starts, offset) - 1
        piece = self._pieces[at]
        start = piece.start + offset - self._starts[at]
        return piece, start, piece.end - start
