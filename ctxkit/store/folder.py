"""Finds the files below a folder that may be logs, in a stable order.

Used by `recall` and `sessions` over folders; `named` finds the files that a program keeps beside a log. Each folder is
entered once, also by links; sidecars (`*.ctxkit`) contain no logs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SIDECAR = ".ctxkit"
START = 1 << 16
"""Bytes at the start of a file in which the first JSON object or array begins, if it is a log."""


class FolderEntry(NamedTuple):
    """A regular file or a sidecar below a folder. `found` is None if it cannot be read; `error` says why.

    `sidecar`: it is a sidecar. `alone`: it is not a link, and has no sidecar beside it.
    """

    path: Path
    found: os.stat_result | None
    sidecar: bool = False
    alone: bool = False
    error: OSError | None = None


Known = set[tuple[int, int]]
"""Device and inode of files and folders that were found already."""


def is_sidecar(name: str) -> bool:
    """Whether a folder of this name is the sidecar of a log; `.ctxkit` alone is not."""
    return name.endswith(SIDECAR) and name != SIDECAR


def file_name(path: str | Path) -> str:
    """The path of a file as a word: `./-` and `./@x`, because `-` is standard input and `@x` a session."""
    name = os.fspath(path)
    return os.path.join(os.curdir, name) if name == "-" or name.startswith("@") else name


def without_sidecars(places: Sequence[str]) -> Sequence[str]:
    """The places that are not inside the sidecar of a log, as `find` and a pattern of the shell name them besides.

    All of them, if no other is left: then they are meant.
    """
    return [place for place in places if not _in_sidecar(place)] or places


def _in_sidecar(place: str) -> bool:
    path = os.path.normpath(place)
    while path != (above := os.path.dirname(path)) and above:
        if is_sidecar(os.path.basename(path)) and os.path.isfile(path.removesuffix(SIDECAR)):
            return True
        path = above
    return is_sidecar(path) and os.path.isfile(path.removesuffix(SIDECAR))


def walk(folder: Path, known: Known | None = None) -> Iterator[FolderEntry]:
    """All regular files and sidecars below `folder`, by name, each once even if several links lead to it.

    `known`: files and folders to leave out; those found are added to it, so that several walks may overlap. `folder`
    may be a file. Raises OSError if `folder` itself cannot be read.
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
    """The entries of a folder, the last name first; each with whether it is no link and has no sidecar."""
    with os.scandir(folder) as entries:
        names = {entry.name: entry.is_symlink() for entry in entries}
    return [
        (os.path.join(folder, name), not names[name] and name + SIDECAR not in names)
        for name in sorted(names, reverse=True)
    ]


def named(folder: Path, before: str, behind: str) -> dict[str, Path]:
    """The regular files in `folder` named `before` + key + `behind`, by key.

    Empty if there is no such folder. Links are not followed: neither of files nor of the folder or the one above it.
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
    """The sidecars in `folder` without their log, by name; empty if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError:
        return []
    some = sorted(name for name, is_folder in names.items() if is_folder and is_sidecar(name))
    return [folder / name for name in some if name.removesuffix(SIDECAR) not in names]


def may_be_log(start: bytes) -> bool:
    """Whether a file with this start may be a log. An empty file is none."""
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return any(line.lstrip(b" \t\r\0")[:1] in (b"{", b"[") for line in lines if line)
