"""The archive: copies of the agents' sessions and of the files beside them, in the folders that the agents use.

Pipeline: `project_sessions.py` finds the sessions -> `items` -> `store/archive_files.py` copies what is new. An archive
is laid out like a home folder (`DIR/.claude/projects/...`), so sessions are found in it as in a home.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from ctxkit.errors import ArchiveFailed, CtxkitError, Usage
from ctxkit.formats.session_folders import MARKER, REGISTRY, START, TRUSTED, head, pi_slug
from ctxkit.search.project_sessions import SessionFile, SessionHome, files_of, session_head, session_homes
from ctxkit.search.prompt_history import FILE as HISTORY
from ctxkit.store import atomic
from ctxkit.store.archive_files import REPLACED, Archive, Difference
from ctxkit.store.folder import SIDECAR, sidecar_name
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import start_of

NOWHERE = "--unknown--"
"""The folder for sessions without a working folder, of a program that keeps all sessions in one folder."""
_BESIDE_HOME = {"claude-code": HISTORY, "gemini-cli": REGISTRY}
"""Format -> the file beside the folder of its program's sessions."""


class ArchiveItem(NamedTuple):
    """A file for the archive. `name`: its path there; `keep`: the folder for the copies that it replaces.

    `session`: it is a session itself, not a file beside one, or the log of an agent's own agent.
    """

    original: Path
    name: str
    keep: str
    format: str
    session: bool = False


class Archived(NamedTuple):
    """The result for one file: the difference, or the error."""

    item: ArchiveItem
    difference: Difference
    error: CtxkitError | None = None


def items(env: Mapping[str, str]) -> Iterator[ArchiveItem]:
    """All files for an archive of the agents' sessions: each session before the files beside it."""
    copies = session_homes({"HOME": os.curdir}, archived=False)
    for home, copy in zip(session_homes(env, archived=False), copies, strict=True):
        top = os.path.normpath(copy.folder)
        seen = set[str]()
        for one in sorted(files_of(home)):
            yield from _of_session(home, one, os.path.join(top, _place(home, one)))
            yield from _markers(home, one, top, seen)
        beside = _BESIDE_HOME.get(home.format)
        if beside is not None:
            yield from _if_there(home.folder.with_name(beside), os.path.join(os.path.dirname(top), beside), home.format)


def archive(folder: Path, env: Mapping[str, str], *, dry_run: bool = False) -> Iterator[Archived]:
    """Copy what is new into the archive, file by file; yields the result of each file, also of unchanged ones.

    A file that cannot be read gets an error, and the others are still copied. `dry_run`: nothing is written.
    Raises Locked; Usage if the folder cannot be an archive;
    ArchiveFailed if it cannot be written to.
    """
    refuse_home(folder, env)
    found = Archive(folder)
    with nullcontext() if dry_run else found.writing():
        for item in items(env):
            original, name = item.original, item.name
            try:
                yield Archived(
                    item, found.compare(original, name) if dry_run else found.bring(original, name, item.keep)
                )
            except ArchiveFailed:
                raise
            except CtxkitError as error:
                yield Archived(item, Difference("same"), error)


def refuse_home(folder: Path, env: Mapping[str, str]) -> None:
    """Raises Usage for a folder in which an agent keeps its own sessions, or a folder inside one."""
    there = Path(os.path.realpath(folder))
    copies = session_homes({"HOME": str(there)}, archived=False)
    for home, copy in zip(session_homes(env, archived=False), copies, strict=True):
        own = Path(os.path.realpath(home.folder))
        if there.is_relative_to(own) or copy.folder == own:
            text = f"{folder} cannot be the archive: {home.format} keeps its own sessions there: nothing was copied"
            raise Usage(text, "name a folder of its own")


def _place(home: SessionHome, one: SessionFile) -> str:
    """The path of a session, below the folder of its program's sessions."""
    if not home.flat:
        return os.path.relpath(one.path, home.folder)
    try:
        begun = head(one.format, start_of(one.path, START)).folder
    except CtxkitError:
        begun = ""
    return os.path.join(pi_slug(begun) if begun else NOWHERE, os.path.basename(one.path))


def _of_session(home: SessionHome, one: SessionFile, name: str) -> Iterator[ArchiveItem]:
    """A session, its sidecar, and the folder of the same name in which Claude Code keeps further files of it."""
    path, keep = Path(one.path), f"{sidecar_name(name)}/{REPLACED}"
    yield ArchiveItem(path, name, keep, home.format, session=not session_head(one).sub)
    sidecar = Sidecar(path)
    if not sidecar.ignored:
        yield from _below(sidecar.folder, sidecar_name(name), keep, home.format)
    own = path.with_suffix("")
    if own != path and not os.path.islink(own):
        yield from _below(own, os.path.splitext(name)[0], keep, home.format)


def _below(folder: Path, name: str, keep: str, format: str) -> Iterator[ArchiveItem]:
    """The regular files below a folder, by name, without links and temporary files of ours."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda one: one.name)
    except OSError:
        return
    for one in found:
        if one.name.startswith(atomic.PREFIX):
            continue
        if one.is_dir(follow_symlinks=False):
            yield from _below(Path(one.path), f"{name}/{one.name}", keep, format)
        elif one.is_file(follow_symlinks=False):
            yield ArchiveItem(Path(one.path), f"{name}/{one.name}", keep, format)


def _markers(home: SessionHome, one: SessionFile, top: str, seen: set[str]) -> Iterator[ArchiveItem]:
    """The files in the first folder of a session that name its project, once for each folder."""
    first = os.path.relpath(one.path, home.folder).partition(os.sep)[0]
    if home.flat or first in seen:
        return
    seen.add(first)
    for marker in (MARKER, TRUSTED):
        yield from _if_there(home.folder / first / marker, os.path.join(top, first, marker), home.format)


def _if_there(path: Path, name: str, format: str) -> Iterator[ArchiveItem]:
    """A file that belongs to no session, if it exists."""
    if os.path.isfile(path):
        yield ArchiveItem(path, name, f"{name}{SIDECAR}/{REPLACED}", format)
