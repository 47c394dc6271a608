"""Pictures for tests: the few bytes that a picture of any declared size begins with, and as many as are asked for."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def png(width: int, height: int, padding: int = 0) -> bytes:
    """A PNG that says it is so large; `padding`: bytes more of it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    text = [chunk(b"tEXt", b"Comment\0" + b"x" * padding)] if padding else []
    pixels = chunk(b"IDAT", zlib.compress(bytes(width + 1)))
    return b"\x89PNG\r\n\x1a\n" + b"".join([chunk(b"IHDR", head), *text, pixels, chunk(b"IEND", b"")])


def jpeg(width: int, height: int, *, exif: int = 0) -> bytes:
    """The head of a JPEG that says it is so large, behind `exif` bytes about the camera."""
    about = b"\xff\xe1" + struct.pack(">H", exif + 2) + bytes(exif) if exif else b""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8" + about + b"\xff\xc2" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9"


def gif(width: int, height: int) -> bytes:
    """The head of a GIF that says it is so large."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00;"


def webp(width: int, height: int, kind: bytes = b"VP8X") -> bytes:
    """The head of a WebP of one of its three kinds that says it is so large."""
    body = {
        b"VP8X": bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little"),
        b"VP8 ": b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", width, height),
        b"VP8L": b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + bytes(5),
    }[kind]
    inner = b"WEBP" + kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(inner)) + inner


def base64_of(data: bytes) -> str:
    """As records hold it."""
    return base64.b64encode(data).decode("ascii")


def block(data: bytes, kind: str = "image/png") -> dict[str, Any]:
    """A picture as Anthropic's messages, and Claude Code's rows, hold it."""
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": base64_of(data)}}


def link(data: bytes, kind: str = "image/png") -> dict[str, Any]:
    """A picture as OpenAI's messages hold it."""
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64_of(data)}"}}


def chat(path: Path, pictures: Iterable[dict[str, Any]], model: str = "claude-sonnet-4-5") -> Path:
    """A native log: each picture in a message of the user, with an answer behind it."""
    lines: list[dict[str, Any]] = []
    for number, picture in enumerate(pictures, start=1):
        lines.append({"role": "user", "content": [{"type": "text", "text": f"picture {number}"}, picture]})
        lines.append({"role": "assistant", "content": f"seen {number}", "model": model})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def in_results(path: Path, pictures: Iterable[dict[str, Any]], model: str = "claude-sonnet-4-5") -> Path:
    """A session of Claude Code: each picture inside the result of a call, beside words."""
    base = {"sessionId": "s1", "version": "2.0.1", "cwd": "/w", "isSidechain": False, "userType": "external"}
    rows: list[dict[str, Any]] = []

    def row(kind: str, message: dict[str, Any], **more: Any) -> None:
        number = len(rows)
        parent = f"u{number - 1}" if number else None
        stamp = f"2026-02-12T10:{number // 60 % 60:02}:{number % 60:02}.000Z"
        head = {"parentUuid": parent, "uuid": f"u{number}", "timestamp": stamp, "type": kind}
        rows.append(base | head | {"message": message} | more)

    row("user", {"role": "user", "content": "look at them"})
    for number, picture in enumerate(pictures, start=1):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": f"/w/{number}.png"}}
        row("assistant", {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model,
                          "content": [call], "stop_reason": "tool_use"})  # fmt: skip
        said = [{"type": "text", "text": f"picture {number}"}, picture]
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": said}
        file = {"type": "image", "file": {"base64": picture["source"]["data"], "type": "image/png"}}
        row("user", {"role": "user", "content": [result]}, toolUseResult=file)
    row("assistant", {"id": "msg_end", "type": "message", "role": "assistant", "model": model,
                      "content": [{"type": "text", "text": "seen all"}], "stop_reason": "end_turn"})  # fmt: skip
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


if __name__ == "__main__":
    import os
    import sys

    import pytest

    os.environ["CTXKIT_SAMPLES"] = "36"
    sys.exit(pytest.main(["-q", "tests/content/test_images.py"]))
