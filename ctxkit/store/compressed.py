"""Logs compressed with Zstandard: recognized by their first bytes, unpacked piece by piece.

Codex keeps a rollout that was not used for long as `rollout-….jsonl.zst`. Pipeline: `source.py` opens a log -> here ->
the unpacked bytes are the log. The library is loaded only where such a file is met. A file is read whole or not at all,
as git reads an object: a part of it could pass for a shorter session.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ctxkit.errors import CannotUnpack

MAGIC = 4
"""How many bytes begin a frame."""
_FRAME, _SKIPPED = b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
"""The first bytes of a frame (RFC 8878, 3.1.1); those of one to skip, without the first, 0x50 to 0x5f (3.1.2)."""
LARGEST = 2 << 30
"""Unpacked bytes that are read at most: 100 KB can unpack to any size, and would fill a disk."""
_PIECE = 1 << 20
_AS_IS = "nothing was read or changed"


def is_compressed(start: bytes) -> bool:
    """Whether a file with this start is compressed."""
    return start.startswith(_FRAME) or (start[1:MAGIC] == _SKIPPED and start[0] >> 4 == 5)


def unpacked(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The bytes in the frames of a compressed file, in pieces of a megabyte at most; `name`: for messages.

    Raises CannotUnpack if the file is damaged or not whole, or has more than LARGEST bytes.
    """
    zstd = _library()
    frame, size = None, 0
    for piece in pieces:
        while piece or frame is not None:
            frame = frame or zstd.ZstdDecompressor()
            try:
                out = frame.decompress(piece, _PIECE)
            except zstd.ZstdError as error:
                reason = str(error).rpartition(": ")[2].lower()
                raise CannotUnpack(f"{name}: cannot be unpacked: {reason}: {_AS_IS}", f"zstd -t {name}") from error
            size += len(out)
            if size > LARGEST:
                text = f"{name}: unpacks to more than {LARGEST >> 30} GiB: {_AS_IS}"
                raise CannotUnpack(text, f"zstd -d {name}, if you know where it comes from")
            if out:
                yield out
            piece = b""
            if frame.eof:
                piece, frame = frame.unused_data, None  # another frame may follow
            elif frame.needs_input:
                break
    if frame is not None:
        raise CannotUnpack(f"{name}: its end is missing: {_AS_IS}", "a whole copy can be read")


def _library() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
