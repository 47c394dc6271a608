"""The snapshot files of a log, in the folder `snapshots/` of its sidecar.

A file is one JSON object: its head on the first line, then a message on each line, so that listing a thousand files
reads no message. Files are written once, whole or not at all, 0600, and never changed. They are found by their content:
no path is ever made of typed text.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ctxkit.core.snapshot import (
    CHECKPOINT,
    SMALL,
    NewerVersion,
    Snapshot,
    SnapshotHead,
    SnapshotMessage,
    head_of,
    whole,
)
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import BadSnapshot, CannotCreate, CtxkitError, NoPermission, ReadFailed, WriteFailed, reason_of
from ctxkit.store import atomic
from ctxkit.store.durable_append import sync_folder
from ctxkit.store.lock import DEADLINE
from ctxkit.store.opening import close, kind_of, open_regular
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import Source
from ctxkit.store.spool import Spooled, lines_of, parted

FOLDER = "snapshots"
SPLIT = b',\n"messages":['
"""The bytes between the head and the messages; a JSON string never contains them, because they have a line break."""
HELD = b'"held":['
"""The bytes before the descriptions of the messages."""
FIRST, LONGEST_HEAD = 1 << 12, 1 << 20
"""Bytes that are enough for nearly every head, and for the longest one."""
LARGEST = 1 << 31
"""The largest file that is read, in bytes."""
REWRITTEN = 1 << 26
"""The largest file that is read as a whole for its head, because another program laid it out anew."""


class SnapshotFile(msgspec.Struct, frozen=True):
    """A file of the folder: its `head`, also as JSON (`body`), or what is wrong with it (`fault`).

    `written`: its time, nanoseconds since 1970, which orders files with the same second in their heads.
    """

    path: Path
    head: SnapshotHead | None = None
    body: dict[str, Any] = {}
    fault: str = ""
    size: int = 0
    newer: bool = False
    """A newer ctxkit wrote it."""
    written: int = 0


class Snapshots:
    """The snapshot files of one log. Nothing is created before something is written.

    `patience`: seconds to wait for the lock.
    """

    def __init__(self, sidecar: Sidecar, patience: float = DEADLINE) -> None:
        self.sidecar = sidecar
        self.patience = patience
        name = FOLDER if sidecar.conversation is None else f"{FOLDER}.{sidecar.conversation}"
        self.folder = sidecar.folder / name

    def checkpoints(self) -> list[SnapshotFile]:
        """The checkpoints, the newest first, each with a `head`. Snapshots are not read. Raises what `found` raises."""
        return [one for one in self.found(SMALL) if one.head is not None and one.head.kind == CHECKPOINT]

    def found(self, largest: int | None = None, named: str = "") -> list[SnapshotFile]:
        """All files with their heads, the newest first. Raises NoPermission, ReadFailed for the folder.

        `largest`: only files of at most this many bytes; `named`: only files with this text in their names.
        """
        if self.sidecar.ignored:
            return []
        self._stays("nothing was read")
        try:
            with os.scandir(self.folder) as entries:
                names = [one.name for one in entries if named in one.name and _fits(one, largest)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            kind = NoPermission if isinstance(error, PermissionError) else ReadFailed
            raise kind(f"{self.folder}: cannot read: {reason_of(error)}") from error
        some = [looked_at(self.folder / name) for name in names]
        there = [one for one in some if not one.fault or os.path.lexists(one.path)]  # the others were just removed
        return sorted(there, key=_age, reverse=True)

    def strays(self) -> list[tuple[str, str]]:
        """Entries with the name of a snapshot that are not files: their names, and what they are. None is read."""
        if self.sidecar.ignored:
            return []
        try:
            with os.scandir(self.folder) as entries:
                found = [one for one in entries if one.name.endswith(".json") and not one.name.startswith(".")]
                there = [(one.name, one.stat(follow_symlinks=False)) for one in found]
        except OSError:
            return []
        others = sorted((name, status) for name, status in there if not stat.S_ISREG(status.st_mode))
        return [(name, "a link" if stat.S_ISLNK(status.st_mode) else kind_of(status)) for name, status in others]

    def add(self, pieces: Iterable[bytes], head: SnapshotHead, exchange: str | None = None) -> tuple[Path, bool]:
        """Write a file; returns its path, and whether it is new.

        It is not new if there is one with the same id and kind, or a checkpoint of the same `exchange`. Raises
        CannotCreate, NoPermission, Locked.
        """
        with self.sidecar.locked(self.patience):
            self._stays("nothing was written")
            name = head.short if head.kind == CHECKPOINT and exchange is None else ""
            for one in self.found(SMALL if head.kind == CHECKPOINT else None, name):
                if one.head is None or one.head.kind != head.kind:
                    continue
                if one.head.session_id == head.session_id or (exchange and one.body.get("exchange") == exchange):
                    return one.path, False
            self._create()
            short, long = names_of(head)
            path = self.folder / short
            if os.path.lexists(path):  # another snapshot of this second, whose id begins alike
                path = self.folder / long
            atomic.create(path, pieces)
            self._make_newest(path)
            return path, True

    def _make_newest(self, path: Path) -> None:
        """Make this file newer than those of the same second.

        A file system's clock stands still for some milliseconds; of two files with one time, nobody could tell which
        of them `latest` is.
        """
        second = path.name.partition("-")[0]
        with suppress(OSError):  # the file is there, whatever its time is
            with os.scandir(self.folder) as entries:
                others = [one.stat() for one in entries if one.name.startswith(second) and one.name != path.name]
            latest = max((one.st_mtime_ns for one in others), default=0)
            if os.stat(path).st_mtime_ns <= latest:
                os.utime(path, ns=(latest + 1, latest + 1))

    def remove(self, paths: Sequence[Path]) -> None:
        """Delete these files of the folder.

        Raises NoPermission, CannotCreate: the files before the named one are deleted; WriteFailed: all are deleted, but
        perhaps not durably.
        """
        with self.sidecar.locked(self.patience):
            self._stays("nothing was deleted")
            for path in paths:
                try:
                    os.unlink(self.folder / path.name)
                except FileNotFoundError:
                    continue  # another process was faster
                except PermissionError as error:
                    raise NoPermission(f"{path}: permission denied: it was not deleted") from error
                except OSError as error:
                    raise CannotCreate(f"{path}: cannot delete: {reason_of(error)}") from error
            try:
                sync_folder(self.folder)
            except FileNotFoundError:
                return  # the folder is gone, with all files in it
            except OSError as error:
                raise WriteFailed(f"{self.folder}: {reason_of(error)}: deleted, but perhaps not on disk") from error

    def _create(self) -> None:
        """Create the folder if it is missing, only for its owner."""
        try:
            os.mkdir(self.folder, 0o700)
            sync_folder(self.folder.parent)
        except FileExistsError as error:
            if not os.path.isdir(self.folder):
                text = f"{self.folder}: exists already, and is not a folder: nothing was written"
                raise CannotCreate(text, "remove it, or name another sidecar with --sidecar DIR") from error
        except OSError as error:
            raise CannotCreate(f"{self.folder}: cannot create: {reason_of(error)}: nothing was written") from error

    def _stays(self, after: str) -> None:
        if self.sidecar.leads_out(self.folder):
            text = f"{self.folder}: a link that leads out of {self.sidecar.base}: {after}"
            raise NoPermission(text, "remove the link, or name the folder with --sidecar DIR")


def names_of(head: SnapshotHead) -> tuple[str, str]:
    """The name of a snapshot's file, and the one that it gets if the first is taken."""
    stamp = _stamp(head)
    return f"{stamp}-{head.short}.json", f"{stamp}-{head.session_id}.json"


