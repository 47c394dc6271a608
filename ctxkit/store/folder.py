"""The files below a folder that may be logs, in a stable order.

Used by `recall` and `sessions` over folders; `named` finds what a program keeps beside a log. Links to folders are
followed once; sidecars (`*.ctxkit`) hold no logs of their own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SIDECAR = ".ctxkit"
START = 1 << 16
"""Bytes of a file in which a line begins that is a JSON object or array, if it is a log."""


class FolderEntry(NamedTuple):
    """Something below a folder. `found` is None where it cannot be looked at; `error` says why.

    `sidecar`: a folder of ctxkit's, which holds no logs; else a regular file. `alone`: it is no link, and there is no
    sidecar beside it.
    """

    path: Path
    found: os.stat_result | None
    sidecar: bool = False
    alone: bool = False
    error: OSError | None = None


Known = set[tuple[int, int]]
"""Device and inode of what was given already."""


def is_sidecar(name: str) -> bool:
    """Whether a folder of this name is the sidecar of a log; `.ctxkit` alone is of none."""
    return name.endswith(SIDECAR) and name != SIDECAR


def walk(folder: Path, known: Known | None = None) -> Iterator[FolderEntry]:
    """Everything below `folder` that counts, by name, each once, however many links lead to it. Raises OSError for it.

    `known`: what is left out, to which all of it is added, so that several folders may overlap. `folder` may be a file.
    """
    seen = set[tuple[int, int]]() if known is None else known
    waiting = [(os.fspath(folder), False)]
    first = True
    while waiting:
        path, alone = waiting.pop()
        try:
            found = os.stat(path)
            key = found.st_dev, found.st_ino
            if key in seen:
                continue
            seen.add(key)
            if stat.S_ISREG(found.st_mode):
                yield FolderEntry(Path(path), found, alone=alone)
            elif stat.S_ISDIR(found.st_mode):
                if is_sidecar(os.path.basename(path)) and not first:
                    yield FolderEntry(Path(path), found, sidecar=True)
                else:
                    waiting.extend(_listed(path))
        except OSError as error:
            if first:
                raise
            yield FolderEntry(Path(path), None, error=error)
        first = False


def _listed(folder: str) -> list[tuple[str, bool]]:
    """What is in a folder, the last name first; whether it is no link and has no sidecar."""
    with os.scandir(folder) as entries:
        names = {entry.name: entry.is_symlink() for entry in entries}
    return [
        (os.path.join(folder, name), not names[name] and name + SIDECAR not in names)
        for name in sorted(names, reverse=True)
    ]


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


def orphans(folder: Path) -> list[Path]:
    """The sidecars right in `folder` whose log is not there, by name; empty where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError:
        return []
    some = sorted(name for name, is_folder in names.items() if is_folder and is_sidecar(name))
    return [folder / name for name in some if name.removesuffix(SIDECAR) not in names]


def may_be_log(start: bytes) -> bool:
    """Whether a file that starts so may be a log. An empty one holds nothing to look for."""
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return any(line.lstrip(b" \t\r\0")[:1] in (b"{", b"[") for line in lines if line)
