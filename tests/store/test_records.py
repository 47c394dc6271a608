"""Records of a document as blocks: the rows that reading their lines gives."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from ctxkit.core.messages import Damage
from ctxkit.formats.base import Block
from ctxkit.formats.chat import ChatRow
from ctxkit.store.jsonl import BlockReader
from ctxkit.store.records import RecordLines, RecordReader
from ctxkit.store.source import Source

CLEAN = [b'{"role":"user","content":"%d"}' % i for i in range(600)]
REST = b'{"ctxkit":"mark","id":"a"}\n'


def joined(records: Sequence[bytes], rest: bytes) -> bytes:
    """A line each."""
    return b"\n".join([*records, rest])


def seen(blocks: BlockReader) -> list[tuple[str, int, int, int, bytes]]:
    """Role, place and bytes of each row; afterwards the reader is at the end."""
    found = []
    for block in blocks:
        assert isinstance(block, Block)
        for i, row in enumerate(block.rows):
            found.append((repr(row.role), block.offsets[i], block.sizes[i], block.lines[i], block.raw(i)))
    return found


@pytest.mark.parametrize("rest", [b"", REST, b"torn"])
@pytest.mark.parametrize("odd", [b"", b"3", b'{"role":NaN}', b'{"role":"user","content":"\\ud83d"}', b'{"x":"\xff"}'])
@pytest.mark.parametrize("at", [0, 300, 599])
def test_as_if_read_from_lines(at: int, odd: bytes, rest: bytes) -> None:
    """Rows, places, damage: whatever one of the records is, and whatever follows them."""
    records = [*CLEAN[:at], odd, *CLEAN[at + 1 :]] if odd else CLEAN
    data = b"\n".join([*records, rest])
    damage: list[Damage] = []
    expected: list[Damage] = []
    source = RecordLines("x", records, rest, joined)
    reader = RecordReader(source, ChatRow, damage, [msgspec.Raw(one) for one in records])
    plain = BlockReader(Source("x", data), ChatRow, expected)
    assert seen(reader) == seen(plain)
    assert (damage, reader.offset, reader.line) == (expected, plain.offset, plain.line)


def test_a_record_over_several_lines() -> None:
    """Its bytes are those of its line."""
    records = [b'{"role":\r\n"user"}']
    (block,) = RecordReader(RecordLines("x", records, b"", joined), ChatRow, [], records)
    assert (block.raw(0), block.sizes[0]) == (b'{"role":  "user"}', 17)


def test_bytes_are_made_once_and_only_if_they_are_read() -> None:
    """Its size is known before."""
    made = []

    def make(records: Sequence[bytes], rest: bytes) -> bytes:
        made.append(1)
        return joined(records, rest)

    source = RecordLines("x", [b"a"], b"c", make)
    assert (source.size, made) == (3, [])
    buffer = bytearray(2)
    assert (source.read_into(buffer, 1), bytes(buffer), source.read(0, 9), made) == (2, b"\nc", b"a\nc", [1])


def test_a_record_whose_line_is_longer() -> None:
    """A line end in a string is damage, which the lines are mended of: places behind it are those in the lines."""
    records = [b'{"role":"user"}', b'{"role":"us\ner"}', b'{"role":"x"}']

    def mended(records: Sequence[bytes], rest: bytes) -> bytes:
        return joined([record.replace(b"\n", b"\\n") for record in records], rest)

    source = RecordLines("x", records, REST, mended)
    data = mended(records, REST)
    assert seen(RecordReader(source, ChatRow, [], records)) == seen(BlockReader(Source("x", data), ChatRow, []))
    assert source.read(0, 999) == data
