"""The sidecar of a log: the folder `<file name>.ctxkit/` beside it (beside the target, where the log is a link).

It holds `config.toml`, and `ops.jsonl` where another program owns the log (`ops.N.jsonl` for conversation N of a file
with many). Ops are appended there as to any log.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ctxkit.errors import CannotCreate, NoPermission, ReadFailed, WriteFailed
from ctxkit.store import atomic
from ctxkit.store.durable_append import append_line, check_unchanged, create_log, make_durable, sync_folder
from ctxkit.store.lock import DEADLINE, lock
from ctxkit.store.opening import cannot_open, close
from ctxkit.store.source import SeenLog, Source

_NOWHERE = Path(os.devnull) / "ignored"
"""No file can be there, so that whoever forgets to look at `ignored` finds nothing."""


class Sidecar:
    """Where a log's further files are; nothing is created before something is written.

    `folder` is given by --sidecar, else it stands beside the log. A folder of another user, and one that is a link out
    of the log's folder, is ignored: `ignored` says why, so do `notices`; its paths lead nowhere and writing raises
    NoPermission. A link that leads out in the place of the ops alone is no file of ours either.
    """

    def __init__(self, path: Path | None, folder: Path | None = None) -> None:
        if folder is None:
            if path is None:
                raise ValueError("a stream has no sidecar unless a folder is named")
            target = Path(os.path.realpath(path))
            self.base = target.parent
            folder = self.base / f"{target.name}.ctxkit"  # the root folder has no name
        else:
            self.base = folder
        """What no link may lead out of: a cloned folder must not have ctxkit read or write elsewhere."""
        self.folder = folder
        self.ignored = ""
        self.conversation: int | None = None
        """Which one, of a file that holds many: each has ops of its own."""
        self.notices: list[str] = []
        try:
            owner = os.stat(folder).st_uid
        except OSError:
            return
        if owner not in (os.geteuid(), 0):  # root could do worse than leave a folder, as for the config
            self.ignored = "belongs to another user"
            self.notices.append(f"{folder} belongs to another user (uid {owner}): ignored")
        elif self.leads_out(folder):
            self.ignored = f"is a link that leads out of {self.base}"
            self.notices.append(f"{folder} {self.ignored}: ignored")

    @property
    def ops_path(self) -> Path:
        """The ops on a log that another program owns."""
        name = "ops.jsonl" if self.conversation is None else f"ops.{self.conversation}.jsonl"
        return (_NOWHERE if self.ignored else self.folder) / name

    def may_hold_ops(self) -> bool:
        """Whether there are ops in the folder, ignored or not; a folder that cannot be read may hold some."""
        try:
            return any(name.startswith("ops.") for name in os.listdir(self.folder))
        except FileNotFoundError:
            return False
        except OSError:
            return True

    @property
    def config_path(self) -> Path:
        """The log's config."""
        return (_NOWHERE if self.ignored else self.folder) / "config.toml"

    def ops_size(self) -> int | None:
        """Bytes of `ops.jsonl`; None where there is none. Raises NoPermission, also for a link out, and ReadFailed."""
        if self.leads_out(self.ops_path):
            text = f"{self.ops_path}: a link that leads out of {self.base}: not followed"
            raise NoPermission(text, "remove the link, or name the folder with --sidecar DIR")
        try:
            return os.stat(self.ops_path).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise cannot_open(self.ops_path, error) from error

    def append(
        self, line: bytes, log: Path | None = None, seen: SeenLog | None = None, read: int = 0,
        recheck: Callable[[bool], None] | None = None,
    ) -> None:  # fmt: skip
        """Append an op to `ops.jsonl`, durably; the folder and the file are created where they are missing.

        `log`, `seen`: the log that the op is about; where that was replaced, cut or changed since, nothing is appended.
        `recheck`: may refuse, while the file is locked, where it is not of the size `read` any more (told True: ops
        came), or the log grew.
        Raises what `append_line` raises, and CannotCreate.
        """
        self._create()
        self._stays(self.ops_path)
        size = self.ops_size()
        if log is not None and seen is not None:
            check_unchanged(log, seen)
        if size is None:
            try:
                create_log(self.ops_path)
            except CannotCreate:
                if self.ops_size() is None:  # else another process was faster
                    raise

        def look(now: Source, _: int) -> None:
            if recheck is not None and (now.size != read or _grown(log, seen)):
                recheck(now.size != read)

        append_line(self.ops_path, line, recheck=look)
        if not size:  # whoever made folder or file may have been killed before their names were durable
            self._sync_names()

    def make_durable(self) -> None:
        """Make durable the ops that are here, and the names of folder and file. Raises what `make_durable` raises."""
        make_durable(self.ops_path)
        self._sync_names()

    def _sync_names(self) -> None:
        try:
            sync_folder(self.folder)
            sync_folder(self.folder.parent)
        except OSError as error:
            raise WriteFailed(f"{self.ops_path}: {_reason(error)}: written, but perhaps not on disk") from error

    def leads_out(self, path: Path) -> bool:
        """Whether a link in the place of a file of ours leads out of the log's folder, or of the one that was named."""
        return os.path.islink(path) and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.base))

    def writable(self) -> None:
        """Raises NoPermission where nothing may be written here: another user's folder, a link that leads out."""
        if self.ignored:
            raise NoPermission(f"{self.folder} {self.ignored}: nothing was written", "--sidecar DIR")
        self._stays(self.config_path)

    def _stays(self, path: Path) -> None:
        if self.leads_out(path):
            text = f"{path}: a link that leads out of {self.base}: nothing was written"
            raise NoPermission(text, "remove the link, or name the folder with --sidecar DIR")

    def write_config(self, text: str) -> None:
        """Replace `config.toml`. Raises CannotCreate, NoPermission."""
        self._create()
        self._stays(self.config_path)
        atomic.replace(self.config_path, text.encode("utf-8"))

    def keep(self, name: str, text: str) -> Path:
        """Put a text into the folder, which nobody has elsewhere any more. Raises CannotCreate, NoPermission."""
        self._create()
        path = self.folder / name
        self._stays(path)
        atomic.replace(path, text.encode("utf-8"))
        return path

    def subfolder(self, name: str) -> Path:
        """A folder in this one, for its owner alone, which is created where it is missing.

        Raises CannotCreate, NoPermission.
        """
        self._create()
        path = self.folder / name
        self._stays(path)
        _private(path)
        return path

    @contextmanager
    def locked(self, deadline: float = DEADLINE) -> Iterator[None]:
        """Hold the sidecar while a file in it is read, changed and replaced, so that no change is lost.

        `deadline`: seconds to wait for another program.

        Raises Locked, CannotCreate, NoPermission, ReadFailed.
        """
        self._create()
        try:
            fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            kind = NoPermission if isinstance(error, PermissionError) or error.errno == errno.EROFS else ReadFailed
            raise kind(f"{self.folder}: cannot open: {_reason(error)}: nothing was changed") from error
        try:
            lock(fd, str(self.folder), deadline)
            yield
        finally:
            close(fd)

    def _create(self) -> None:
        """Create the folder, for its owner alone, where it is missing."""
        if self.ignored:
            raise NoPermission(f"{self.folder} {self.ignored}: nothing was written", "--sidecar DIR")
        _private(self.folder)


