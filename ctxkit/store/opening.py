"""Opens a log if it is a regular file: the checks that reading and appending share.

Pipeline: `source.py` and `durable_append.py` get their descriptors here. All system calls go through the `os` module by
attribute, so that fault injection can wrap them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from ctxkit.errors import CtxkitError, NoPermission, NoSuchLog, ReadFailed, reason_of

FLAGS = os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
"""For every open of a file that a person named: it must not block, become our terminal, or leak to children."""

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link of another user",
}


def open_regular(path: Path, flags: int) -> int:
    """A descriptor (3 or higher) of an existing regular file.

    Anything else is refused before it is opened: opening a device can act on it, opening a pipe can wait for ever
    (reliability F12). Raises NoSuchLog, NoPermission, ReadFailed.
    """
    try:
        _refuse_other_kinds(path, os.stat(path))
        fd = os.open(path, flags | FLAGS)
    except OSError as error:
        raise cannot_open(path, error) from error
    except ValueError as error:
        raise NoSuchLog(f"{str(path)!r}: not the name of a file: {error}") from error
    try:
        _refuse_other_kinds(path, os.fstat(fd))
        return above_standard(fd)
    except BaseException as error:
        close(fd)
        if isinstance(error, OSError):
            raise cannot_open(path, error) from error
        raise


def require_file(path: Path) -> None:
    """Raises NoSuchLog, NoPermission if there is no log. It is not opened, and may be unreadable."""
    try:
        _refuse_other_kinds(path, os.stat(path))
    except OSError as error:
        raise cannot_open(path, error) from error


def above_standard(fd: int) -> int:
    """The file on a descriptor above 2, so that nothing printed can end up in it."""
    if fd > 2:
        return fd
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    close(fd)
    return moved


def close(fd: int) -> None:
    """Close a descriptor. Its errors are ignored, because fsync has made durable what must be."""
    with suppress(OSError):
        os.close(fd)


def cannot_open(path: Path, error: OSError) -> CtxkitError:
    """The error for a failed open or stat of a log."""
    reason = reason_of(error)
    if error.errno in (errno.EACCES, errno.EPERM):
        return NoPermission(f"{path}: permission denied", f"ls -l {path}")
    if error.errno == errno.EROFS:
        return NoPermission(f"{path}: read-only file system")
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if path.is_symlink():
            return NoSuchLog(f"{path}: no such log: it is a link to {os.readlink(path)}, which is missing")
        hint = f"ctxkit sessions FOLDER lists the logs below a folder; ctxkit init {path} starts one"
        return NoSuchLog(f"{path}: no such log", hint)
    if error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
        return NoSuchLog(f"{path}: no such log: {reason}")
    if error.errno == errno.ENXIO:  # a socket, or a device without a driver
        return NoSuchLog(f"{path}: not a log: a socket or device")
    return ReadFailed(f"{path}: cannot open: {reason}")


def _refuse_other_kinds(path: Path, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kind = kind_of(found)
    hint = f"give it on standard input: - <{path}" if kind == "a pipe" else ""
    raise NoSuchLog(f"{path}: not a log: it is {kind}", hint)


def kind_of(found: os.stat_result) -> str:
    """What something other than a regular file is, in words."""
    return _KINDS.get(stat.S_IFMT(found.st_mode), "not a regular file")


def write_all(fd: int, piece: bytes) -> None:
    """Write all of `piece`, in as many writes as it takes. Raises OSError."""
    view = memoryview(piece)
    while view:
        view = view[os.write(fd, view) :]
