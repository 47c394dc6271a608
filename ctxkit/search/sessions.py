"""The sessions below folders, of all formats, newest first; and sidecars whose log is gone.

Pipeline: `store/folder.py` walks, `search/preview.py` tells of each file, what stands beside it is added here. It
changes nothing but the user's index. The command is `cli/commands/sessions.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from ctxkit.core.derive.tail import Condition
from ctxkit.core.times import EARLIEST, LATEST
from ctxkit.errors import CtxkitError, ManyConversations, NothingMatched
from ctxkit.formats import registry
from ctxkit.logfile.read import read_source
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.file_cache import CachedFiles, CachedTokens, known_as, settled
from ctxkit.search.preview import SessionPreview, glance
from ctxkit.search.project_sessions import SessionFile, home_folders, project, project_sessions
from ctxkit.store.config import load
from ctxkit.store.folder import SIDECAR, FolderEntry, Known, named, walk
from ctxkit.store.index import Index
from ctxkit.store.opening import cannot_open
from ctxkit.store.sidecar import Sidecar, user_cache, user_config
from ctxkit.store.snapshot_files import FOLDER
from ctxkit.store.source import open_log

Order = Literal["time", "size", "tokens"]
"""How a list is sorted."""
Step = Callable[[int, int], None]
"""Told how many files are done, and of how many (0: nobody knows)."""


FEW = 50
"""Files that are asked of the index one by one."""
PROVIDER = "provider"
"""The counter of what a program noted itself."""


class Session(msgspec.Struct, frozen=True):
    """A log that was found. `modified`: when its file was changed last, seconds since 1970; `size`: its bytes.

    `sidecar`: its folder, None without one; `checkpoints`: files in that folder's `snapshots/`. `tokens`: of its
    context, where they were counted since it changed last.
    """

    path: Path
    glance: SessionPreview
    modified: float
    size: int
    sidecar: Path | None = None
    checkpoints: int = 0
    tokens: CachedTokens | None = None

    @property
    def time(self) -> float:
        """When it was last spoken in; where no message says that, when its file was changed last."""
        return min(max(self.modified, EARLIEST), LATEST) if self.glance.time is None else self.glance.time

    @property
    def used(self) -> CachedTokens | None:
        """`tokens`; else what the provider counted of its newest request, where no op came since."""
        counted = self.glance.tokens
        return self.tokens or (None if counted is None else CachedTokens(counted, PROVIDER))

    @property
    def state(self) -> Condition:
        """Of the log and its ops."""
        return self.glance.state


class Found(msgspec.Struct):
    """What was found. `orphans`: sidecars whose log is gone; `failed`: what cannot be read, and why."""

    sessions: list[Session]
    orphans: list[Path]
    failed: list[tuple[Path, CtxkitError]]


def find_sessions(
    places: Iterable[str | os.PathLike[str]] | None = None, *, agents: bool = False,
    env: Mapping[str, str] | None = None, progress: Step | None = None, index: bool = True,
    here: str | os.PathLike[str] | None = None,
) -> Found:  # fmt: skip
    """The sessions below `places` (folders or files), newest first; None: below the agents' own folders that exist.

    `here`: a folder: of the agents' own sessions those alone that were begun in its project, which is the git
    repository that it is in, else the folder itself.

    Files that are no logs are passed over, and so are logs without a message. `agents`: also those in which an agent's
    own agents noted what they did, beside a session that is there. `env`: the environment (default: the process's own).
    `index`: what files that did not change told the last time is taken from the user's cache, and kept there.

    Raises NothingMatched where no agent's folder is there; NoSuchLog, NoPermission for a place that cannot be read.
    """
    known = os.environ if env is None else env
    search = _Search(known, progress, CachedFiles(Index(user_cache(known))) if index else None)
    try:
        if here is not None:
            search.files(list(project_sessions(known, project(here, known), agents=agents)), agents=agents)
        else:
            for place in homes(known) if places is None else map(Path, places):
                search.below(place)
    finally:
        search.end()
    found = search.found
    if not agents:
        paths = {session.path for session in found.sessions}
        found.sessions = [one for one in found.sessions if _session_of(one) not in paths]
    found.sessions.sort(key=lambda one: (-one.time, os.fsencode(one.path)))
    return found


def find_files(
    files: Sequence[SessionFile], *, env: Mapping[str, str], progress: Step | None = None, index: bool = True
) -> Found:
    """The same of some files of agents' own folders, in their order."""
    search = _Search(env, progress, CachedFiles(Index(user_cache(env))) if index else None)
    try:
        search.files(files)
    finally:
        search.end()
    return search.found


def homes(env: Mapping[str, str]) -> list[Path]:
    """The folders in which agents keep their sessions, as far as they exist. Raises NothingMatched where none does."""
    named = home_folders(env).values()
    found = [path for path in named if os.path.isdir(path)]
    if not found:
        text = f"no agent keeps sessions here: there is no {', '.join(map(str, named))}"
        raise NothingMatched(text, "ctxkit sessions DIR")
    return found


class _Search:
    """One search over some folders."""

    def __init__(self, env: Mapping[str, str], progress: Step | None, remembered: CachedFiles | None) -> None:
        self.found = Found([], [], [])
        self._env = env
        self._progress = progress
        self._remembered = remembered
        self._seen: Known = set()
        self._formats: dict[str, str] = {}
        self._done = 0

    def below(self, place: Path) -> None:
        """Everything below a place."""
        if self._remembered is not None:
            self._remembered.enter(place)
        named = os.path.isfile(place)
        try:
            for entry in walk(place, self._seen):
                if self._progress is not None:
                    self._progress(self._done, 0)
                self._done += 1
                if entry.sidecar:
                    self._sidecar(entry.path)
                elif entry.found is None:
                    self._failed(entry)
                else:
                    self._file(entry, entry.found, named=named)
        except OSError as error:
            raise cannot_open(place, error) from error

    def files(self, files: Sequence[SessionFile], *, agents: bool = False) -> None:
        """Some files of agents' own folders; where nothing in them says where they were begun, as their folder does."""
        if self._remembered is not None:
            few = len(files) <= FEW
            for place in [Path(one.path) for one in files] if few else home_folders(self._env).values():
                self._remembered.enter(place)
        for done, one in enumerate(files):
            if self._progress is not None:
                self._progress(done, len(files))
            paths = [Path(one.path), *(_beside(one) if agents else ())]
            for path in paths:
                before = len(self.found.sessions)
                try:
                    found = os.stat(path)
                except OSError as error:
                    self.found.failed.append((path, cannot_open(path, error)))
                    continue
                self._file(FolderEntry(path, found), found, named=False)
                for i in range(before, len(self.found.sessions)):
                    self.found.sessions[i] = _begun(self.found.sessions[i], one.folder)

    def end(self) -> None:
        """All places were looked at."""
        if self._remembered is not None:
            self._remembered.leave()

    def _failed(self, entry: FolderEntry) -> None:
        if entry.error is not None:
            self.found.failed.append((entry.path, cannot_open(entry.path, entry.error)))

    def _sidecar(self, folder: Path) -> None:
        """A sidecar whose log is gone is named; it is never touched."""
        if not os.path.lexists(folder.with_name(folder.name.removesuffix(SIDECAR))):
            self.found.orphans.append(folder)

    def _file(self, entry: FolderEntry, found: os.stat_result, *, named: bool) -> None:
        """A file that was `named`, and is no log, is told why; one that was come across is passed over."""
        path = entry.path
        try:
            beside = None if entry.alone else Sidecar(path)
            format = self._format(path, beside)
            ops = None if beside is None or beside.ops_size() is None else os.stat(beside.ops_path)
            with one_of_many(str(path)):
                told, tokens = self._told(path, found, beside, format, ops)
                if told is None and named:
                    _refuse(path, beside, format)
        except CtxkitError as error:
            self.found.failed.append((path, error))
            return
        except OSError as error:
            self.found.failed.append((path, cannot_open(path, error)))
            return
        if told is not None:
            session = Session(path, told, found.st_mtime, found.st_size, tokens=tokens)
            self.found.sessions.append(session if beside is None else _with(session, beside))

    def _told(
        self, path: Path, found: os.stat_result, beside: Sidecar | None, format: str, ops: os.stat_result | None
    ) -> tuple[SessionPreview | None, CachedTokens | None]:
        """What is remembered of a file that is what it was, or what it says."""
        if self._remembered is None:
            return _read(path, beside, format), None
        name = known_as(found, ops, format)
        known, told = self._remembered.glance(path, name)
        if not known:
            told = _read(path, beside, format)
            if settled(found) and name == known_as(os.stat(path), ops, format):
                self._remembered.learn(path, name, told)
        return told, self._remembered.tokens(path, known_as(found, ops))

    def _format(self, path: Path, beside: Sidecar | None) -> str:
        """What config says that logs here are; without a config of a log's own, the same for all of a folder."""
        if beside is not None and os.path.lexists(beside.config_path):
            return self._config(beside.config_path, path.resolve().parent, beside.base)
        folder = os.path.dirname(path) if beside is None else str(path.resolve().parent)
        if folder not in self._formats:
            self._formats[folder] = self._config(None, Path(folder).resolve(), None)
        return self._formats[folder]

    def _config(self, file: Path | None, folder: Path, base: Path | None) -> str:
        return str(load(file, folder, self._env, user_config(self._env), base=base)["format"])


def _begun(session: Session, folder: str) -> Session:
    """The session, begun in `folder` where it does not say itself."""
    if session.glance.folder:
        return session
    return msgspec.structs.replace(session, glance=msgspec.structs.replace(session.glance, folder=folder))


def _beside(one: SessionFile) -> list[Path]:
    """What an agent's own agents noted beside a session."""
    place = registry.by_name(one.format).agents
    if place is None:
        return []
    folder, before, behind = place
    return list(named(Path(one.path).with_suffix("") / folder, before, behind).values())


def _refuse(path: Path, beside: Sidecar | None, format: str) -> None:
    """Raises UnknownFormat for what is no log; not for one that holds nothing, or many conversations."""
    with open_log(path) as source, suppress(ManyConversations):
        read_source(str(path), path, source, beside, conversation=None, format=format, rows=None)


def _read(path: Path, beside: Sidecar | None, format: str) -> SessionPreview | None:
    with open_log(path) as source:
        return glance(source, str(path), format, beside)


def _with(one: Session, beside: Sidecar) -> Session:
    """The session with what stands beside it."""
    if beside.ignored or not os.path.isdir(beside.folder):
        return one
    checkpoints = _checkpoints(beside.folder)
    return msgspec.structs.replace(one, sidecar=beside.folder, checkpoints=checkpoints)


def _checkpoints(sidecar: Path) -> int:
    """Files among the snapshots of a log, and of each conversation where it holds many."""
    try:
        names = [name for name in os.listdir(sidecar) if name == FOLDER or name.startswith(f"{FOLDER}.")]
    except OSError:
        return 0
    return sum(map(_files, (sidecar / name for name in names)))


def _files(folder: Path) -> int:
    if folder.is_symlink():
        return 0
    try:
        with os.scandir(folder) as entries:
            return sum(
                one.is_file(follow_symlinks=False) and one.name.endswith(".json") and not one.name.startswith(".")
                for one in entries
            )
    except OSError:
        return 0


def _session_of(one: Session) -> Path | None:
    """The session beside whose file an agent's agent noted this; None where it is none of those."""
    place = registry.by_name(one.glance.format).agents
    if place is None:
        return None
    folder, before, behind = place
    path = one.path
    if path.parent.name != folder or not (path.name.startswith(before) and path.name.endswith(behind)):
        return None
    return path.parent.parent.with_name(path.parent.parent.name + path.suffix)


def ordered(sessions: Iterable[Session], by: Order) -> list[Session]:
    """The newest, the largest, or the fullest first; what is not known comes last."""
    known: dict[Order, Callable[[Session], float]] = {
        "time": lambda one: one.time,
        "size": lambda one: one.size,
        "tokens": lambda one: -1 if one.used is None else one.used.count,
    }
    return sorted(sessions, key=lambda one: (-known[by](one), -one.time, os.fsencode(one.path)))


def chosen(
    sessions: Sequence[Session], *, since: float | None = None, until: float | None = None, format: str | None = None,
    matches: Callable[[Session], bool] | None = None, limit: int | None = None,
) -> Iterable[Session]:  # fmt: skip
    """Those that are not older than `since` nor newer than `until`, of that format (or provider), and that match; the
    first `limit`.
    """
    left = limit
    for one in sessions:
        if left == 0:
            return
        if (since is not None and one.time < since) or (until is not None and one.time > until):
            continue
        if format is not None and not registry.fits(format, one.glance.format):
            continue
        if matches is None or matches(one):
            left = None if left is None else left - 1
            yield one
