"""Finds the sessions below folders, of all formats, newest first; and sidecars without their log.

Pipeline: `store/folder.py` walks, `search/preview.py` reads each file, the sidecar's data is added here. Only the
user's index is written. The command is `cli/commands/sessions.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from ctxkit.core.derive.tail import Condition
from ctxkit.core.times import EARLIEST, LATEST
from ctxkit.errors import CtxkitError, ManyConversations, NothingMatched, UnknownFormat
from ctxkit.formats import registry
from ctxkit.formats.codex.threads import older_pages
from ctxkit.logfile.read import read_source
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.file_cache import CachedFiles, CachedTokens, known_as
from ctxkit.search.log_files import is_other, ruin, session_of
from ctxkit.search.preview import SessionPreview, glance
from ctxkit.search.project_sessions import (
    Project,
    SessionFile,
    SessionHome,
    all_files,
    home_folders,
    names_in_order,
    project,
    project_sessions,
    session_homes,
)
from ctxkit.search.prompt_history import history_file, lost_sessions
from ctxkit.search.resumed import Origin, origins
from ctxkit.settings.config import load
from ctxkit.store.folder import START, FolderEntry, Known, entry_of, logs_of, named, walk
from ctxkit.store.index import Index, settled
from ctxkit.store.opening import cannot_open
from ctxkit.store.private import user_cache, user_config
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.snapshot_files import FOLDER
from ctxkit.store.source import open_log

Order = Literal["time", "size", "tokens"]
"""The order of a list."""
Step = Callable[[int, int], None]
"""Called with how many files are done, and of how many (0: unknown)."""


FEW = 50
"""Up to this many files are looked up in the index one by one."""
PROVIDER = "provider"
"""The counter of tokens that the program recorded itself."""
ROUGH = "estimate by size"
"""The counter of tokens that nobody counted; people see them with `~`."""


class Session(msgspec.Struct, frozen=True):
    """A log that was found. `modified`: the time of its file's last change, seconds since 1970; `size`: its bytes.

    `sidecar`: its folder, None without one; `checkpoints`: files in that folder's `snapshots/`. `tokens`: of its
    context, if they were counted since its last change. `thread`: if only the `prompts` of a session are left, its
    thread in the history of prompts, which is `path`; else "".
    """

    path: Path
    glance: SessionPreview
    modified: float
    size: int
    sidecar: Path | None = None
    checkpoints: int = 0
    tokens: CachedTokens | None = None
    thread: str = ""
    prompts: tuple[str, ...] = ()

    @property
    def time(self) -> float:
        """The time of the newest message; without one, the time of the file's last change."""
        return min(max(self.modified, EARLIEST), LATEST) if self.glance.time is None else self.glance.time

    @property
    def written(self) -> float:
        """The time of the file's last change, by which `@`, `@2` are counted; of prompts alone, that of the newest."""
        return self.time if self.thread else min(max(self.modified, EARLIEST), LATEST)

    @property
    def used(self) -> CachedTokens | None:
        """`tokens`; else what the provider counted for the newest request, if no op came since; else an estimate by the
        size of the rows. None of a file with many conversations, and of prompts alone.
        """
        if self.tokens is not None:
            return self.tokens
        one = self.glance
        if one.tokens is not None:
            return CachedTokens(one.tokens, PROVIDER, one.limit)
        return None if one.rough is None else CachedTokens(one.rough, ROUGH, one.limit)

    @property
    def state(self) -> Condition:
        """The condition of the log and its ops."""
        return self.glance.state


class Found(msgspec.Struct):
    """The result of a search. `orphans`: sidecars without their log; `failed`: paths that cannot be read, and why.

    `ruined`: errors of files that were logs. `agents`: how many logs of an agent's own agents are left out.
    """

    sessions: list[Session]
    orphans: list[Path]
    failed: list[tuple[Path, CtxkitError]]
    ruined: list[UnknownFormat] = []
    agents: int = 0
    names: Mapping[str, str] = {}
    """Path -> its name (`@`, `@2`), of the sessions of a project."""


