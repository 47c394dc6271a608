"""JSON lines as blocks of rows: a fast path for clean pieces, recovery for the others.

Pipeline: `source.py` -> here -> `formats.base.Reader.feed`. A piece is decoded as a whole, and accepted only where
nothing in it can be damaged; any doubt sends that piece (256 KiB) through `intact_records.py`, line by line. Memory is
bounded by the piece, or by the longest line.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, filterfalse, islice
from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from ctxkit.core.messages import Damage
from ctxkit.formats.base import Block, Row
from ctxkit.store.source import Source

if TYPE_CHECKING:
    from ctxkit.store.intact_records import PieceRecovery

CHUNK = 256 << 10
"""A piece: with its rows it fits into a processor's own memory, and what one needed the next can use again."""
MAX_LINE = 256 << 20
"""A longer line is skipped by bytes and reported (reliability F20)."""
JOINED = 8 << 20
"""What recovery may need to see at once to put a record together that was broken over lines."""
UTF16 = (b"\xff\xfe", b"\xfe\xff", b'{\0"\0', b'\0{\0"')

_OPEN, _CLOSE = ord("{"), ord("}")


def read_blocks(
    source: Source, row_type: type[Row], damage: list[Damage], *, start: int = 0, line: int = 1, live: bool = False
) -> Iterator[Block]:
    """The rows of `source` from byte `start` on, which is on line `line`; what is damaged is added to `damage`.

    Lines end at \\n and nothing else. Blank lines are neither rows nor damage. `live`: the log is being written, so an
    unfinished last line is no damage. A record's size leaves out its line end. Raises ReadFailed, UpdatedElsewhere.
    """
    return iter(BlockReader(source, row_type, damage, start=start, line=line, live=live))


class BlockReader:
    """The same with a memory: once it is used up, `offset` and `line` are where reading goes on when the log grew.

    A last line that may still grow is left unread where `live` is set, unless it is a whole record.
    """

    def __init__(
        self,
        source: Source,
        row_type: type[Row],
        damage: list[Damage],
        *,
        start: int = 0,
        line: int = 1,
        live: bool = False,
    ) -> None:
        self.offset = start
        self.line = line
        self._source = source
        self._live = live
        self._damage = damage
        self._decode_lines = msgspec.json.Decoder(row_type).decode_lines
        self._row_type = row_type

    def __iter__(self) -> Iterator[Block]:
        """The blocks from `offset` on."""
        source = self._source
        size = CHUNK
        if self.offset == 0 and source.read(0, 4).startswith(UTF16):
            text = "this is UTF-16, which is not JSON lines: convert it first (iconv -f UTF-16 -t UTF-8)"
            self._damage.append(Damage(1, 0, "utf-16", text))
            self.offset = source.size
        while self.offset < source.size:
            piece = source.read(self.offset, size)
            final = everything = self.offset + len(piece) >= source.size
            cut = piece.rfind(b"\n") + 1
            if not final or (self._live and cut):
                if not cut:
                    if len(piece) > MAX_LINE:
                        self._skip_line()
                        size = CHUNK
                    else:
                        size = min(size * 2, MAX_LINE + 1)  # twice: a long line is read a bounded number of times over
                    continue
                final = final and cut == len(piece)
            else:
                cut = len(piece)
            block = self._whole(piece, cut)
            if block is not None:
                self.line += len(block.rows)
                self.offset += cut
                yield block
                size = CHUNK
                continue
            piece = piece[:cut]
            enough = everything or size > JOINED
            recovered = self._recovery.piece(piece, self.offset, self.line, enough=enough, tail=final, live=self._live)
            self.offset += recovered.consumed
            self.line += recovered.lines
            if recovered.block.rows:
                yield recovered.block
            if recovered.stopped:
                return
            size = CHUNK if recovered.consumed == len(piece) else JOINED + CHUNK

    @cached_property
    def _recovery(self) -> PieceRecovery:
        """What goes through the pieces that are refused; most logs have none."""
        from ctxkit.store.intact_records import PieceRecovery

        return PieceRecovery(self._row_type, self._damage)

    def _whole(self, piece: bytes, end: int) -> Block | None:
        """The rows of the lines of `piece` up to `end`, or None where it is not certain that each is one object.

        Each line begins with `{` and ends with `}`, and there are as many values as lines: then no line holds two
        values and none is part of one, because no JSON text goes on with `{` after `}` and a newline.
        """
        if piece[end - 1 : end] != b"\n":
            return None
        try:
            rows = self._decode_lines(memoryview(piece)[:end])  # a copy would cost more than the decoding
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        lengths = list(map(len, io.BytesIO(piece)))
        if end < len(piece):
            lengths.pop()  # what the next piece begins with
        count = len(lengths)
        if len(rows) != count:
            return None
        starts = list(accumulate(lengths, initial=0))
        sizes = [length - 1 for length in lengths]
        starts.pop()
        ends = accumulate(lengths, initial=-2)
        next(ends)
        # itemgetter looks at all of them without the interpreter; it wants two places or more: one comes twice
        first = itemgetter(0, *starts)(piece)
        last = itemgetter(end - 2, *ends)(piece)
        if set(first) != {_OPEN} or set(last) != {_CLOSE} or not (piece.isascii() or _valid_utf8(piece, count)):
            return None
        base = self.offset
        offsets = [start + base for start in starts] if base else starts
        return Block(rows, offsets, sizes, range(self.line, self.line + count), piece, base)

    def _skip_line(self) -> None:
        """Go past a line that is too long to be decoded."""
        start = self.offset
        while self.offset < self._source.size:
            piece = self._source.read(self.offset, CHUNK)
            end = piece.find(b"\n") + 1
            self.offset += end or len(piece)
            if end:
                break
        text = f"a line of {self.offset - start} bytes was skipped: above {MAX_LINE >> 20} MiB"
        self._damage.append(Damage(self.line, start, "too-long", text))
        self.line += 1


def _valid_utf8(piece: bytes, count: int) -> bool:
    """Whether the first `count` lines are UTF-8: msgspec does not look into what it leaves undecoded.

    ASCII lines cost nothing.
    """
    try:
        deque(map(bytes.decode, filterfalse(bytes.isascii, islice(io.BytesIO(piece), count))), maxlen=0)
    except UnicodeDecodeError:
        return False
    return True
