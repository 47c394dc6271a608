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

from ctxkit.core.log_name import COMPRESSED, plain_name
from ctxkit.core.text.json_text import loads

SIDECAR = ".ctxkit"
LOG_ENDINGS = (".jsonl", ".json", f".jsonl{COMPRESSED}", f".json{COMPRESSED}")
"""Ends of the names of logs."""
RUINED = "bring it back from a backup, or move it away"
"""What to do with a file that was a log."""
ONLY_NULS = "it holds only NUL bytes"
FIRST_ROWS = 64
"""Rows of a file that show whether it is of JSON."""
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


def sidecar_name(log: str) -> str:
    """The name, or the path, of the sidecar of a log. It stays the same when a program compresses the log."""
    return plain_name(log) + SIDECAR


def logs_of(sidecar: str) -> tuple[str, str]:
    """The names, or the paths, that the log of a sidecar can have: plain, compressed."""
    log = sidecar.removesuffix(SIDECAR)
    return log, log + COMPRESSED


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
        if is_sidecar(os.path.basename(path)) and any(map(os.path.isfile, logs_of(path))):
            return True
        path = above
    return is_sidecar(path) and any(map(os.path.isfile, logs_of(path)))


def walk(folder: Path, known: Known | None = None) -> Iterator[FolderEntry]:
    """All regular files and sidecars below `folder`, by name, each once even if several links lead to it.

    A compressed file beside one of the same name is left out: while Codex packs or unpacks a log, there are both.
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


def entry_of(path: Path) -> FolderEntry:
    """A file as it is now, as a walk would find it; `alone` where it is no link and has no sidecar."""
    try:
        found = os.stat(path)
    except OSError as error:
        return FolderEntry(path, None, error=error)
    return FolderEntry(path, found, alone=not (path.is_symlink() or os.path.lexists(sidecar_name(str(path)))))


def _listed(folder: str) -> list[tuple[str, bool]]:
    """The entries of a folder, the last name first; each with whether it is no link and has no sidecar. No compressed
    file beside the plain one.
    """
    with os.scandir(folder) as entries:
        names = {entry.name: entry.is_symlink() for entry in entries}
    return [
        (os.path.join(folder, name), not names[name] and sidecar_name(name) not in names)
        for name in sorted(names, reverse=True)
        if plain_name(name) == name or plain_name(name) not in names
    ]


def named(folder: Path, before: str, behind: str) -> dict[str, Path]:
    """The regular files below `folder` named `before` + key + `behind`, by key.

    Those in folders in it count too. Empty if there is no such folder. Links are not followed: neither of files and
    folders nor of the one above it.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        return {}
    found: dict[str, Path] = {}
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            key = name[len(before) : len(name) - len(behind)]
            path = Path(place, name)
            if name == before + key + behind and key and path.is_file() and not path.is_symlink():
                found.setdefault(key, path)
    return dict(sorted(found.items()))


def orphans(folder: Path) -> list[Path]:
    """The sidecars in `folder` without their log, by name; empty if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError:
        return []
    some = sorted(name for name, is_folder in names.items() if is_folder and is_sidecar(name))
    return [folder / name for name in some if names.keys().isdisjoint(logs_of(name))]


def ruined(name: str, start: bytes) -> str:
    """Why a file that has the name of a log, and this start, holds none any more: NUL bytes, HTML, no JSON.

    "" for an empty file, for healthy JSON of whatever shape, and for other names. Of a `.json` file, which may have
    comments, only the first byte is judged.
    """
    if not name.endswith(LOG_ENDINGS):
        return ""
    plain = start.removeprefix(b"\xef\xbb\xbf")
    text = plain.strip(b" \t\r\n\0")
    if not text:
        return ONLY_NULS if b"\0" in plain else ""
    if text.startswith(b"<"):
        return "it holds HTML or XML"
    if not plain_name(name).endswith(".jsonl"):
        return ""
    rows = [row for row in text.split(b"\n") if row.strip(b" \t\r\0")][:FIRST_ROWS]
    is_cut = len(start) >= START and len(rows) < FIRST_ROWS
    if (is_cut and rows[-1].lstrip(b" \t\0")[:1] in (b"{", b"[")) or any(map(_is_json, (*rows, text))):
        return ""
    return "its first rows are not JSON"


def _is_json(row: bytes) -> bool:
    try:
        loads(row.strip(b" \t\r\0"))
    except ValueError:
        return False
    return True


def may_be_log(start: bytes) -> bool:
    """Whether a file with this start may be a log. An empty file is none."""
    lines = start.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return any(line.lstrip(b" \t\r\0")[:1] in (b"{", b"[") for line in lines if line)
