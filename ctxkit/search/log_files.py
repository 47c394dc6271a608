"""Finds the files that many places stand for: logs by name, and folders with all logs below, each file once.

Used by the commands that take many logs; `store/folder.py` walks, as for `recall` and `sessions`. Whether a file below
a folder is a log is only known when it is read; what is no log is then left out, by `ruin`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.log_name import plain_name
from ctxkit.errors import CtxkitError, UnknownFormat
from ctxkit.formats import registry
from ctxkit.formats.codex.threads import file_id, older_pages
from ctxkit.formats.session_folders import START, head
from ctxkit.store.folder import RUINED, Known, file_name, ruined, sidecar_name, walk, without_sidecars
from ctxkit.store.source import start_of


class LogFile(NamedTuple):
    """A file to read. `size`: its bytes, 0 if unknown. `error`: why it, or a folder, cannot be read.

    `folder`: the place below which it was found, "" if it was named itself.
    """

    path: str
    size: int = 0
    folder: str = ""
    error: OSError | None = None


def log_files(places: Iterable[str | os.PathLike[str]]) -> list[LogFile]:
    """The files of the places, in their order, those below a folder by name; each once, whatever links lead to it.

    The logs of a session's own agents, which its program keeps beside it, are left out where the session is found too,
    and older pages of a thread beside its newest: `sessions` lists the same. So are sidecars and what is below `.git`.
    """
    known: Known = set()
    named = without_sidecars([os.fspath(place) for place in places])
    found = [one for place in named for one in _of(place, known)]
    paths = {one.path for one in found}
    older = older_pages([one.path for one in found if one.folder])
    left = [one for one in found if not (one.folder and (one.path in older or _is_agents(one.path, paths)))]
    own = [one for one in left if not (one.folder and _is_subagents(one))]
    return own or left


def _of(place: str, known: Known) -> Iterator[LogFile]:
    try:
        if not os.path.isdir(place):
            at = os.stat(place)
            if (at.st_dev, at.st_ino) not in known:
                known.add((at.st_dev, at.st_ino))
                yield LogFile(place, at.st_size)
            return
        for entry in walk(Path(place), known):
            if entry.sidecar or ".git" in entry.path.parts:
                continue
            size = 0 if entry.found is None else entry.found.st_size
            yield LogFile(file_name(entry.path), size, place, entry.error)
    except OSError as error:
        yield LogFile(place, error=error)


def _is_agents(path: str, paths: set[str]) -> bool:
    """Whether a file is the log of an agent whose session is one of the paths."""
    return any(str(session_of(Path(path), name)) in paths for name in registry.HOMES)


def _is_subagents(one: LogFile) -> bool:
    """Whether a rollout says that it is the thread of a subagent: Codex keeps these among the others."""
    if not file_id(one.path.rpartition(os.sep)[2]):
        return False
    with suppress(CtxkitError):
        return head("codex", start_of(one.path, START)).sub
    return False


def ruin_of(path: Path) -> UnknownFormat | None:
    """The error of a file that was a log and is ruined, by its start; None also for one that cannot be opened."""
    try:
        start = start_of(os.fspath(path), START)
    except CtxkitError:
        return None  # whoever reads it says so
    words = ruined(os.fspath(path), start)
    return UnknownFormat(f"{path}: {words}: it is no log any more", RUINED) if words else None


def ruin(path: str, start: bytes, error: UnknownFormat | None = None) -> UnknownFormat | None:
    """The error of a file below a folder that cannot be read as a log, if it was one: it is ruined, or has a sidecar.

    `start`: its first bytes; `error`: why it cannot be read, None where its start tells. None: it never was a log, or
    is healthy JSON of another shape.
    """
    if words := ruined(path, start):
        return UnknownFormat(f"{path}: {words}: it is no log any more", RUINED)
    if not start or not os.path.isdir(sidecar_name(path)) or ".git" in Path(path).parts:
        return None
    return error or UnknownFormat(f"{path}: it has a sidecar, and holds no record", RUINED)


def is_other(path: str) -> bool:
    """Whether a file that never was a log has the name of one, so that leaving it out is said."""
    return plain_name(path).endswith(".jsonl") and ".git" not in Path(path).parts


def session_of(path: Path, format: str) -> Path | None:
    """The session to which a file of this name belongs as the log of an agent, in this format; None if it is none."""
    place = registry.by_name(format).agents
    if place is None:
        return None
    folder, before, behind = place
    own = next((one.parent for one in path.parents if one.name == folder), None)
    if own is None or not (path.name.startswith(before) and path.name.endswith(behind)):
        return None
    return own.with_name(own.name + path.suffix)
