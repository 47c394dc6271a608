"""The sidecar of a log: the folder `<file name>.ctxkit/` beside it (beside the target, if the log is a link).

`<file name>` is without `.zst`, so that a log has the same sidecar when its program compresses it.

It contains `config.toml`, and `ops.jsonl` if another program owns the log (`ops.N.jsonl` for conversation N of a file
with many). Ops are appended there as to any log.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import (
    CannotCreate,
    CtxkitError,
    NoPermission,
    NoSuchLog,
    ReadFailed,
    UpdatedElsewhere,
    WriteFailed,
    reason_of,
)
from ctxkit.store import atomic
from ctxkit.store.durable_append import append_line, check_unchanged, create_log, make_durable, sync_folder
from ctxkit.store.folder import sidecar_name
from ctxkit.store.lock import DEADLINE, lock
from ctxkit.store.opening import cannot_open, close, open_regular
from ctxkit.store.source import SeenLog, Source, open_log

_NOWHERE = Path(os.devnull) / "ignored"
"""A path at which no file can exist, for code that does not check `ignored`."""


class Sidecar:
    """The folder of a log's further files; nothing is created before something is written.

    `folder` is given by --sidecar; by default it is beside the log. A folder of another user, or a link out of the
    log's folder, is ignored: `ignored` and `notices` say why; its paths lead nowhere, and writing raises NoPermission.
    If only the file of ops is a link that leads out, using it raises NoPermission.
    """

    def __init__(self, path: Path | None, folder: Path | None = None) -> None:
        if folder is None:
            if path is None:
                raise ValueError("a stream has no sidecar unless a folder is named")
            target = Path(os.path.realpath(path))
            self.base = target.parent
            folder = self.base / sidecar_name(target.name)  # the root folder has no name
        else:
            self.base = folder
        """The folder that no link may lead out of: a cloned folder must not make ctxkit read or write elsewhere."""
        self.folder = folder
        self.ignored = ""
        self.conversation: int | None = None
        """The number of the conversation in a file with many; each has its own ops."""
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
        """Whether the folder may have ops, even if it is ignored; True for a folder that cannot be read."""
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
        """Bytes of `ops.jsonl`; None if it does not exist. Raises NoPermission, also for a link out; ReadFailed."""
        if self.leads_out(self.ops_path):
            text = f"{self.ops_path}: a link that leads out of {self.base}: not followed"
            raise NoPermission(text, "remove the link, or name the folder with --sidecar DIR")
        try:
            return os.stat(self.ops_path).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise cannot_open(self.ops_path, error) from error

    def open_ops(self) -> Source:
        """The bytes of `ops.jsonl`. Raises NoSuchLog if there is none, NoPermission, ReadFailed."""
        return open_log(self.ops_path)

    def append(
        self, line: bytes, log: Path | None = None, seen: SeenLog | None = None, read: int = 0,
        recheck: Callable[[bool], None] | None = None,
    ) -> None:  # fmt: skip
        """Append an op to `ops.jsonl`, durably; a missing folder or file is created.

        `log`, `seen`: the log that the op is about; if it was replaced, cut or changed since, nothing is appended.
        `recheck`: called while the file is locked, if its size is no longer `read` (argument True: ops came) or if the
        log grew (False); raises to refuse. Raises what `append_line` raises, and CannotCreate.
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

        try:
            append_line(self.ops_path, line, recheck=look)
        except NoSuchLog as error:
            text = f"updated elsewhere: {self.ops_path} was removed: nothing was written"
            raise UpdatedElsewhere(text, "try again") from error
        except BaseException:
            if size is None:
                self._remove_empty()
            raise
        if not size:  # the process that made folder or file may have been killed before their names were durable
            self._sync_names()

    def _remove_empty(self) -> None:
        """Remove an `ops.jsonl` that was created for an op which failed. Another process may have appended to it."""
        with suppress(OSError, CtxkitError):
            fd = open_regular(self.ops_path, os.O_RDONLY)
            try:
                lock(fd, str(self.ops_path), 0)
                if os.fstat(fd).st_size == 0 and os.path.samestat(os.fstat(fd), os.lstat(self.ops_path)):
                    os.unlink(self.ops_path)
            finally:
                close(fd)

    def make_durable(self) -> None:
        """Make durable the ops, and the names of folder and file. Raises what `make_durable` raises."""
        make_durable(self.ops_path)
        self._sync_names()

    def _sync_names(self) -> None:
        try:
            sync_folder(self.folder)
            sync_folder(self.folder.parent)
        except OSError as error:
            raise WriteFailed(f"{self.ops_path}: {reason_of(error)}: written, but perhaps not on disk") from error

    def leads_out(self, path: Path) -> bool:
        """Whether `path` is a link that leads out of the log's folder, or out of the folder given by --sidecar."""
        return os.path.islink(path) and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.base))

    def writable(self) -> None:
        """Raises NoPermission if nothing may be written here: another user's folder, a link that leads out."""
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
        atomic.replace(self.config_path, utf8(text))

    def keep(self, name: str, text: str) -> Path:
        """Write a text as the file `name` of the folder. Raises CannotCreate, NoPermission."""
        self._create()
        path = self.folder / name
        self._stays(path)
        atomic.replace(path, utf8(text))
        return path

    def subfolder(self, name: str) -> Path:
        """A folder in this one, created if it is missing, only for its owner. Raises CannotCreate, NoPermission."""
        self._create()
        path = self.folder / name
        self._stays(path)
        _private(path)
        return path

    @contextmanager
    def locked(self, deadline: float = DEADLINE) -> Iterator[None]:
        """Lock the sidecar while a file in it is read, changed and replaced, so that no change is lost.

        `deadline`: seconds to wait for another program. Raises Locked, CannotCreate, NoPermission, ReadFailed.
        """
        self._create()
        try:
            fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            kind = NoPermission if isinstance(error, PermissionError) or error.errno == errno.EROFS else ReadFailed
            raise kind(f"{self.folder}: cannot open: {reason_of(error)}: nothing was changed") from error
        try:
            lock(fd, str(self.folder), deadline)
            yield
        finally:
            close(fd)

    def _create(self) -> None:
        """Create the folder if it is missing, only for its owner."""
        if self.ignored:
            raise NoPermission(f"{self.folder} {self.ignored}: nothing was written", "--sidecar DIR")
        _private(self.folder)
        atomic.sweep(self.folder)