def pieces(body: Mapping[str, Any], kept: Snapshot) -> Iterator[bytes]:
    """The bytes of a file: its head `body`, its messages, and their descriptions; without messages only the head."""
    start = dumps(body).encode("ascii")[:-1]
    if not kept.messages:
        yield start + b"}\n"
        return
    yield start + SPLIT + b"\n"
    yield from _listed(kept.messages, b",\n")
    yield b"\n],\n" + HELD
    yield from _listed(kept.held, b",")
    yield b"]}\n"


def _listed(values: Sequence[Any], between: bytes) -> Iterator[bytes]:
    """These values as JSON, separated by `between`."""
    if isinstance(values, Spooled):
        lines = values.lines()
    else:
        lines = (dumps(msgspec.to_builtins(value)).encode("ascii") for value in values)
    for place, line in enumerate(lines):
        yield between + line if place else line


def is_snapshot(path: Path) -> bool:
    """Whether a file begins like a snapshot, in any layout; its content may be damaged."""
    try:
        with _opened(path) as source:
            start = source.read(0, FIRST)
    except CtxkitError:
        return False
    return start.lstrip().startswith(b"{") and b'"session_id"' in start and b'"message_count"' in start


def looked_at(path: Path) -> SnapshotFile:
    """A file with its head; in the layout of ctxkit its messages are not read."""
    try:
        with _opened(path) as source:
            return msgspec.structs.replace(_head(path, source), written=os.stat(path).st_mtime_ns)
    except OSError as error:
        return SnapshotFile(path, fault=f"cannot read: {reason_of(error)}")
    except CtxkitError as error:
        return SnapshotFile(path, fault=error.message.removeprefix(f"{path}: "))


def read(path: Path) -> Snapshot:
    """A snapshot, verified by its digests. Raises BadSnapshot, NoSuchLog, NoPermission, ReadFailed."""
    with _opened(path) as source:
        if source.size > LARGEST:
            raise BadSnapshot(f"{path}: it has {source.size:,} bytes, which is too large: nothing was changed")
        return _streamed(source) or parsed(source.read(0, source.size), str(path))


