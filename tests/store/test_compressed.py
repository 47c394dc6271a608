"""Compressed bytes: all of them come out, or none do and it is said why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.errors import CannotUnpack
from ctxkit.store import compressed
from ctxkit.store.compressed import is_compressed, unpacked
from tests.compressed import packed


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """The bytes in pieces of a size."""
    return (data[at : at + size] for at in range(0, len(data), size))


def skippable(data: bytes) -> bytes:
    """A frame to skip (RFC 8878, 3.1.2), as pzstd writes before each frame."""
    return bytes([0x50 + len(data) % 16]) + b"\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=50)), min_size=1, max_size=4), st.integers(1, 60))
def test_all_comes_out(frames: list[tuple[bool, bytes]], size: int) -> None:
    """However many frames there are, and wherever the pieces end. Frames to skip hold what is no part of the text."""
    raw = b"".join(skippable(data) if skip else packed(data) for skip, data in frames)
    assert is_compressed(raw[:4])
    assert b"".join(unpacked(pieces(raw, size), "x")) == b"".join(data for skip, data in frames if not skip)


@given(st.binary(max_size=80), st.data())
def test_a_part_is_refused(data: bytes, drawn: st.DataObject) -> None:
    """Wherever it was cut off; and what stands behind a frame is no silent end of it."""
    raw = packed(data)
    end = drawn.draw(st.integers(1, len(raw) - 1))
    with pytest.raises(CannotUnpack, match=r"^x: its end is missing: nothing was read or changed$"):
        list(unpacked([raw[:end]], "x"))
    with pytest.raises(CannotUnpack, match=r"^x: "):
        list(unpacked([raw, b"{}\n"], "x"))


def test_damage() -> None:
    """What the library finds wrong is told in its words."""
    raw = bytearray(packed(b"abc" * 1000))
    raw[4] ^= 0xFF
    with pytest.raises(CannotUnpack, match=r"^x: cannot be unpacked: [a-z -]+: nothing was read or changed$"):
        list(unpacked([bytes(raw)], "x"))


def test_a_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file that unpacks to far more than a session has ends at the bound, in pieces that fit into memory."""
    monkeypatch.setattr(compressed, "LARGEST", 3 << 20)
    found = unpacked([packed(bytes(9 << 20))], "x")
    sizes = []
    with pytest.raises(CannotUnpack, match="unpacks to more than"):
        for piece in found:
            sizes.append(len(piece))
    assert max(sizes) <= 1 << 20
    assert sum(sizes) <= 3 << 20
