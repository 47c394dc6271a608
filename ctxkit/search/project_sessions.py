"""Finds the sessions of a project, of all agents, newest first, by reading only the start of each file.

A project is the git repository that a folder is in, else the folder itself; its sessions are those that were begun in
it, or in a folder below it. Pipeline: `formats/session_folders.py` has the folders of the programs -> here ->
`naming.py` (`@`) and `sessions.py` (`--here`). Only folders that can be the project's are listed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.log_name import COMPRESSED, plain_name
from ctxkit.errors import CtxkitError, NoSuchLog
from ctxkit.formats import registry
from ctxkit.formats.codex.threads import older_pages
from ctxkit.formats.session_folders import (
    LAYOUTS,
    START,
    SessionHead,
    SessionLayout,
    cursor_workspace,
    gemini_names,
    gemini_owner,
    head,
    session_id,
)
from ctxkit.search.resumed import untouched
from ctxkit.settings.config import load_user
from ctxkit.store.source import start_of

FIRST = 4096
"""Bytes of a session that are read first; most name their folder in them."""
BY_NAME = ("gemini-cli", "cursor")
"""Formats whose sessions do not name the folder that they were begun in; the name of their session folder does."""


class Project(NamedTuple):
    """A project. `folder`: its top; `spellings`: all paths of the top, also by links; `inside`: the folders from the
    requested one up to the top, in each spelling.
    """

    folder: str
    spellings: tuple[str, ...]
    inside: tuple[str, ...]

    def holds(self, folder: str) -> bool:
        """Whether a folder is the project's top or below it."""
        plain = os.path.normpath(folder) if folder else ""
        return any(plain == one or plain.startswith(one.rstrip("/") + "/") for one in self.spellings)


class SessionFile(NamedTuple):
    """A session's file. `modified`: nanoseconds since 1970; `folder`: the one it was begun in; `id`: its program's."""

    path: str
    format: str
    modified: int
    size: int
    folder: str
    id: str


