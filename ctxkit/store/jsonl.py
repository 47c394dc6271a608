"""Reads JSON lines as blocks of rows: a fast path for clean pieces, recovery for the others.

Pipeline: `source.py` -> here -> `formats.base.Reader.feed`. A piece is decoded as a whole, and accepted only if nothing
in it can be damaged; any doubt sends that piece (256 KiB) through `intact_records.py`, line by line. Memory is bounded
by the piece, or by the longest line.
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
"""Bytes of a piece: with its rows it fits into a processor's cache, and the next one uses the same memory again."""
MAX_LINE = 256 << 20
"""The longest line that is decoded; a longer one is skipped by bytes and reported (reliability F20)."""
JOINED = 8 << 20
"""Bytes that recovery may need at once to join a record that was broken over lines."""
UTF16 = (b"\xff\xfe", b"\xfe\xff", b'{\0"\0', b'\0{\0"')
"""How a log in UTF-16 begins."""

_OPEN, _CLOSE = ord("{"), ord("}")


def read_blocks(source: Source, row_type: type[Row], damage: list[Damage]) -> Iterator[Block]:
    """The rows of `source`; damaged places are added to `damage`. Raises ReadFailed, UpdatedElsewhere.

    Lines end at \\n and nothing else. Blank lines are neither rows nor damage. A record's size excludes its line end.
    """
    return iter(BlockReader(source, row_type, damage))


class BlockReader:
    """Reads the rows of `source` from byte `start` on, which is on line `line`; see `read_blocks`.

    After an iteration `offset` and `line` are where reading continues once the log has grown. `live`: the log is being
    written, so an unfinished last line is no damage, and is left unread unless it is a whole record.
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
        if self.offset == 0 and self._source.read(0, 4).startswith(UTF16):
            text = "this is UTF-16, which is not JSON lines: convert it first (iconv -f UTF-16 -t UTF-8)"
            self._damage.append(Damage(1, 0, "utf-16", text))
            self.offset = self._source.size
        start = 0
        for end, line in self._source.sections():
            if self.offset < end:
                if self.offset == start:
                    self.line = line
                yield from self._section(end)
            start = end

    def _section(self, end: int) -> Iterator[Block]:
        """The blocks from `offset` on that stand before byte `end`."""
        source = self._source
        size = CHUNK
        while self.offset < end:
            piece = source.read(self.offset, min(size, end - self.offset))
            final = everything = self.offset + len(piece) >= end
            cut = piece.rfind(b"\n") + 1
            if not final or (self._live and cut):
                if not cut:
                    if len(piece) > MAX_LINE:
                        self._skip_line(end)
                        size = CHUNK
                    else:
                        size = min(size * 2, MAX_LINE + 1)  # doubled, so that few bytes of a long line are read again
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
        """Reads the pieces that the fast path refuses; imported late, because most logs have none."""
        from ctxkit.store.intact_records import PieceRecovery

        return PieceRecovery(self._row_type, self._damage)

    def _whole(self, piece: bytes, end: int) -> Block | None:
        """The rows of the lines of `piece` up to `end`; None if it is not certain that each line is one object.

        It is certain if each line begins with `{` and ends with `}`, and there are as many values as lines: then no
        line has two values, and none is part of a value, because in JSON no `{` follows `}` and a newline.
        """
        if piece[end - 1 : end] != b"\n":
            return None
        try:
            rows = self._decode_lines(memoryview(piece)[:end])  # copying would take longer than decoding
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        lengths = list(map(len, io.BytesIO(piece)))
        if end < len(piece):
            lengths.pop()  # the start of the next piece
        count = len(lengths)
        if len(rows) != count:
            return None
        starts = list(accumulate(lengths, initial=0))
        sizes = [length - 1 for length in lengths]
        starts.pop()
        ends = accumulate(lengths, initial=-2)
        next(ends)
        # itemgetter reads all of them without the interpreter; it needs at least two places, so one comes twice
        first = itemgetter(0, *starts)(piece)
        last = itemgetter(end - 2, *ends)(piece)
        if set(first) != {_OPEN} or set(last) != {_CLOSE} or not (piece.isascii() or _valid_utf8(piece, count)):
            return None
        base = self.offset
        offsets = [start + base for start in starts] if base else starts
        return Block(rows, offsets, sizes, range(self.line, self.line + count), piece, base)

    def _skip_line(self, limit: int) -> None:
        """Skip a line that is too long to be decoded, at most up to byte `limit`."""
        start = self.offset
        while self.offset < limit:
            piece = self._source.read(self.offset, min(CHUNK, limit - self.offset))
            end = piece.find(b"\n") + 1
            self.offset += end or len(piece)
            if end:
                break
        text = f"a line of {self.offset - start} bytes was skipped: above {MAX_LINE >> 20} MiB"
        self._damage.append(Damage(self.line, start, "too-long", text))
        self.line += 1


def _valid_utf8(piece: bytes, count: int) -> bool:
    """Whether the first `count` lines are UTF-8: msgspec does not check the values that it leaves undecoded.

    ASCII lines cost nothing.
    """
    try:
        deque(map(bytes.decode, filterfalse(bytes.isascii, islice(io.BytesIO(piece), count))), maxlen=0)
    except UnicodeDecodeError:
        return False
    return True
