"""The size of a picture, from the head of its bytes; nothing that is cut off or made up breaks the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.derive.image_size import size_of, size_of_base64
from tests import pictures
from tests.validators import image_rules

HEADS = [
    pictures.png(9000, 7), pictures.jpeg(640, 480), pictures.jpeg(4000, 3, exif=60_000), pictures.gif(12, 3000),
    pictures.webp(2400, 1), pictures.webp(2400, 31, b"VP8 "), pictures.webp(2400, 31, b"VP8L"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (pictures.png(9000, 7), (9000, 7)),
        (pictures.jpeg(640, 480), (640, 480)),
        (pictures.jpeg(4000, 3, exif=60_000), (4000, 3)),
        (pictures.gif(12, 3000), (12, 3000)),
        (pictures.webp(2400, 1), (2400, 1)),
        (pictures.webp(2400, 31, b"VP8 "), (2400, 31)),
        (pictures.webp(2400, 31, b"VP8L"), (2400, 31)),
        (b"", None),
        (b"<svg/>", None),
        (pictures.png(0, 7), None),
        (pictures.png(10, 7)[:20], None),
        (b"\xff\xd8\xff\xd9", None),
    ],
)
def test_size(data: bytes, size: tuple[int, int] | None) -> None:
    """Each kind that providers take, and what has no size."""
    assert size_of(data) == size
    assert size_of_base64(pictures.base64_of(data)) == size


def test_a_size_behind_much_else() -> None:
    """What stands before the size of a JPEG may be longer than what is decoded first."""
    data = b"\xff\xd8" + pictures.jpeg(1, 1, exif=65_000)[2:-15] * 3 + pictures.jpeg(30, 40)[2:]
    assert size_of_base64(pictures.base64_of(data)) == (30, 40)


@given(st.sampled_from(HEADS), st.integers(0, 400), st.data())
def test_whatever_the_bytes(head: bytes, cut: int, data: st.DataObject) -> None:
    """Bytes cut off or changed: a size or none, and never another than a second reader of the same bytes tells."""
    broken = bytearray(head[:cut])
    if broken:
        at = data.draw(st.integers(0, len(broken) - 1))
        broken[at] = data.draw(st.integers(0, 255))
    found = size_of(bytes(broken))
    other = image_rules.size_of(bytes(broken))
    assert found is None or found == other


@given(st.text(max_size=200))
def test_whatever_the_text(text: str) -> None:
    """What is no base64 has no size."""
    assert size_of_base64(text) is None or len(text) > 12