def find_sessions(
    places: Iterable[str | os.PathLike[str]] | None = None, *, agents: bool = False,
    env: Mapping[str, str] | None = None, progress: Step | None = None, index: bool = True,
    here: str | os.PathLike[str] | None = None,
) -> Found:  # fmt: skip
    """The sessions below `places` (folders or files), newest first; None: below the agents' own folders that exist.
    Sessions that an agent deleted are found in the archive, if config names one; else only the prompts that Claude
    Code's own history still has.

    `here`: a folder: only sessions of the agents that were begun in its project, which is the git repository that it is
    in, else the folder itself. The one whose file was written last comes first, as `@`, `@2` are counted.

    Files that are not logs, and logs without a message, are skipped. `agents`: also the logs of an agent's subagents,
    which are kept beside a session. `env`: the environment (default: the process's own). `index`: use the previews of
    unchanged files in the user's cache, and add new ones.

    Raises NothingMatched if no agent's folder exists; NoSuchLog, NoPermission for a place that cannot be read.
    """
    known = os.environ if env is None else env
    named = [] if places is None else [Path(place) for place in places]
    with _Search(known, progress, index=index) as search:
        if here is not None:
            of = project(here, known)
            files = list(project_sessions(known, of, agents=agents))
            search.files(files, agents=agents)
            if not agents:  # a name counts no session of an agent's own agent
                search.found.names = names_in_order(files)
            search.lost(of)
        elif places is None:
            homes(known)
            for home in session_homes(known):
                if os.path.isdir(home.place):
                    search.below(home.place, home)
            search.lost()
        else:
            for place in named:
                search.below(place)
    found = search.found
    if not agents:
        own = _without_agents(found.sessions, named)
        found.agents, found.sessions = len(found.sessions) - len(own), own
    if here is not None:
        found.sessions.sort(key=lambda one: (-one.written, os.fsencode(one.path)))
    else:
        found.sessions = ordered(found.sessions, "time")
    return found


def _without_agents(sessions: Sequence[Session], places: Sequence[Path]) -> list[Session]:
    """The sessions without the logs of an agent's own agents: these belong to the session that started them.

    Those that are among `places` stay; all of them do if nothing else was found below the places.
    """
    paths, named = {one.path for one in sessions}, set(places)
    alone = [one for one in sessions if one.path in named or session_of(one.path, one.glance.format) not in paths]
    older = older_pages([str(one.path) for one in alone if one.path not in named])
    own = [one for one in alone if one.path in named or not (one.glance.sub or str(one.path) in older)]
    return alone if places and not own else own


def find_files(files: Sequence[SessionFile], *, env: Mapping[str, str], progress: Step | None = None) -> Found:
    """The sessions in some files of agents' own folders, in their order."""
    with _Search(env, progress) as search:
        search.files(files)
    return search.found


def subagents(path: Path, format: str, env: Mapping[str, str]) -> list[Session]:
    """The logs of a session's own agents that its program keeps beside it; they are read as in a list of sessions."""
    place = registry.by_name(format).agents
    folder = path.with_suffix("") / place[0] if place is not None else None
    if folder is None or not os.path.isdir(folder):
        return []
    return find_sessions([folder], agents=True, env=env).sessions


def homes(env: Mapping[str, str]) -> list[Path]:
    """The existing folders in which agents keep their sessions, and those of the archive.

    Raises NothingMatched if none exists.
    """
    named = home_folders(env).values()
    found = [home.place for home in session_homes(env) if os.path.isdir(home.place)]
    if not found:
        text = f"no agent keeps sessions here: there is no {', '.join(map(str, named))}"
        raise NothingMatched(text, "ctxkit sessions DIR")
    return found