def _private(folder: Path) -> None:
    """Create a folder if it is missing, only for its owner. Raises CannotCreate."""
    try:
        os.mkdir(folder, 0o700)
        sync_folder(folder.parent)
    except FileExistsError as error:
        if not os.path.isdir(folder):
            text = f"{folder}: exists already, and is not a folder: nothing was changed"
            raise CannotCreate(text, "--sidecar DIR names another folder") from error
    except OSError as error:
        hint = "--sidecar DIR names another folder"
        raise CannotCreate(f"{folder}: cannot create: {reason_of(error)}: nothing was changed", hint) from error


def _grown(log: Path | None, seen: SeenLog | None) -> bool:
    """Whether a log has another size than when it was read, or cannot be read."""
    try:
        return log is not None and seen is not None and os.stat(log).st_size != seen.size
    except OSError:
        return True


class HeldSidecar(Sidecar):
    """The files of a sidecar as bytes in memory, by name: of a log that is no file here. Nothing is written to it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(None, _NOWHERE)
        self.ignored = ""
        self.notices = []
        self.files = files

    @property
    def config_path(self) -> Path:
        """Where the config would be; nothing is there."""
        return _NOWHERE / "config.toml"

    def ops_size(self) -> int | None:
        """Bytes of `ops.jsonl`; None if it does not exist."""
        held = self.files.get(self.ops_path.name)
        return None if held is None else len(held)

    def may_hold_ops(self) -> bool:
        """Whether one of the files may have ops."""
        return any(name.startswith("ops.") for name in self.files)

    def open_ops(self) -> Source:
        """The bytes of `ops.jsonl`."""
        return Source(self.ops_path.name, self.files[self.ops_path.name])
