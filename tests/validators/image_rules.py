"""What providers refuse of pictures in a request body, by the pages that they publish; a second reading of these.

Shares no code with `ctxkit`: it walks the body, decodes each picture, and reads its size from the bytes by itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

Size = tuple[int, int]

LINK = re.compile(r"data:image/[a-z+.-]+;base64,(.*)", re.DOTALL)


def pictures_of(body: Any) -> Iterator[bytes | None]:
    """The bytes of each picture of a body, wherever it stands; None for one that the provider fetches."""
    if isinstance(body, list):
        for one in body:
            yield from pictures_of(one)
        return
    if not isinstance(body, dict):
        return
    if body.get("type") == "tool_use":  # what a call says is no picture
        return
    kind = body.get("type")
    if kind == "image" and isinstance(source := body.get("source"), dict):
        yield _decoded(source["data"]) if "data" in source else None
    elif kind == "image" and isinstance(body.get("data"), str):  # a session of pi
        yield _decoded(body["data"])
    elif kind == "image_url":
        yield _linked(body["image_url"]["url"])
    elif kind in ("input_image", "computer_screenshot") and isinstance(body.get("image_url"), str):
        yield _linked(body["image_url"])
    elif isinstance(inline := body.get("inlineData"), dict):
        if str(inline.get("mimeType")).startswith("image/"):
            yield _decoded(inline["data"])
    elif isinstance(file := body.get("fileData"), dict):
        if str(file.get("mimeType")).startswith("image/"):
            yield None
    else:
        for key, value in body.items():
            if key not in ("input", "args", "arguments") or isinstance(value, list):
                yield from pictures_of(value)


def of_session(lines: Iterable[bytes]) -> list[Any]:
    """What the rows of a session file of Claude Code, Codex or pi hold that goes into a request."""
    rows = [json.loads(line) for line in lines if line.strip()]
    return [row.get("message", row.get("payload")) for row in rows]


def _linked(url: str) -> bytes | None:
    found = LINK.match(url)
    return _decoded(found[1]) if found else None


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return b""


def size_of(data: bytes) -> Size | None:
    """Width and height of a PNG, GIF, JPEG or WebP; None where they cannot be told."""
    number = int.from_bytes
    if data[1:4] == b"PNG" and len(data) >= 24:
        return number(data[16:20], "big"), number(data[20:24], "big")
    if data[:4] == b"GIF8" and len(data) >= 10:
        return number(data[6:8], "little"), number(data[8:10], "little")
    if data[:2] == b"\xff\xd8":
        frame = re.search(rb"\xff[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf]", _frames(data))
        rest = _frames(data)[frame.start() :] if frame else b""
        return (number(rest[7:9], "big"), number(rest[5:7], "big")) if len(rest) >= 9 else None
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        body = data[20:]
        if data[12:16] == b"VP8X" and len(body) >= 10:
            return number(body[4:7], "little") + 1, number(body[7:10], "little") + 1
        if data[12:16] == b"VP8 " and len(body) >= 10:
            return number(body[6:8], "little") & 0x3FFF, number(body[8:10], "little") & 0x3FFF
        if data[12:16] == b"VP8L" and len(body) >= 5:
            bits = number(body[1:5], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _frames(data: bytes) -> bytes:
    """A JPEG without the segments that say other things, which may hold a small picture of their own."""
    at, kept = 2, b""
    while at + 4 <= len(data) and data[at] == 0xFF:
        length = int.from_bytes(data[at + 2 : at + 4], "big") + 2
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            return data[at : at + length]
        if data[at + 1] == 0xDA:
            break
        at += length
    return kept


def faults(body: Any, provider: str, *, most: int = 100, side: int = 8000) -> list[str]:
    """Why the provider would refuse the body for its pictures. `most`: pictures that a model of Anthropic's takes,
    `side`: pixels.
    """
    found = list(pictures_of(body))
    here = [data for data in found if data is not None]
    size = len(json.dumps(body).encode())
    wrong: list[str] = []
    if provider == "anthropic":
        sides = [max(known) for data in here if (known := size_of(data))]
        largest = min(side, 2000 if len(found) > 20 else 8000)
        wrong += [f"a side of {side}" for side in sides if side > largest]
        wrong += [f"a picture of {len(data)} bytes" for data in here if -(-len(data) // 3) * 4 > 5 * 1024 * 1024]
        wrong += [f"{len(found)} pictures"] * (len(found) > most)
        wrong += [f"{size} bytes"] * (size > 32_000_000)
    elif provider == "openai":
        wrong += [f"a picture of {len(data)} bytes" for data in here if len(data) > 20_000_000]
        wrong += [f"{len(found)} pictures"] * (len(found) > 500)
        wrong += [f"{sum(map(len, here))} bytes"] * (sum(map(len, here)) > 50_000_000)
    elif provider == "gemini":
        wrong += [f"{len(found)} pictures"] * (len(found) > 3000)
        wrong += [f"{size} bytes"] * (size > 100_000_000)
    return wrong