class _Search:
    """One search over some folders. A context manager: at its end the index is written."""

    def __init__(self, env: Mapping[str, str], progress: Step | None, *, index: bool = True) -> None:
        self.found = Found([], [], [])
        self._env = env
        self._progress = progress
        self._remembered = CachedFiles(Index(user_cache(env))) if index else None
        self._seen: Known = set()
        self._formats: dict[str, str] = {}
        self._done = 0

    def __enter__(self) -> _Search:
        return self

    def __exit__(self, *_: object) -> None:
        """Write the index, also of a search that was interrupted."""
        if self._remembered is not None:
            self._remembered.leave()

    def below(self, place: Path, home: SessionHome | None = None) -> None:
        """Search everything below a place. `home`: the place as a home; in the archive, files that the agent still has
        are skipped.
        """
        if self._remembered is not None:
            self._remembered.enter(place)
        named = os.path.isfile(place)
        try:
            for entry in walk(place, self._seen):
                if self._progress is not None:
                    self._progress(self._done, 0)
                self._done += 1
                if home is not None and home.is_archived and home.has_original(str(entry.path)):
                    continue
                if entry.sidecar:  # never changed; without its log it is reported
                    if not any(map(os.path.lexists, logs_of(str(entry.path)))):
                        self.found.orphans.append(entry.path)
                else:
                    self._file(entry, named=named)
        except OSError as error:
            raise cannot_open(place, error) from error

    def files(self, files: Sequence[SessionFile], *, agents: bool = False) -> None:
        """Read some files of agents' own folders. If a file does not say where it was begun, its folder does."""
        if self._remembered is not None:
            few = len(files) <= FEW
            for place in [Path(one.path) for one in files] if few else homes(self._env):
                self._remembered.enter(place)
        for done, one in enumerate(files):
            if self._progress is not None:
                self._progress(done, len(files))
            for path in [Path(one.path), *(_beside(one) if agents else ())]:
                self._file(entry_of(path), begun=one.folder)

    def lost(self, of: Project | None = None) -> None:
        """Add the sessions of a project, or all, of which only the prompts are left."""
        histories = (history_file(one.folder) for one in session_homes(self._env) if one.format == "claude-code")
        path = next(filter(os.path.isfile, histories), None)
        if path is None:
            return
        known = {one.id for one in all_files(self._env, "claude-code")}
        try:
            modified = os.stat(path).st_mtime
            with open_log(path) as source:
                found = lost_sessions(source, known)
        except (CtxkitError, OSError) as error:
            wrong = error if isinstance(error, CtxkitError) else cannot_open(path, error)
            self.found.failed.append((path, wrong))
            return
        for one in found:
            if of is None or (one.folder and of.holds(one.folder)):
                self.found.sessions.append(
                    Session(path, one.preview(), modified, one.size, thread=one.id, prompts=tuple(one.prompts))
                )

    def _file(self, entry: FolderEntry, *, named: bool = False, begun: str = "") -> None:
        """Read a file. A file that is not a log is an error if it was `named`, and skipped otherwise.

        `begun`: the folder that it was begun in, if it does not name one itself.
        """
        path, found = entry.path, entry.found
        try:
            if found is None:
                raise entry.error or OSError()
            beside = None if entry.alone else Sidecar(path)
            format = self._format(path, beside)
            ops = None if beside is None or beside.ops_size() is None else os.stat(beside.ops_path)
            with one_of_many(str(path)):
                preview, tokens = self._preview(path, found, beside, format, ops)
                if preview is None and named:
                    _refuse(path, beside, format)
                elif preview is None and is_other(str(path)):
                    self._name_ruin(path, beside, format)
        except CtxkitError as error:
            self.found.failed.append((path, error))
            return
        except OSError as error:
            self.found.failed.append((path, cannot_open(path, error)))
            return
        if preview is None:
            return
        if begun and not preview.folder:
            preview = msgspec.structs.replace(preview, folder=begun)
        sidecar = None if beside is None or beside.ignored or not os.path.isdir(beside.folder) else beside.folder
        checkpoints = 0 if sidecar is None else _checkpoints(sidecar)
        self.found.sessions.append(
            Session(path, preview, found.st_mtime, found.st_size, sidecar, checkpoints, tokens=tokens)
        )

    def _name_ruin(self, path: Path, beside: Sidecar | None, format: str) -> None:
        """Keep the error of a file that was a log; not of an empty log, or one of another shape."""
        with open_log(path) as source:
            start = source.read(0, START)
        wrong = None
        try:
            if beside is not None:
                _refuse(path, beside, format)
        except UnknownFormat as error:
            wrong = error
        if (wrong is not None or beside is None) and (found := ruin(str(path), start, wrong)) is not None:
            self.found.ruined.append(found)

    def _preview(
        self, path: Path, found: os.stat_result, beside: Sidecar | None, format: str, ops: os.stat_result | None
    ) -> tuple[SessionPreview | None, CachedTokens | None]:
        """The preview and the tokens of a file, from the index if the file did not change."""
        remembered, name = self._remembered, known_as(found, ops, format)
        known, preview = (False, None) if remembered is None else remembered.glance(path, name)
        if not known or (preview is not None and not preview.holds):
            origin = self._origins.get(os.path.abspath(path))
            with open_log(path) as source:
                preview = glance(source, str(path), format, beside, "" if origin is None else origin.title)
            if remembered is not None and settled(found) and name == known_as(os.stat(path), ops, format):
                remembered.learn(path, name, preview)
        return preview, None if remembered is None else remembered.tokens(path, known_as(found, ops))

    @cached_property
    def _origins(self) -> Mapping[str, Origin]:
        """The sources of resumed sessions, whose titles these have."""
        return origins(self._env)

    def _format(self, path: Path, beside: Sidecar | None) -> str:
        """The config's format for a log; without a config of the log's own it is the same for a whole folder."""
        if beside is not None and os.path.lexists(beside.config_path):
            return self._config(beside.config_path, path.resolve().parent, beside.base)
        folder = os.path.dirname(path) if beside is None else str(path.resolve().parent)
        if folder not in self._formats:
            self._formats[folder] = self._config(None, Path(folder).resolve(), None)
        return self._formats[folder]

    def _config(self, file: Path | None, folder: Path, base: Path | None) -> str:
        return str(load(file, folder, self._env, user_config(self._env), base=base)["format"])


