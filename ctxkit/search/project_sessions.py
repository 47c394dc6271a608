"""The sessions of a project: of all agents, newest first, found without reading more than their starts.

A project is the git repository that a folder is in, else the folder itself; its sessions are those that were begun in
it, or in a folder below it. Pipeline: `formats/session_folders.py` says where a program keeps them -> here ->
`naming.py` (`@`) and `sessions.py` (`--here`). Only folders that can be the project's are listed. A start that was read
once is kept in the user's index, where there are many.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from fnmatch import translate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ctxkit.core.text.json_text import loads
from ctxkit.errors import NoSuchLog
from ctxkit.formats import registry
from ctxkit.formats.session_folders import (
    LAYOUTS,
    MARKER,
    REGISTRY,
    START,
    TRUSTED,
    SessionHead,
    SessionLayout,
    head,
    session_id,
)
from ctxkit.store.sidecar import user_cache

if TYPE_CHECKING:
    from ctxkit.store.index import Index, Row

FIRST = 4096
"""Bytes of a session that are read first: most say in them where they were begun."""
FEW = 40
"""Starts that are read before the index is asked."""
KIND = "where"
"""Of rows of the index."""
LARGEST = 1 << 20
"""Bytes of a program's list of folders, beyond which it is something else."""
BY_NAME = ("gemini-cli", "cursor")
"""Formats whose sessions do not say where they were begun: the folder that they lie in does."""


class Project(NamedTuple):
    """A project. `folder`: its top; `spellings`: what that is called, also by way of links; `inside`: the folders from
    the one that was asked for up to the top, in each spelling.
    """

    folder: str
    spellings: tuple[str, ...]
    inside: tuple[str, ...]

    def holds(self, folder: str) -> bool:
        """Whether a folder is the project's top or below it."""
        plain = os.path.normpath(folder) if folder else ""
        return any(plain == one or plain.startswith(one.rstrip("/") + "/") for one in self.spellings)


class SessionFile(NamedTuple):
    """A session's file. `modified`: nanoseconds since 1970; `folder`: where it was begun, `id`: the program's own;
    `inode`: what it is known by as long as its start does not change, as programs append.
    """

    path: str
    format: str
    modified: int
    size: int
    folder: str
    id: str
    inode: str