def _streamed(source: Source) -> Snapshot | None:
    """A snapshot in the layout of ctxkit, read line by line; its messages are kept in a spool. None for any other file,
    which `parsed` reads or refuses. Raises WriteFailed.
    """
    lines, start = lines_of(source.chunks(0, source.size)), b""
    try:
        start = next(lines, b"")
        if not start.endswith(b",") or next(lines, b"") != SPLIT.rpartition(b"\n")[2]:
            return None
        body = loads(start[:-1] + b"}")
        end = _Sizes(lines)
        messages = Spooled(_messages(end), dict)
        held = Spooled(
            _held(source, len(start) + len(SPLIT) + end.size), lambda one: msgspec.convert(one, SnapshotMessage)
        )
        return whole({**body, "messages": messages, "held": held})
    except (ValueError, TypeError, RecursionError):
        return None


class _Sizes(Iterator[bytes]):
    """Iterates over lines, and counts their bytes, with their ends."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines, self.size = lines, 0

    def __next__(self) -> bytes:
        line = next(self._lines)
        self.size += len(line) + 1
        return line


def _held(source: Source, start: int) -> Iterator[Any]:
    """The descriptions of a file's messages, from the line after these. Raises ValueError if there is no such line."""
    found = parted(source.chunks(start, source.size), b"},{")
    first = next(found)
    if not first.startswith(HELD):
        raise ValueError("its messages are not described")
    last = first.removeprefix(HELD)
    for one in found:
        yield loads(last + b"}")
        last = b"{" + one
    if not last.rstrip().endswith(b"]}"):
        raise ValueError("it is not a snapshot: it has no end")
    yield loads(last.rstrip().removesuffix(b"]}"))


def _messages(lines: Iterator[bytes]) -> Iterator[Any]:
    """The messages of a file, up to the line that ends them. Raises ValueError if a line is not a message."""
    more = True
    for line in lines:
        if line == b"],":
            return
        if not more:
            break
        more = line.endswith(b"},")
        if not line.startswith(b"{") or not (more or line.endswith(b"}")):
            break
        yield loads(line[:-1] if more else line)
    raise ValueError("it is not a snapshot: its messages have no end")


def parsed(raw: bytes, name: str) -> Snapshot:
    """The snapshot in the bytes of a file. Raises BadSnapshot."""
    try:
        body = loads(raw)
        if not isinstance(body, dict):
            raise ValueError("it is not a snapshot: it is not a JSON object")
        return whole(body)
    except (ValueError, RecursionError) as error:
        raise BadSnapshot(f"{name}: {_fault(error)}: nothing was changed", "ctxkit snapshots LOG lists all") from error


def _head(path: Path, source: Source) -> SnapshotFile:
    size, start = FIRST, b""
    while SPLIT not in start and len(start) < source.size and size <= LONGEST_HEAD:
        start, size = source.read(0, size), size * 16
    head, split, _ = start.partition(SPLIT)
    if not split and source.size > REWRITTEN:
        return SnapshotFile(
            path, fault=f"it has {source.size:,} bytes, and no head that stands alone", size=source.size
        )
    try:
        body = loads(head + b"}" if split else source.read(0, source.size))
        if not isinstance(body, dict):
            raise ValueError("it is not a snapshot: it is not a JSON object")
        made = head_of(body)
    except NewerVersion as error:
        return SnapshotFile(path, fault=str(error), size=source.size, newer=True)
    except (ValueError, RecursionError) as error:
        return SnapshotFile(path, fault=_fault(error), size=source.size)
    rest = {key: value for key, value in body.items() if key not in ("messages", "held")}
    return SnapshotFile(path, made, rest, size=source.size)


def _fault(error: ValueError | RecursionError) -> str:
    """What is wrong with a file, in words."""
    text = str(error)
    return text if text.startswith(("it ", "its ")) else "it is not a snapshot: it is not JSON"


def _opened(path: Path) -> Source:
    fd = open_regular(path, os.O_RDONLY)
    try:
        return Source(str(path), fd=fd)
    except BaseException:
        close(fd)
        raise


def _fits(entry: os.DirEntry[str], largest: int | None) -> bool:
    """Whether an entry of the folder is a snapshot file, not larger than `largest`."""
    if not entry.name.endswith(".json") or entry.name.startswith(".") or not entry.is_file(follow_symlinks=False):
        return False
    try:
        return largest is None or entry.stat(follow_symlinks=False).st_size <= largest
    except FileNotFoundError:
        return False  # another process was faster


def _age(found: SnapshotFile) -> tuple[str, int, int, str]:
    """Sort key: the time in the head, else in the name; then the file's time, how far the log reached, the file's name.

    How far the log reached counts for files that an older ctxkit wrote: of these, two may have the same time.
    """
    if found.head is None:
        return found.path.name.partition("-")[0], found.written, 0, found.path.name
    return _stamp(found.head), found.written, found.head.at.messages, found.path.name


def _stamp(head: SnapshotHead) -> str:
    """The time of a snapshot as in the file's name: 20260212T143000Z."""
    return re.sub("[^0-9TZ]", "", head.timestamp)
