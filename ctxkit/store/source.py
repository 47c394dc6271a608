"""The bytes of a log in a file, standard input, or memory; readable at any offset. Compressed ones are unpacked here.

Pipeline: `jsonl.py` reads a source once from its start; printed messages are read again at their offsets.
`durable_append.py` later compares the `SeenLog`, to notice that the log was replaced, cut or changed meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ctxkit.errors import NoSuchLog, ReadFailed, UpdatedElsewhere, WriteFailed, reason_of
from ctxkit.store.compressed import MAGIC, is_compressed, unpacked
from ctxkit.store.folder import START, may_be_log
from ctxkit.store.opening import close, open_regular, write_all

CHUNK = 1 << 20
TAIL = 64 << 10
IN_MEMORY = 8 << 20


class SeenLog(msgspec.Struct, frozen=True):
    """A log as it was when it was opened. `digest`: SHA-256 of the last TAIL bytes before `size`."""

    dev: int
    ino: int
    size: int
    digest: bytes


class Source:
    """A log's bytes up to the size it had when it was opened; later bytes are not part of it (reliability F28).

    `name` is for messages; `path`: the file's real path, `seen`: the file as it was opened, both None without a path.
    `owner`: the descriptor is closed with this object, so that a program that opens many logs does not run out of them.
    `compressed`: the bytes are those that were unpacked, and `seen` is the compressed file: it is never appended to.
    """

    def __init__(self, name: str, data: bytes = b"", fd: int = -1, path: Path | None = None) -> None:
        self.name = name
        self.path = path
        self.seen: SeenLog | None = None
        self._data = data
        self._fd = fd
        self.owner = False
        self.compressed = False
        self.watch: Callable[[int], None] | None = None
        """Called with the offset before each read; an error that it raises ends the reading."""
        self._size = len(data)
        if fd >= 0:
            try:
                found = os.fstat(fd)
            except OSError as error:
                raise ReadFailed(f"{name}: cannot read: {reason_of(error)}") from error
            self._size = found.st_size
            if path is not None:
                digest = tail_digest(self, found.st_size)
                self.seen = SeenLog(found.st_dev, found.st_ino, found.st_size, digest)

    def __deepcopy__(self, memo: dict[int, Any]) -> Source:
        """The same object: two with one descriptor would close it under each other."""
        return self

    @property
    def size(self) -> int:
        """Bytes."""
        return self._size

    def sections(self) -> list[tuple[int, int]]:
        """Parts whose lines are counted by themselves: the byte after each, and the number of its first line."""
        return [(self._size, 1)]

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset` on, fewer only at the end.

        Raises ReadFailed; UpdatedElsewhere if the file became shorter.
        """
        if self.watch is not None:
            self.watch(offset)
        size = max(min(size, self._size - offset), 0)
        if self._fd < 0:
            return self._data[offset : offset + size]
        try:
            piece = os.pread(self._fd, size, offset)
            while len(piece) < size:
                more = os.pread(self._fd, size - len(piece), offset + len(piece))
                if not more:
                    break
                piece += more
        except OSError as error:
            raise self._unreadable(offset, size, error) from error
        if len(piece) < size:
            raise self._cut(offset + len(piece))
        return piece

    def read_into(self, buffer: bytearray, offset: int) -> int:
        """Fill `buffer` from `offset` on; returns how many bytes were read, fewer than fit only at the end.

        For many large pieces in turn: used memory costs a tenth of new memory. Raises what `read` raises.
        """
        size = max(min(len(buffer), self._size - offset), 0)
        if self._fd < 0:
            buffer[:size] = self._data[offset : offset + size]
            return size
        filled = 0
        with memoryview(buffer) as view:
            while filled < size:
                try:
                    count = os.preadv(self._fd, [view[filled:size]], offset + filled)
                except OSError as error:
                    raise self._unreadable(offset, size, error) from error
                if not count:
                    raise self._cut(offset + filled)
                filled += count
        return size

    def _unreadable(self, offset: int, size: int, error: OSError) -> ReadFailed:
        place = f"bytes {offset} to {offset + size}"
        return ReadFailed(f"{self.name}: cannot read {place}: {reason_of(error)}")

    def _cut(self, end: int) -> UpdatedElsewhere:
        return UpdatedElsewhere(f"updated elsewhere: {self.name} was cut to {end} bytes while it was read")

    def chunks(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` to `end` (default: to the end), in pieces."""
        end = self._size if end is None else end
        while start < end:
            piece = self.read(start, min(CHUNK, end - start))
            start += len(piece)
            yield piece

    def close(self) -> None:
        """Close the file; closing it twice is no error."""
        if self._fd >= 0:
            close(self._fd)
            self._fd = -1
            self._size = 0

    def __del__(self) -> None:
        if self.owner:
            self.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class GrowingSource(Source):
    """Bytes in memory that lines are appended to. Its size is that of the moment, as a file's: `now()` has the rest."""

    def __init__(self, name: str, held: bytearray | None = None) -> None:
        super().__init__(name)
        self._held = bytearray() if held is None else held
        self._size = len(self._held)

    def __deepcopy__(self, memo: dict[int, Any]) -> GrowingSource:
        """Bytes of its own, which grow by themselves."""
        found = GrowingSource(self.name, deepcopy(self._held, memo))
        found._size = self._size
        return found

    def append(self, line: bytes) -> None:
        """Add a line (without its line end) at the end."""
        self._held += line + b"\n"

    def now(self) -> GrowingSource:
        """The same bytes with all lines that were appended since."""
        return GrowingSource(self.name, self._held)

    def read(self, offset: int, size: int) -> bytes:
        """As that of `Source`."""
        return bytes(memoryview(self._held)[offset : offset + max(min(size, self._size - offset), 0)])

    def read_into(self, buffer: bytearray, offset: int) -> int:
        """As that of `Source`."""
        piece = self.read(offset, len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class ReadWindow:
    """Serves small reads near each other from one larger read, so that not each of them costs a system call."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0
        self._piece = b""

    def read(self, offset: int, size: int) -> bytes:
        """As `Source.read`, also in what it raises."""
        start = offset - self._at
        if start < 0 or start + size > len(self._piece):
            if size >= TAIL:
                return self._source.read(offset, size)
            self._piece, self._at, start = self._source.read(offset, TAIL), offset, 0
        return self._piece[start : start + size]


def tail_digest(source: Source, size: int) -> bytes:
    """SHA-256 of the last TAIL bytes before offset `size`."""
    start = max(size - TAIL, 0)
    return hashlib.sha256(source.read(start, size - start)).digest()


def open_log(path: str | Path) -> Source:
    """A log file for reading; links are followed. Raises NoSuchLog, NoPermission, ReadFailed.

    Of a compressed file the unpacked bytes. Raises CannotUnpack, WriteFailed if there is no room for them.
    """
    path = Path(path)
    fd = open_regular(path, os.O_RDONLY)
    return _plain(_owning(str(path), fd, Path(os.path.realpath(path))))


def start_of(path: str | Path, size: int) -> bytes:
    """The first `size` bytes of a log, fewer of a shorter one; of a compressed one no more is unpacked.

    Raises what `open_log` raises.
    """
    with _owning(str(path), open_regular(Path(path), os.O_RDONLY), None) as source:
        start = source.read(0, size)
        return _first(unpacked(source.chunks(), source.name), size)[:size] if is_compressed(start) else start


def spool(stream: BinaryIO, name: str = "standard input", progress: Callable[[int, int], None] | None = None) -> Source:
    """A stream, read to its end: kept in memory up to 8 MiB, above that in a file without a name.

    A regular file (`<log`) is not copied but read in place. `progress`: called after each piece with the bytes read so
    far, and 0, as the total is unknown. Raises NoSuchLog for a directory, ReadFailed, CannotUnpack, WriteFailed.
    """
    start = _seekable(stream, name)
    if start == 0:
        fd = os.dup(stream.fileno())
        source = _owning(name, fd, None)
        os.lseek(fd, source.size, os.SEEK_SET)  # it counts as read for other users of the stream
        return _plain(source)
    return _plain(_kept(_pieces(stream, name, progress), name))


def plain_bytes(data: bytes, name: str) -> bytes:
    """The bytes of a log that was fetched whole; of a compressed one the unpacked ones. Raises what `open_log` does."""
    if not is_compressed(data):
        return data
    with _plain(Source(name, data)) as source:
        return source.read(0, source.size)


def _plain(source: Source) -> Source:
    """The source, or the unpacked bytes of a compressed one, which is closed.

    What does not begin like a log is not unpacked further: below a folder lies much that is none.
    """
    if not is_compressed(source.read(0, MAGIC)):
        return source
    with source:
        coming = unpacked(source.chunks(), source.name)
        start = _first(coming, START)
        found = _kept(chain([start], coming if may_be_log(start[:START]) else ()), source.name)
        found.path, found.seen, found.compressed = source.path, source.seen, True
    return found


def _first(coming: Iterator[bytes], size: int) -> bytes:
    """The first pieces, together of `size` bytes at least if there are so many."""
    start = b""
    while len(start) < size and (piece := next(coming, b"")):
        start += piece
    return start


def _kept(coming: Iterator[bytes], name: str) -> Source:
    """The bytes of all pieces: in memory up to IN_MEMORY, above that in a file without a name."""
    pieces: list[bytes] = []
    held = 0
    while held < IN_MEMORY:
        piece = next(coming, b"")
        if not piece:
            return Source(name, b"".join(pieces))
        pieces.append(piece)
        held += len(piece)
    try:
        fd = _unnamed()
        try:
            for piece in chain(pieces, coming):
                write_all(fd, piece)
        except BaseException:
            close(fd)
            raise
    except OSError as error:
        text = f"cannot keep {name} in a temporary file: {reason_of(error)}"
        raise WriteFailed(text, "TMPDIR names another folder") from error
    return _owning(name, fd, None)


def _owning(name: str, fd: int, path: Path | None) -> Source:
    try:
        source = Source(name, fd=fd, path=path)
    except BaseException:
        close(fd)
        raise
    source.owner = True
    return source


def _seekable(stream: BinaryIO, name: str) -> int | None:
    """The position in a regular file; None for any other stream."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
        if stat.S_ISDIR(mode):
            raise NoSuchLog(f"{name} is a directory")
        return stream.tell() if stat.S_ISREG(mode) else None
    except (OSError, ValueError):  # no descriptor, or no position
        return None


def _pieces(stream: BinaryIO, name: str, progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    """The bytes of the stream until its end; with `progress` in pieces as they come."""
    read = stream.read if progress is None else getattr(stream, "read1", stream.read)
    done = 0
    try:
        while piece := read(CHUNK):
            done += len(piece)
            if progress is not None:
                progress(done, 0)
            yield piece
    except OSError as error:
        raise ReadFailed(f"cannot read {name}: {reason_of(error)}") from error


def _unnamed() -> int:
    """A temporary file, 0600, that no path leads to."""
    import tempfile  # slow to import, and most logs are files

    fd, path = tempfile.mkstemp(prefix="ctxkit-")
    os.unlink(path)
    return fd
