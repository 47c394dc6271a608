"""Packs files as programs do that compress their sessions."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def packed(data: bytes) -> bytes:
    """The bytes in one frame."""
    return zstd.compress(data)


def pack(path: Path) -> Path:
    """A file replaced by the compressed one, of the same times, as Codex does."""
    there = path.with_name(path.name + ".zst")
    there.write_bytes(packed(path.read_bytes()))
    path.unlink()
    return there
