"""The files below a folder that may be logs, in a stable order.

Used by `recall` over folders; `named` finds what a program keeps beside a log. Links to folders are followed once;
sidecars (`*.ctxkit`) hold no logs of their own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

SIDECAR = ".ctxkit"
START = 1 << 16
"""Bytes of a file in which a line begins that is a JSON object or array, if it is a log."""


def files_below(folder: Path) -> Iterator[Path]:
    """Every regular file below `folder`, by name, each once, however many links lead to it. Raises OSError for it."""
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    first = True
    while waiting:
        path = waiting.pop()
        try:
            found = os.stat(path)
            if (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
            if stat.S_ISREG(found.st_mode):
                yield path
            elif stat.S_ISDIR(found.st_mode) and (first or not path.name.endswith(SIDECAR)):
                waiting.extend(path / name for name in sorted(os.listdir(path), reverse=True))
        except OSError:
            if first:
                raise
            yield path  # whoever opens it says why it cannot be read
        first = False


def named(folder: Path, before: str, behind: str) -> dict[str, Path]:
    """The regular files right in `folder` by what stands in their names between `before` and `behind`.

    Empty where there is no such folder. Links are not followed: neither files nor the folder, nor the one above it.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        return {}
    try:
        with os.scandir(folder) as entries:
            files = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError:
        return {}
    found = (name for name in files if name.startswith(before) and name.endswith(behind))
    return {key: folder / name for name in found if (key := name[len(before) : len(name) - len(behind)])}


def may_be_log(start: bytes) -> bool:
    """Whether a file that starts so may be a log. An empty one holds nothing to look for."""
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return any(line.lstrip(b" \t\r\0")[:1] in (b"{", b"[") for line in lines if line)