def project(folder: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> Project:
    """The project of a folder (default: the working folder). Raises NoSuchLog if the working folder is gone."""
    known = os.environ if env is None else env
    try:
        asked = os.path.abspath(folder or os.curdir)
    except FileNotFoundError as error:
        raise NoSuchLog("the working folder is gone, and so is its project", "cd to the project") from error
    spelled = known.get("PWD", "")
    names = [os.path.realpath(asked), asked]
    if spelled and os.path.isabs(spelled) and _same(spelled, asked):
        names.append(os.path.normpath(spelled))
    tops, inside = [], []
    for name in dict.fromkeys(names):
        above = [name, *map(str, Path(name).parents)]
        top = next((i for i, one in enumerate(above) if os.path.lexists(os.path.join(one, ".git"))), 0)
        tops.append(above[top])
        inside += above[: top + 1]
    return Project(tops[0], tuple(dict.fromkeys(tops)), tuple(dict.fromkeys(inside)))


def _same(a: str, b: str) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def home_folders(env: Mapping[str, str]) -> dict[str, Path]:
    """Format -> the folder in which its program keeps sessions; it may not exist."""
    return {name: home.path(env) for name, home in registry.HOMES.items()}


def _all_folders(env: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Formats and folders: those of `home_folders`, each before that of the sessions that its user archived."""
    for name, folder in home_folders(env).items():
        yield name, folder
        if retired := registry.HOMES[name].retired:
            yield name, folder.with_name(retired)


class SessionHome(NamedTuple):
    """A folder of sessions of one format: the program's own, or its copy in an archive.

    `original`: for a copy, the program's own folder; `flat`: the one folder in which the program keeps all sessions, ""
    if there is none.
    """

    format: str
    folder: Path
    original: Path | None = None
    flat: str = ""

    @property
    def is_archived(self) -> bool:
        """Whether it is a copy."""
        return self.original is not None

    @property
    def is_retired(self) -> bool:
        """Whether it is the folder of the sessions that the program's user archived."""
        retired = registry.HOMES[self.format].retired
        return bool(retired) and self.folder.name == retired

    @property
    def place(self) -> Path:
        """The folder in which the sessions are now."""
        return Path(self.flat) if self.flat and not self.is_archived else self.folder

    def has_original(self, path: str) -> bool:
        """Whether the original of a file or folder in the copy still exists."""
        if self.original is None:
            return False
        name = plain_name(os.path.basename(path))
        if self.flat:
            places = [Path(self.flat, name)]
        else:
            places = [self.original / os.path.relpath(plain_name(path), self.folder)]
        if retired := registry.HOMES[self.format].retired:  # it may have been archived since, or taken back
            root = self.original.parent
            day = name.removeprefix("rollout-")[:10].split("-")
            places += [root / retired / name, root.joinpath(registry.HOMES[self.format].inside, *day, name)]
        return any(os.path.lexists(f"{place}{ending}") for place in places for ending in ("", COMPRESSED))


def session_homes(env: Mapping[str, str], *, archived: bool = True) -> Iterator[SessionHome]:
    """The folders of all programs, existing or not; then those of the archive that the user's config names."""
    own = list(_all_folders(env))
    for name, folder in own:
        yield SessionHome(name, folder, flat=env.get(LAYOUTS[name].flat, ""))
    archive = archive_folder(env) if archived else None
    if archive is not None:
        for (name, folder), (_, original) in zip(_all_folders({"HOME": str(archive)}), own, strict=True):
            yield SessionHome(name, folder, original, env.get(LAYOUTS[name].flat, ""))


def archive_folder(env: Mapping[str, str]) -> Path | None:
    """The archive that the user's config names; None without one."""
    config = load_user(env)
    return Path(os.path.expanduser(config["archive.dir"])) if config["archive.dir"] else None


def project_sessions(
    env: Mapping[str, str], of: Project, format: str | None = None, *, agents: bool = False, archived: bool = True
) -> Iterator[SessionFile]:
    """The sessions of a project, of one format or of all, the one that was written last first; what `watch` wrote by
    itself is behind its source, until somebody goes on with it: the person is in the source.

    `agents`: also sessions of an agent's subagents, if these have files of their own. `archived`: also those of
    the archive that the programs no longer have. Starts are read as the caller iterates.
    """
    files = sorted(all_files(env, format, of=of, archived=archived), key=lambda one: (-one.modified, one.path))
    files = _behind_sources(files, untouched({one.path: one.size for one in files}, env))
    older = older_pages([one.path for one in files if one.format == "codex"])
    for one in files:
        if one.path in older:
            continue
        start = session_head(one)
        folder = one.folder if one.format in BY_NAME else start.folder or (one.folder if one.size > START else "")
        if folder and of.holds(folder) and (agents or not start.sub):
            yield one._replace(folder=folder, id=start.id or one.id)


def names_in_order(files: Iterable[SessionFile]) -> dict[str, str]:
    """Path -> name (`@`, `@2`) of each of a project's sessions, in the order of `project_sessions`."""
    return {one.path: f"@{place}" if place > 1 else "@" for place, one in enumerate(files, 1)}


def _behind_sources(files: list[SessionFile], copies: Mapping[str, str]) -> list[SessionFile]:
    """The files, each copy right behind the source that it names, if that is among them."""
    places = {one.path: place for place, one in enumerate(files)}

    def place(path: str) -> int:
        source = copies.get(path)
        return max(places[path], places.get(source, -1)) if source is not None else places[path]

    return sorted(files, key=lambda one: (place(one.path), places[one.path] < place(one.path)))


def all_files(
    env: Mapping[str, str], format: str | None = None, *, of: Project | None = None, archived: bool = True
) -> Iterator[SessionFile]:
    """Every session file below the programs' folders, in no order; nothing is read. `of`: only those that may be of a
    project.

    `archived`: also files of the archive that the programs no longer have.
    """
    homes = (home for home in session_homes(env, archived=archived) if format in (None, home.format))
    return chain.from_iterable(files_of(home, of) for home in homes)


def files_of(home: SessionHome, of: Project | None = None) -> Iterator[SessionFile]:
    """The session files of a home, in no order; nothing is read. `of`: only those that may be of a project."""
    name, layout = home.format, LAYOUTS[home.format]
    pieces = layout.pattern.split("/")
    flat = "" if home.is_archived else home.flat
    flat = str(home.folder) if home.is_retired else flat
    folders = [(flat, "")] if flat else _folders(name, layout, str(home.folder), of)
    within = pieces[-1:] if flat else pieces if folders is None else pieces[1:]
    for folder, begun in [(str(home.folder), "")] if folders is None else folders:
        for path, found in _below(folder, within):
            if home.is_archived and home.has_original(path):
                continue
            if found.st_size and not (layout.skip and layout.skip.match(os.path.basename(path))):
                yield SessionFile(path, name, found.st_mtime_ns, found.st_size, begun, session_id(name, path))


def _folders(format: str, layout: SessionLayout, home: str, of: Project | None) -> list[tuple[str, str]] | None:
    """The folders of a program that may have sessions of a project, each with the folder that its name stands for ("":
    unknown); None if names of folders mean nothing.
    """
    if of is None or layout.slug is None:
        return None
    try:
        names = os.listdir(home)
    except OSError:
        return []
    if format in BY_NAME:
        known = {name: folder for folder, name in gemini_names(home).items()} if format == "gemini-cli" else {}
        noted = gemini_owner if format == "gemini-cli" else cursor_workspace
        slugs = {layout.slug(one): one for one in of.inside}
        begun = ((name, known.get(name) or noted(Path(home, name)) or slugs.get(name.lower(), "")) for name in names)
        return [(os.path.join(home, name), folder) for name, folder in begun if folder and of.holds(folder)]
    own = {layout.slug(one)[: layout.cut]: one for one in of.spellings}
    inner = [layout.slug(os.path.join(one, "a")) for one in of.spellings]
    below = tuple(one[: layout.cut] if len(one) > layout.cut else one.rpartition("a")[0] for one in inner)
    fitting = (name for name in names if name[: layout.cut] in own or name.startswith(below))
    return [(os.path.join(home, name), own.get(name[: layout.cut], "")) for name in fitting]


def _below(folder: str, pieces: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a folder that fit a pattern, given as path components; unreadable ones are skipped.

    A compressed file fits as the plain one does, and is left out beside it.
    """
    first, *rest = pieces
    try:
        if "*" not in first:
            paths = [os.path.join(folder, first)]
        else:
            fits = re.compile(translate(first)).match
            with os.scandir(folder) as entries:
                if rest:
                    paths = [entry.path for entry in entries if fits(entry.name) and entry.is_dir()]
                else:
                    files = {entry.path for entry in entries if fits(plain_name(entry.name))}
                    paths = [path for path in files if (plain := plain_name(path)) == path or plain not in files]
    except OSError:
        return
    for path in paths:
        if rest:
            yield from _below(path, rest)
            continue
        try:
            found = os.stat(path)
        except OSError:
            continue
        if (found.st_mode & 0o170000) == 0o100000:
            yield path, found


def session_head(one: SessionFile) -> SessionHead:
    """The head of a session, from the start of its file; empty if it cannot be read."""
    try:
        start = start_of(one.path, FIRST)
        found = head(one.format, start)
        return head(one.format, start_of(one.path, START)) if not found.folder and len(start) == FIRST else found
    except CtxkitError:
        return SessionHead()
