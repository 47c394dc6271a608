"""Copies files into an archive: each copy is whole or missing, is verified, and only new bytes are appended to it.

Pipeline: `search/archive.py` lists the files -> here. The list `archive.jsonl` has a line for each copy: its size and
SHA-256, and the stamp of its original. The list saves work and verifies the copies: without it they are compared with
their originals. Every copy can be read without it.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import (
    ArchiveFailed,
    CannotCreate,
    CtxkitError,
    NoPermission,
    UpdatedElsewhere,
    WriteFailed,
    reason_of,
)
from ctxkit.store import atomic
from ctxkit.store.durable_append import sync_folder
from ctxkit.store.index import settled, stamp
from ctxkit.store.lock import lock
from ctxkit.store.opening import FLAGS, cannot_open, close, open_regular, write_all
from ctxkit.store.private import refuse_links

LIST = "archive.jsonl"
"""The list of copies."""
REPLACED = "replaced"
"""The folder in a session's sidecar with copies of files that their program rewrote, each named by its SHA-256."""
CHUNK = 1 << 20
_RECORDS = 1000
"""A list of at least this many lines is rewritten once half of them are outdated."""

_HINTS = dict.fromkeys(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "make room, and run it again: it goes on where it stopped"
)
_HINTS |= dict.fromkeys(
    (errno.ENOTDIR, errno.EEXIST, errno.EROFS, errno.EACCES), "name a folder that can be written to"
)
Hash = Any
"""A hash object of hashlib."""
Change = Literal["same", "new", "grown", "changed"]
"""How an original differs from its copy: not; there is no copy; bytes were added at its end; in any other way.
"""


class CopyRecord(msgspec.Struct, frozen=True):
    """A line of the list. `path`: the copy, below the archive; `stamp`: of the original, "" if its next change may not
    show in its times.
    """

    path: str
    size: int
    sha256: str
    stamp: str = ""


class Difference(NamedTuple):
    """How an original differs from its copy, and how many bytes have to be written."""

    change: Change
    bytes: int = 0


class DamagedCopy(msgspec.Struct, frozen=True):
    """A copy that differs from what was archived. `code`: `missing`, `short`, `changed` or `unreadable`."""

    path: str
    code: str
    text: str