def _beside(one: SessionFile) -> list[Path]:
    """The logs of an agent's subagents beside a session."""
    place = registry.by_name(one.format).agents
    if place is None:
        return []
    folder, before, behind = place
    return list(named(Path(one.path).with_suffix("") / folder, before, behind).values())


def _refuse(path: Path, beside: Sidecar | None, format: str) -> None:
    """Raises UnknownFormat for a file that is not a log; not for an empty log, or one with many conversations."""
    with open_log(path) as source, suppress(ManyConversations):
        read_source(str(path), path, source, beside, conversation=None, format=format)


def _checkpoints(sidecar: Path) -> int:
    """How many snapshot files a log has, those of all its conversations included."""
    found = (one for folder in (FOLDER, f"{FOLDER}.*") for one in sidecar.glob(f"{folder}/[!.]*.json"))
    return sum(os.path.isfile(one) and not (os.path.islink(one) or os.path.islink(one.parent)) for one in found)


def ordered(sessions: Iterable[Session], by: Order) -> list[Session]:
    """The sessions with the newest, the largest, or the fullest first; unknown values come last."""
    known: dict[Order, Callable[[Session], float]] = {
        "time": lambda one: one.time,
        "size": lambda one: one.size,
        "tokens": lambda one: -1 if one.used is None else one.used.count,
    }
    return sorted(sessions, key=lambda one: (-known[by](one), -one.time, -one.modified, os.fsencode(one.path)))


def chosen(
    sessions: Sequence[Session], *, since: float | None = None, until: float | None = None, format: str | None = None,
    matches: Callable[[Session], bool] | None = None, limit: int | None = None,
) -> Iterable[Session]:  # fmt: skip
    """The first `limit` sessions that are not older than `since` or newer than `until`, have this format (or one of
    this provider), and match.
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
