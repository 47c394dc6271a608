"""The folders that a session names as its working folders: read from a log, and renamed if they have moved.

Pipeline: `export/session.py` writes a session -> `moved` -> `export/resume.py` puts it where its agent looks. Text,
calls and results of messages are not changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.core.text.json_structs import NoObject
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.text.splice import Path, spliced
from ctxkit.formats.base import Row
from ctxkit.formats.session_folders import gemini_owner, slug
from ctxkit.logfile.read import blocks_of
from ctxkit.store.spool import lines_of

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog

_KEY = b'"cwd"'


class _Payload(msgspec.Struct, gc=False):
    cwd: Any = None


class _FolderRow(Row):
    """The parts of a row that name its working folder."""

    type: Any = None
    cwd: Any = None
    payload: _Payload | NoObject = None


PLACES: dict[str, tuple[tuple[str, ...], Path]] = {
    "claude-code": ((), ("cwd",)),
    "codex": (("session_meta", "turn_context"), ("payload", "cwd")),
    "pi": (("session",), ("cwd",)),
}
"""Format -> the types of rows that name a folder (none: all types), and the path of the folder in the row."""


def folder_of(log: OpenLog) -> str:
    """The folder that the program of `log` ran in when the session began; "" if the log names none, or a relative one.

    If it names several, the one whose session folder holds the file, else the first.
    """
    name, path = log.opening.format.name, log.opening.path
    if name == "gemini-cli" and path is not None:
        return gemini_owner(path.resolve().parents[1])
    if name not in PLACES:
        return ""
    kept = path.resolve().parent.name if path is not None and name == "claude-code" else ""
    first = ""
    for block in blocks_of(log.opening, _FolderRow):
        for row in block.rows:
            found = _named(row, *PLACES[name])
            if not (os.path.isabs(found) or PureWindowsPath(found).is_absolute()):
                continue  # it would count from wherever the command runs
            first = first or found
            if found and (not kept or slug(found) == kept):
                return found
    return first


def _named(row: _FolderRow, types: tuple[str, ...], path: Path) -> str:
    """The folder that a row names; "" for none."""
    if isinstance(row.ctxkit, str) or (types and row.type not in types):
        return ""
    found = row.cwd if len(path) == 1 else getattr(row.payload, "cwd", None)
    return found if isinstance(found, str) else ""


class Moves:
    """Folders that have moved. `pairs`: the old and the new beginning of a path; of several that fit, the longest
    counts, of equal ones the first.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._pairs = sorted(((_without_slash(old), new) for old, new in pairs), key=lambda pair: -len(pair[0]))

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def of(self, folder: str) -> str:
        """The folder's new path."""
        for old, new in self._pairs:
            rest = folder[len(old) :]
            if folder.startswith(old) and (not rest or rest[0] in "/\\" or old.endswith(("/", "\\"))):
                if "\\" in rest and "\\" not in new and not rest.startswith("/"):
                    rest = rest.replace("\\", "/")
                start = _without_slash(new)
                return start.removesuffix("/") + ("" if rest[0] in "/\\" else "/") + rest if rest else start
        return folder


def _without_slash(folder: str) -> str:
    """A path without a separator at its end, unless it is the root of a file system or of a drive."""
    found = folder.rstrip("/\\")
    return found if found and not (len(found) == 2 and found[1] == ":") else folder


def moved(pieces: Iterable[bytes], format: str, moves: Moves) -> Iterator[bytes]:
    """The lines of a session, with the new paths of the folders that its rows name; all other bytes are kept."""
    if format not in PLACES:
        yield from pieces
        return
    for line in lines_of(pieces):
        found = _stated(line, format) if _KEY in line else ""
        there = moves.of(found)
        changed = {PLACES[format][1]: dumps(there).encode("ascii")} if there != found else {}
        yield (spliced(line, changed) if changed else line) + b"\n"


def _stated(line: bytes, format: str) -> str:
    """The folder that a line names; "" for none, and for a line that is not a record."""
    try:
        record = loads(line)
    except ValueError:
        return ""
    types, path = PLACES[format]
    if not isinstance(record, dict) or (types and record.get("type") not in types):
        return ""
    value: Any = record
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