class Archive:
    """An archive in `folder`. Nothing is created before something is copied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._fd = -1
        self._lines = 0
        self.records: dict[str, CopyRecord] = {}
        self.unreadable = 0
        """How many lines of the list cannot be read, without a last one that was cut off."""
        self._read()

    @property
    def list_path(self) -> Path:
        """The list of copies."""
        return self.folder / LIST

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the archive, so that no other program writes to it. Raises Locked, ArchiveFailed."""
        fd = self._locked()
        try:
            self._fd = fd
            self._read()
            yield
            with _archiving(self.list_path):
                os.fsync(fd)
                self._tidy()
        finally:
            self._fd = -1
            close(fd)

    def _locked(self) -> int:
        """The list, open and locked, and still the file at its path (it may be replaced while we wait)."""
        while True:
            with _archiving(self.folder):
                make_folder(self.folder)
                refuse_links(self.folder, self.list_path)
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | FLAGS
                fd = os.open(self.list_path, flags, 0o600)
            try:
                lock(fd, str(self.list_path))
                with _archiving(self.folder):
                    sync_folder(self.folder)
                    if os.path.samestat(os.fstat(fd), os.stat(self.list_path)):
                        return fd
            except BaseException:
                close(fd)
                raise
            close(fd)

    def compare(self, original: Path, name: str) -> Difference:
        """How a file differs from its copy `name`. A file that did not change is not opened.

        Raises what opening and reading the file raises.
        """
        if self._unchanged(original, name):
            return Difference("same")
        with _reading(original) as fd:
            return self._compared(fd, os.fstat(fd).st_size, original, name)[0]

    def bring(self, original: Path, name: str, keep: str) -> Difference:
        """Bring the copy `name` of a file up to date, durably; returns what was different.

        `keep`: the folder, below the archive, for the old copy if the new one does not begin with it. Raises
        what reading the original raises; ArchiveFailed for the archive.
        """
        if self._unchanged(original, name):
            return Difference("same")
        copy = self.folder / name
        with _archiving(copy):
            for one in (copy, self.folder / keep):
                refuse_links(self.folder, one)
        with _reading(original) as fd:
            found = os.fstat(fd)
            size = found.st_size
            difference, so_far = self._compared(fd, size, original, name)
            whole = _hash(fd, size, original, size - difference.bytes, so_far).hexdigest()
            with _archiving(copy):
                if difference.change != "same":
                    make_folder(copy.parent)
                if difference.change == "new":
                    _create(copy, fd, size, whole, original)
                elif difference.change == "grown":
                    _grow(copy, fd, size, original)
                elif difference.change == "changed":
                    _replace(copy, fd, size, whole, original, self.folder / keep)
                os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))
            now = os.fstat(fd)
        known = stamp(found) if settled(now) and stamp(now) == stamp(found) else ""
        self._note(CopyRecord(name, size, whole, known))
        return difference

    def _unchanged(self, original: Path, name: str) -> bool:
        """Whether a file is unchanged since it was copied, by its status and that of the copy."""
        try:
            found = os.stat(original)
        except OSError as error:
            raise cannot_open(original, error) from error
        record = self.records.get(name)
        known = record is not None and record.stamp == stamp(found)
        return known and record is not None and record.size == _size(self.folder / name)

    def _compared(self, fd: int, size: int, original: Path, name: str) -> tuple[Difference, Hash]:
        """How an open file differs from its copy, and the hash of the bytes that both begin with."""
        copy = self.folder / name
        held = _size(copy)
        if held is None:
            return Difference("new", size), hashlib.sha256()
        if size >= held:
            found = _hash(fd, held, original)
            if found.hexdigest() == self._digest_of(copy, held, self.records.get(name)):
                return Difference("grown" if size > held else "same", size - held), found
        return Difference("changed", size), hashlib.sha256()

    def verify(self) -> Iterator[DamagedCopy]:
        """Every copy that differs from what was archived; each copy is read as a whole."""
        for record in self.records.values():
            yield from self._damage(record)
        for path in self.replaced():
            name = str(path.relative_to(self.folder))
            yield from _damaged(name, path, _size(path) or 0, path.name)

    def replaced(self) -> list[Path]:
        """The older copies of files that their program rewrote. Nothing removes them."""
        return sorted(self.folder.rglob(f"*.ctxkit/{REPLACED}/*"))

    def _damage(self, record: CopyRecord) -> Iterator[DamagedCopy]:
        """What is wrong with a copy, which is read as a whole."""
        name, path = record.path, self.folder / record.path
        held = _size(path)
        if held is None:
            yield DamagedCopy(name, "missing", "it is not there any more")
        elif held < record.size:
            yield DamagedCopy(name, "short", f"it has {held:,} of {record.size:,} bytes")
        else:
            yield from _damaged(name, path, record.size, record.sha256)

    def _digest_of(self, copy: Path, size: int, record: CopyRecord | None) -> str:
        """The SHA-256 of a copy: from the list, else from its bytes."""
        if record is not None and record.size == size:
            return record.sha256
        with _reading(copy) as fd:
            return _digest(fd, size, copy)

    def _read(self) -> None:
        """Read the list as it is now."""
        self.records, self._lines, self.unreadable = {}, 0, 0
        try:
            raw = self.list_path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise cannot_open(self.list_path, error) from error
        *lines, last = raw.split(b"\n")
        for line in lines:
            self._lines += 1
            try:
                record = msgspec.convert(loads(line), CopyRecord)
            except (ValueError, msgspec.ValidationError):
                self.unreadable += bool(line.strip())
                continue
            self.records[record.path] = record
        self._lines += bool(last)

    def _note(self, record: CopyRecord) -> None:
        """Add a line to the list, after a line end if a killed run left a part of a line."""
        line = dumps(msgspec.to_builtins(record)).encode("ascii") + b"\n"
        try:
            end = os.fstat(self._fd).st_size
            if end and os.pread(self._fd, 1, end - 1) != b"\n":
                line = b"\n" + line
            if os.write(self._fd, line) != len(line):
                os.ftruncate(self._fd, end)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise _refused(self.list_path, error) from error
        self.records[record.path] = record
        self._lines += 1

    def _tidy(self) -> None:
        """Rewrite the list without outdated lines, if there are many; called while it is locked."""
        if self._lines < _RECORDS or self._lines < 2 * len(self.records):
            return
        lines = b"".join(dumps(msgspec.to_builtins(one)).encode("ascii") + b"\n" for one in self.records.values())
        atomic.replace(self.list_path, lines)


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, only for their owner, durably. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    sync_folder(folder.parent)


