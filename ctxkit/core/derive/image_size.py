"""Images: width and height of a picture, read from the head of its bytes, and what a provider takes of them. Pure.

PNG, JPEG, GIF and WebP, which are what providers take. Whatever is cut off, damaged or of another kind has no size.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

HEAD = 1 << 16
"""Characters of base64 that are decoded first: a JPEG may say much about its camera before its size."""

_MAGIC = 16
"""Characters of base64 that are decoded to tell what a picture is."""
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"), (b"RIFF", "image/webp"),
)  # fmt: skip
_BRANDS = {b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heif", b"heif": "image/heif"}
"""What Apple's photos say behind `ftyp`: Gemini alone takes these."""

Size = tuple[int, int]


class ImageLimits(NamedTuple):
    """What a provider takes in one request; None: it names no limit.

    `side`: pixels of a picture's longer side; with more than `many` pictures, `side_of_many`. `most`: pictures.
    `encoded`: characters of a picture's base64, `decoded`: bytes of it. `images`: bytes of all pictures, `request`:
    bytes of the whole body. `source`: the page, and when it was read.
    """

    provider: str
    side: int | None = None
    many: int | None = None
    side_of_many: int | None = None
    most: int | None = None
    encoded: int | None = None
    decoded: int | None = None
    images: int | None = None
    request: int | None = None
    source: str = ""


def type_of_base64(data: str) -> str:
    """The media type of a picture in base64, by its first bytes; "" for what is no picture of a known kind."""
    head = _decoded(data[:_MAGIC])
    for start, kind in _STARTS:
        if head.startswith(start) and (kind != "image/webp" or head[8:12] == b"WEBP"):
            return kind
    return _BRANDS.get(head[8:12], "") if head[4:8] == b"ftyp" else ""


def size_of_base64(data: str) -> Size | None:
    """Width and height of a picture in base64; None where they cannot be told."""
    for length in (HEAD, len(data)):
        if found := size_of(_decoded(data[:length])):
            return found
        if length >= len(data):
            break
    return None


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data[: len(data) - len(data) % 4], b"-_" if "-" in data or "_" in data else None)
    except (binascii.Error, ValueError):
        return b""


def size_of(data: bytes) -> Size | None:
    """Width and height in pixels; None where they cannot be told."""
    found = None
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        found = _pair(data[16:24], "big")
    elif data.startswith((b"GIF87a", b"GIF89a")):
        found = _pair(data[6:10], "little")
    elif data.startswith(b"\xff\xd8"):
        found = _jpeg(data)
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        found = _webp(data[12:16], data[20:30])
    return found if found and all(found) else None


def _pair(data: bytes, order: str) -> Size | None:
    """Two numbers side by side; None where the bytes end before."""
    half = len(data) // 2
    if half not in (2, 4):
        return None
    first, second = data[:half], data[half:]
    if order == "big":
        return int.from_bytes(first, "big"), int.from_bytes(second, "big")
    return int.from_bytes(first, "little"), int.from_bytes(second, "little")


def _jpeg(data: bytes) -> Size | None:
    """The size that the first frame says; the segments before it are skipped, since some hold a small picture."""
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # filling
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # nothing stands behind it
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            found = _pair(data[at + 5 : at + 9], "big")
            return (found[1], found[0]) if found else None
        elif marker in (0xD9, 0xDA):
            return None
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _webp(kind: bytes, body: bytes) -> Size | None:
    """The three kinds of WebP: with a canvas, lossy, lossless."""
    if kind == b"VP8X" and len(body) >= 10:
        return int.from_bytes(body[4:7], "little") + 1, int.from_bytes(body[7:10], "little") + 1
    if kind == b"VP8 " and len(body) >= 10 and body[3:6] == b"\x9d\x01\x2a":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    if kind == b"VP8L" and len(body) >= 5 and body[0] == 0x2F:
        bits = int.from_bytes(body[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None