def project(folder: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> Project:
    """The project of a folder (default: the working folder). Raises NoSuchLog where that is gone."""
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
    """Format -> the folder in which its program keeps sessions, there or not."""
    return {name: home.path(env) for name, home in registry.HOMES.items()}


def project_sessions(
    env: Mapping[str, str], of: Project, format: str | None = None, *, agents: bool = False
) -> Generator[SessionFile]:
    """The sessions of a project, the one that was written last first; of one format, or of all.

    `agents`: also those of agents of an agent, where they are sessions of their own. Starts are read as far as the
    caller goes on: close it (`contextlib.closing`) where that is not to the end.
    """
    files = sorted(_candidates(env, of, format), key=lambda one: (-one.modified, one.path))
    with closing(_Starts(env)) as starts:
        for one in files:
            told = starts.of(one)
            folder = one.folder if one.format in BY_NAME else told.folder or (one.folder if one.size > START else "")
            if folder and of.holds(folder) and (agents or not told.sub):
                yield one._replace(folder=folder, id=told.id or one.id)


def all_files(env: Mapping[str, str], format: str | None = None) -> Iterator[SessionFile]:
    """Every session file below the programs' folders, in no order; nothing is read."""
    return _candidates(env, None, format)


def _candidates(env: Mapping[str, str], of: Project | None, format: str | None) -> Iterator[SessionFile]:
    for name, home in home_folders(env).items():
        if format is not None and name != format:
            continue
        layout = LAYOUTS[name]
        pieces = layout.pattern.split("/")
        flat = env.get(layout.flat, "")
        folders = [(flat, "")] if flat else _folders(name, layout, str(home), of)
        within = pieces[-1:] if flat else pieces if folders is None else pieces[1:]
        for folder, begun in [(str(home), "")] if folders is None else folders:
            for path, found in _below(folder, within):
                if found.st_size and not (layout.skip and layout.skip.match(os.path.basename(path))):
                    yield SessionFile(
                        path, name, found.st_mtime_ns, found.st_size, begun, session_id(name, path),
                        f"{found.st_dev}:{found.st_ino}",
                    )  # fmt: skip


def _folders(format: str, layout: SessionLayout, home: str, of: Project | None) -> list[tuple[str, str]] | None:
    """Those of a program's folders that may hold sessions of a project, each with what its name says of where they were
    begun; None where names do not say.
    """
    if of is None or layout.slug is None:
        return None
    try:
        names = os.listdir(home)
    except OSError:
        return []
    if format in BY_NAME:
        known = _noted(home) if format == "gemini-cli" else {}
        slugs = {layout.slug(one): one for one in of.inside}
        begun = ((name, known.get(name) or _marked(home, name) or slugs.get(name.lower(), "")) for name in names)
        return [(os.path.join(home, name), folder) for name, folder in begun if folder and of.holds(folder)]
    own = {layout.slug(one)[: layout.cut]: one for one in of.spellings}
    inner = [layout.slug(os.path.join(one, "a")) for one in of.spellings]
    below = tuple(one[: layout.cut] if len(one) > layout.cut else one.rpartition("a")[0] for one in inner)
    fitting = (name for name in names if name[: layout.cut] in own or name.startswith(below))
    return [(os.path.join(home, name), own.get(name[: layout.cut], "")) for name in fitting]


def _noted(home: str) -> dict[str, str]:
    """Gemini CLI's own list: name of a folder of sessions -> where they were begun."""
    noted = _small(os.path.join(os.path.dirname(home), REGISTRY))
    folders = noted.get("projects") if isinstance(noted, dict) else None
    items = folders.items() if isinstance(folders, dict) else ()
    return {name: folder for folder, name in items if isinstance(name, str)}


def _marked(home: str, name: str) -> str:
    """What a file in a folder of sessions says of where they were begun; "" without one."""
    trusted = _small(os.path.join(home, name, TRUSTED))
    if isinstance(trusted, dict):
        folder = trusted.get("workspacePath")
        return folder if isinstance(folder, str) else ""
    marker = _text(os.path.join(home, name, MARKER)).strip()
    return marker if os.path.isabs(marker) else ""


def _small(path: str) -> object:
    try:
        return loads(_text(path).encode())
    except ValueError:
        return None


def _text(path: str) -> str:
    try:
        if os.path.getsize(path) > LARGEST:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _below(folder: str, pieces: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below a folder by a pattern, piece by piece; what cannot be read is passed over."""
    first, *rest = pieces
    try:
        if "*" not in first:
            paths = [os.path.join(folder, first)]
        else:
            fits = re.compile(translate(first)).match
            with os.scandir(folder) as entries:
                paths = [entry.path for entry in entries if fits(entry.name) and (not rest or _may_be_folder(entry))]
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


def _may_be_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() if entry.is_symlink() else entry.is_dir(follow_symlinks=False)


class _Starts:
    """What sessions say at their start, of many by way of the index."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._read = 0
        self._known: dict[bytes, Row] | None = None
        self._new: dict[bytes, Row] = {}

    def of(self, one: SessionFile) -> SessionHead:
        """The head of a session; nothing where it cannot be read."""
        if self._read < FEW:
            self._read += 1
            return _told(one)
        if self._known is None:
            self._known = self._index().below(KIND, b"/")
        key = os.fsencode(one.path)
        row = self._known.get(key)
        if row is not None and row[0] == one.inode:
            with suppress(msgspec.MsgspecError):
                return _head(row[1])
        told = _told(one)
        if told.folder:  # else more may come
            self._new[key] = one.inode, msgspec.json.encode(told)
        return told

    def close(self) -> None:
        """Keep what was read."""
        if self._new:
            self._index().put(KIND, self._new, sample=100)

    def _index(self) -> Index:
        from ctxkit.store.index import Index  # brings sqlite3: only where there are many

        return Index(user_cache(self._env))


_head = msgspec.json.Decoder(SessionHead).decode


def _told(one: SessionFile) -> SessionHead:
    """What the start of a file says; nothing where it cannot be read."""
    try:
        fd = os.open(one.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return SessionHead()
    try:
        start = os.pread(fd, FIRST, 0)
        told = head(one.format, start)
        return head(one.format, os.pread(fd, START, 0)) if not told.folder and len(start) == FIRST else told
    except OSError:
        return SessionHead()
    finally:
        os.close(fd)