def _private(folder: Path) -> None:
    """Create a folder, for its owner alone, where it is missing. Raises CannotCreate."""
    try:
        os.mkdir(folder, 0o700)
        sync_folder(folder.parent)
    except FileExistsError as error:
        if not os.path.isdir(folder):
            text = f"{folder}: exists already, and is not a folder: nothing was changed"
            raise CannotCreate(text, "--sidecar DIR names another folder") from error
    except OSError as error:
        hint = "--sidecar DIR names another folder"
        raise CannotCreate(f"{folder}: cannot create: {_reason(error)}: nothing was changed", hint) from error


def _grown(log: Path | None, seen: SeenLog | None) -> bool:
    """Whether a log is larger than it was when it was read, or nobody knows."""
    try:
        return log is not None and seen is not None and os.stat(log).st_size != seen.size
    except OSError:
        return True


def user_config(env: Mapping[str, str]) -> Path:
    """The user's own config file, which may not exist: `$XDG_CONFIG_HOME/ctxkit/config.toml`, else under ~/.config.

    A relative XDG_CONFIG_HOME is ignored, as its specification demands.
    """
    given = env.get("XDG_CONFIG_HOME", "")
    base = Path(given) if os.path.isabs(given) else _home(env) / ".config"
    return base / "ctxkit" / "config.toml"


def user_cache(env: Mapping[str, str]) -> Path:
    """The folder of what can be made anew, which may not exist: `$XDG_CACHE_HOME/ctxkit`, else under ~/.cache."""
    given = env.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else _home(env) / ".cache") / "ctxkit"


def _home(env: Mapping[str, str]) -> Path:
    """The user's home; for who has none (a container's nameless user), a place where nothing is or can be made."""
    found = env.get("HOME") or os.path.expanduser("~")
    return Path(found if os.path.isabs(found) else os.devnull)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
