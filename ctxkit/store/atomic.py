"""Replaces a small file as a whole: readers see the old one or the new one, never a part. Never used for logs.

Pipeline: sidecar files (config, snapshots) are written here. The protocol: temporary file in the same folder, fsync,
rename, fsync of the folder; a link stays a link.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from ctxkit.errors import CannotCreate, CtxkitError, NoPermission, WriteFailed
from ctxkit.store.durable_append import sync_folder
from ctxkit.store.opening import close

PREFIX = ".ctxkit-"
CHUNK = 1 << 20
STALE = 3600.0
"""Seconds after which a temporary file of ours was left by a killed process."""


def replace(path: str | Path, content: bytes) -> None:
    """Write `content` to `path`. A new file is 0600, an old one keeps its mode. Raises NoPermission, CannotCreate."""
    import tempfile  # slow to import, and most commands replace nothing

    target = Path(os.path.realpath(path))
    try:
        _sweep(target.parent)
        fd, temporary = tempfile.mkstemp(prefix=PREFIX, dir=target.parent)
        try:
            try:
                mode = _mode(target)
                if mode is not None:
                    os.fchmod(fd, mode)
                view = memoryview(content)
                while view:
                    view = view[os.write(fd, view) :]
                os.fsync(fd)
            finally:
                os.close(fd)
            os.replace(temporary, target)
        except BaseException:
            _remove(temporary)
            raise
        sync_folder(target.parent)
    except PermissionError as error:
        raise NoPermission(f"{path}: permission denied: nothing was changed") from error
    except OSError as error:
        raise CannotCreate(
            f"{path}: cannot write: {_reason(error)}: the file is either the old one or the new one"
        ) from error


def create(path: str | Path, pieces: Iterable[bytes]) -> None:
    """Write `pieces` to a new file `path`, 0600: it is there whole or not at all. Whoever is killed before leaves
    nothing, where the file system can hold a file without a name.

    Raises NoPermission, and CannotCreate, also where something is there already; WriteFailed where it is there and not
    known to be durable.
    """
    target = Path(os.path.abspath(path))
    temporary, there = "", False
    try:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        _sweep(target.parent)
        fd, temporary = _new(target.parent)
        try:
            _fill(fd, pieces)
            there = not temporary and _linked(fd, target)
            if not temporary and not there:
                temporary = _copied(fd, target.parent)
        finally:
            close(fd)
        if temporary:
            temporary = _named(temporary, target)
            there = True
        sync_folder(target.parent)
    except OSError as error:
        if there:
            raise WriteFailed(f"{path}: {_reason(error)}: written, but perhaps not on disk") from error
        raise _not_written(path, target, error) from error
    finally:
        if temporary:
            _remove(temporary)


def _not_written(path: str | Path, target: Path, error: OSError) -> CtxkitError:
    """What it means that a new file could not be written."""
    if isinstance(error, PermissionError):
        return NoPermission(f"{path}: permission denied: nothing was written")
    if isinstance(error, FileExistsError):
        return CannotCreate(f"{path}: exists already: nothing was written", "another name")
    hint = f"mkdir -p {target.parent}" if error.errno == errno.ENOENT else ""
    return CannotCreate(f"{path}: cannot write: {_reason(error)}: nothing was written", hint)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _new(folder: Path) -> tuple[int, str]:
    """A new file in `folder`, 0600: its descriptor and its name, "" where it needs none until it is whole."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        try:
            return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600), ""
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS):
                raise
    import tempfile

    return tempfile.mkstemp(prefix=PREFIX, dir=folder)


def _fill(fd: int, pieces: Iterable[bytes]) -> None:
    """Write all of `pieces`, durably."""
    for piece in pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(fd, view) :]
    os.fsync(fd)


def _linked(fd: int, target: Path) -> bool:
    """Give a whole file that has no name this one, unless something has it; False where links are unknown."""
    try:  # with a folder's descriptor, which an absolute path ignores, it follows the link to the file
        os.link(f"/proc/self/fd/{fd}", target, src_dir_fd=fd, follow_symlinks=True)
    except OSError as error:
        if error.errno == errno.EEXIST or os.path.lexists(target):
            if error.errno != errno.EEXIST and os.path.samestat(os.fstat(fd), os.lstat(target)):
                return True  # it was done all the same
            raise
        return False
    return True


def _copied(fd: int, folder: Path) -> str:
    """The same content in a file with a name."""
    import tempfile

    made, temporary = tempfile.mkstemp(prefix=PREFIX, dir=folder)
    try:
        _fill(made, iter(lambda: os.pread(fd, CHUNK, os.lseek(made, 0, os.SEEK_CUR)), b""))
    except BaseException:
        _remove(temporary)
        raise
    finally:
        os.close(made)
    return temporary


def _named(temporary: str, target: Path) -> str:
    """Give a whole file its name, unless something has it; what is to be removed then."""
    try:
        os.link(temporary, target)
        return temporary
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOENT) or os.path.lexists(target):
            raise
    os.rename(temporary, target)  # a file system without links
    return ""


def _mode(target: Path) -> int | None:
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        return None


def _remove(temporary: str | Path) -> None:
    try:
        os.unlink(temporary)
    except OSError:
        return


def _sweep(folder: Path) -> None:
    """Remove what killed processes of ours left."""
    for left in folder.glob(PREFIX + "*"):
        try:
            found = os.lstat(left)
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_mtime < time.time() - STALE:
            _remove(left)
