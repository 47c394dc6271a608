"""Bytes of several sources, read as those of one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.messages import Damage
from ctxkit.formats.base import Row
from ctxkit.store.joined import JoinedSource, Piece
from ctxkit.store.jsonl import BlockReader
from ctxkit.store.source import Source


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=5), st.integers(0, 50), st.integers(0, 50))
def test_reads_as_one(parts: list[bytes], offset: int, size: int) -> None:
    """Every read gives what it would give of the bytes in one piece."""
    whole = b"".join(parts)
    source = JoinedSource("log", [Piece(Source("p", b"<" + part + b">"), 1, 1 + len(part), 1) for part in parts])
    assert source.size == len(whole)
    assert source.read(offset, size) == whole[offset : offset + size]
    buffer = bytearray(b"." * size)
    count = source.read_into(buffer, offset)
    assert bytes(buffer[:count]) == whole[offset : offset + size]
    assert b"".join(source.chunks()) == whole


def test_lines_are_those_of_each_file() -> None:
    """Rows and damage have the numbers that the lines have in their own files."""
    first, second = Source("a", b'{"a":1}\nxx\n{"a":2}\n{"a":3}\n'), Source("b", b'{"b":0}\n{"b":1}\nyy\n')
    source = JoinedSource("b", [Piece(first, 0, first.size - 8, 1), Piece(second, 8, second.size, 2)])
    damage: list[Damage] = []
    blocks = list(BlockReader(source, Row, damage))
    assert [line for block in blocks for line in block.lines] == [1, 3, 2]
    assert [(one.line, one.code) for one in damage] == [(2, "not-json"), (3, "not-json")]


def test_grown() -> None:
    """Only the log itself grows."""
    own = Source("b", b"two\n")
    source = JoinedSource("b", [Piece(Source("a", b"one\n"), 0, 4, 1), Piece(own, 0, own.size, 1)])
    assert source.grown(Source("b", b"two\nthree\n")).read(0, 99) == b"one\ntwo\nthree\n"