def _create(copy: Path, fd: int, size: int, whole: str, original: Path) -> None:
    def check(made: int) -> None:
        if _digest(made, size, copy) != whole:
            raise _changed_meanwhile(original)

    atomic.create(copy, _pieces(fd, 0, size, original), check)


def _replace(copy: Path, fd: int, size: int, whole: str, original: Path, keep: Path) -> None:
    """Keep the old copy under its digest; the new one is made in `keep`, and then renamed to `copy`."""
    make_folder(keep)
    for left in keep.glob("*.new"):  # of a run that was killed
        os.unlink(left)
    with _reading(copy) as old:
        before = keep / _digest(old, os.fstat(old).st_size, copy)
    with suppress(FileExistsError):
        os.link(copy, before)
    made = keep / f"{whole}.new"
    _create(made, fd, size, whole, original)
    os.replace(made, copy)
    sync_folder(copy.parent)
    sync_folder(keep)


def _grow(copy: Path, fd: int, size: int, original: Path) -> None:
    """Append the missing bytes to a copy. After an error the copy is as it was before; after a kill it is a beginning
    of the original, which the next run completes.
    """
    out = open_regular(copy, os.O_RDWR | os.O_APPEND)
    try:
        held = os.fstat(out).st_size
        try:
            for piece in _pieces(fd, held, size, original):
                write_all(out, piece)
            os.fsync(out)
            if _hash(out, size, copy, held).digest() != _hash(fd, size, original, held).digest():
                raise _changed_meanwhile(original)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(out, held)
            raise
    finally:
        close(out)


def _pieces(fd: int, start: int, size: int, name: Path) -> Iterator[bytes]:
    """The bytes of an open file from `start` to `size`. Raises UpdatedElsewhere if it has become shorter."""
    at = start
    while at < size:
        piece = os.pread(fd, min(CHUNK, size - at), at)
        if not piece:
            raise UpdatedElsewhere(f"{name} was cut while it was read: it was not archived", "try again")
        yield piece
        at += len(piece)


def _hash(fd: int, size: int, name: Path, start: int = 0, so_far: Hash | None = None) -> Hash:
    """The SHA-256 of an open file from `start` to `size`; `so_far`: the hash before, which is continued."""
    found = hashlib.sha256() if so_far is None else so_far
    for piece in _pieces(fd, start, size, name):
        found.update(piece)
    return found


def _digest(fd: int, size: int, name: Path) -> str:
    return str(_hash(fd, size, name).hexdigest())


def _changed_meanwhile(original: Path) -> UpdatedElsewhere:
    return UpdatedElsewhere(f"{original} was changed while it was copied: it was not archived", "try again")


def _damaged(name: str, path: Path, size: int, digest: str) -> Iterator[DamagedCopy]:
    """What is wrong with a file whose first `size` bytes should have this SHA-256."""
    try:
        with _reading(path) as fd:
            same = _digest(fd, size, path) == digest.removesuffix(".new")
        if not same:
            yield DamagedCopy(name, "changed", "its bytes are not those that were archived (SHA-256)")
    except CtxkitError as error:
        yield DamagedCopy(name, "unreadable", error.message)


def _size(path: Path) -> int | None:
    try:
        return os.stat(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise cannot_open(path, error) from error


@contextmanager
def _reading(path: Path) -> Iterator[int]:
    """A file, open for reading; errors of the system are raised with its name."""
    fd = open_regular(path, os.O_RDONLY)
    try:
        yield fd
    except OSError as error:
        raise cannot_open(path, error) from error
    finally:
        close(fd)


@contextmanager
def _archiving(path: Path) -> Iterator[None]:
    """Turns errors of the system into ArchiveFailed."""
    try:
        yield
    except OSError as error:
        raise _refused(path, error) from error
    except (WriteFailed, CannotCreate, NoPermission) as error:
        cause = error.__cause__
        raise ArchiveFailed(error.message, _HINTS.get(getattr(cause, "errno", 0), error.hint)) from error


def _refused(path: Path, error: OSError) -> ArchiveFailed:
    hint = _HINTS.get(error.errno or 0, "")
    return ArchiveFailed(f"{path}: {reason_of(error)}", hint)
