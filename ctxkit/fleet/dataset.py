"""A dataset: a folder (or URL) with the tables of many logs in Parquet files, and a ledger of what counts in them.

`TABLE/month=2026-02/source=codex/PART.parquet` has rows of a part for a month and a format, `ledger/PART.json` says
which sources the part has; `ctxkit.json` has the schema's version and how the rows were made. A file is never changed:
a later part counts in the place of an earlier one (`parts.py`).
"""

from __future__ import annotations

import fcntl
import json
import os
import posixpath
import re
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ctxkit.core.text.json_text import loads
from ctxkit.errors import BadDataset, CannotCreate, CtxkitError, NoPermission, NoSuchLog, ReadFailed, reason_of
from ctxkit.fleet.sources import file_system, is_url, local, named_errors
from ctxkit.fleet.tables import COLUMNS, SCHEMA, TABLES
from ctxkit.store.durable_append import sync_folder
from ctxkit.store.lock import lock
from ctxkit.store.opening import close
from ctxkit.store.private import make_private, refuse_links

HEAD, LEDGER = "ctxkit.json", "ledger"
PATIENCE = 1.0
"""Seconds to wait for another program that writes to the dataset."""
TEMPORARY = ".ctxkit-"
"""How the names of files begin that are not whole yet. No table is read from them."""
FRESH = "ingest into a new folder: ctxkit fleet ingest PATH -o NEW"
SPARE = 64
"""Files that may be opened besides those that were asked for."""
_PART = re.compile(r"\d{8}(?:-(\d+of\d+))?-\d{5}")
_OF_PART = re.compile(rf"(?:{re.escape(TEMPORARY)})?({_PART.pattern})\.(?:json|parquet)\b")


class DatasetHead(msgspec.Struct, frozen=True):
    """`ctxkit.json`: version of the schema, and how all its rows are made: `redact`, `scout` (with Scout's table)."""

    ctxkit_schema: int = SCHEMA
    redact: bool = False
    scout: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of the dataset."""
        return tuple(COLUMNS if self.scout else TABLES)


class SourceEntry(msgspec.Struct, omit_defaults=True):
    """A source in the ledger. `stamp`: as listed before it was read, "" if it is to be compared again; `digest`: of its
    bytes and those of its sidecar; `size`: bytes; `transcripts`: how many it has, 0 if it is no log.

    `failed`: it could not be read at all, so that its row has nothing but the reason. `before`: what `sources.before`
    said of the files in which its history begins.
    """

    stamp: str
    digest: str
    size: int
    transcripts: int
    failed: bool = False
    before: tuple[str, ...] = ()


class Part(msgspec.Struct, omit_defaults=True):
    """A file of the ledger: what one process wrote. `sources`: those whose rows it has; `gone`: those whose rows in
    older parts count no more; `files`: its Parquet files, by their names in the dataset.
    """

    sources: dict[str, SourceEntry] = {}
    gone: list[str] = []
    files: list[str] = []


def part_name(run: int, batch: int, share: str = "") -> str:
    """The name of a part: names of later runs come later. `share`: of a run for a share of the sources, `2of8`."""
    return "-".join(filter(None, (f"{run:08}", share, f"{batch:05}")))


def share_of(part: str) -> str:
    """The share of the sources that a part's run was for; "" for all."""
    found = _PART.fullmatch(part)
    return found[1] or "" if found else ""


def file_of(folder: str, part: str) -> str:
    """The Parquet file of a part in a folder of a table."""
    return f"{folder}/{part}.parquet"


def is_dataset(place: str) -> bool:
    """Whether there is a dataset in a folder of this machine."""
    return os.path.isfile(os.path.join(place, HEAD)) and os.path.isdir(os.path.join(place, LEDGER))


class Dataset:
    """The files of a dataset at a path or URL. Nothing is read before it is asked for."""

    def __init__(self, place: str) -> None:
        self.remote = is_url(place)
        self.place = place.rstrip("/") if self.remote else local(place)

    def path(self, *names: str) -> str:
        """The path or URL of a file of the dataset."""
        return posixpath.join(self.place, *names) if self.remote else os.path.join(self.place, *names)

    def has_link(self, file: str) -> bool:
        """Whether a file here, or a folder of the dataset in which it is, is a link."""
        names = file.split("/")
        return not self.remote and any(os.path.islink(self.path(*names[:k])) for k in range(1, len(names) + 1))

    def head(self) -> DatasetHead | None:
        """How the dataset is made; None if there is nothing at its place.

        Raises BadDataset for a dataset of another schema and for anything that is no dataset; NoPermission, ReadFailed.
        """
        found = self.read(HEAD)
        if found is None:
            if any(not name.startswith(TEMPORARY) for name in self.names()):
                text = f"{self.place} is no dataset and not empty: nothing was changed"
                raise BadDataset(text, "-o names a new folder, or one that ctxkit fleet ingest made")
            return None
        try:
            schema = msgspec.json.decode(found, type=dict[str, Any]).get("ctxkit_schema")
            if schema != SCHEMA:
                text = f"{self.place} is of schema {schema}, this ctxkit reads and writes {SCHEMA}"
                raise BadDataset(f"{text}: nothing was changed", FRESH)
            return msgspec.json.decode(found, type=DatasetHead)
        except msgspec.DecodeError as error:
            raise BadDataset(f"{self.path(HEAD)} is damaged: nothing was changed", FRESH) from error

    def opened(self) -> DatasetHead:
        """How an existing dataset is made. Raises NoSuchLog if there is none, and what `head` raises."""
        found = self.head()
        if found is None:
            raise NoSuchLog(f"{self.place}: no dataset", f"ctxkit fleet ingest PATH -o {self.place} makes one")
        return found

    def parts(self) -> dict[str, Part]:
        """All parts by name, as of one moment. Raises BadDataset for a damaged one, NoPermission, ReadFailed."""
        while True:
            names = [name for name in self.names(LEDGER) if _PART.fullmatch(name.removesuffix(".json"))]
            read = {name.removesuffix(".json"): self.read(LEDGER, name) for name in names if name.endswith(".json")}
            found = {name: self._part(name, text) for name, text in read.items() if text is not None}
            if len(found) == len(read):  # else one was folded meanwhile, into another that is not among them
                return found

    def _part(self, name: str, text: bytes) -> Part:
        try:
            return msgspec.convert(loads(text), Part)
        except (ValueError, msgspec.ValidationError) as error:
            said = f"{self.path(LEDGER, name)}.json is damaged: nothing was changed"
            raise BadDataset(said, "remove the file: its sources are read again") from error

    def write_part(self, name: str, part: Part) -> None:
        """Write the ledger's file of a part, which makes it count. Raises what `write` raises."""
        text = json.dumps(msgspec.to_builtins(part))  # a name may be no UTF-8
        self.write(text.encode("ascii") + b"\n", LEDGER, f"{name}.json")

    def remove_part(self, name: str, part: Part) -> None:
        """Remove a part: first it counts no more. Raises CannotCreate, NoPermission, ReadFailed."""
        for file in (f"{LEDGER}/{name}.json", *part.files):
            self._remove(file)

    def _remove(self, file: str) -> None:
        place = self.path(*file.split("/"))
        if self.remote:
            fs, path = file_system(place)
            with named_errors(place, "removed"), suppress(FileNotFoundError):
                fs.rm_file(path)
            return
        try:
            os.unlink(place)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _cannot(place, error) from error

    def sweep(self, share: str, known: Sequence[str]) -> None:
        """Remove what a killed run of the same share left: files of parts that are not `known`. A run for all removes
        that of every share. Raises CannotCreate, NoPermission, ReadFailed.
        """
        for file in self._files():
            found = _OF_PART.match(posixpath.basename(file))
            if found is None:
                left = not share and posixpath.basename(file).startswith(TEMPORARY)
            else:
                left = share in ("", share_of(found[1])) and (found[0][0] == "." or found[1] not in known)
            if left:
                self._remove(file)

    def _files(self) -> list[str]:
        """All files of the dataset, by their names in it."""
        if self.remote:
            fs, path = file_system(self.place)
            with named_errors(self.place):
                fs.invalidate_cache()
                return [one.removeprefix(path).lstrip("/") for one in fs.find(path)]
        return [
            os.path.relpath(os.path.join(folder, one), self.place)
            for folder, _, some in os.walk(self.place) for one in some
        ]  # fmt: skip

    def begin(self, head: DatasetHead) -> None:
        """Make a new dataset: its head, then its folders. Raises CannotCreate, NoPermission, ReadFailed."""
        self._folder(self.place)
        self.write(msgspec.json.format(msgspec.json.encode(head)) + b"\n", HEAD)
        self._folder(self.path(LEDGER))

    def _folder(self, place: str) -> None:
        if not self.remote:
            _refuse_link(self.place)
            refuse_links(Path(self.place), Path(place))
            try:
                make_private(Path(place))
            except OSError as error:
                raise _cannot(place, error) from error

    def names(self, folder: str = "") -> list[str]:
        """What is in a folder of it; nothing if there is none. Raises NoPermission, ReadFailed, CannotCreate."""
        place = self.path(folder) if folder else self.place
        if self.remote:
            fs, path = file_system(place)
            with named_errors(place):
                fs.invalidate_cache()
                found = fs.ls(path, detail=False) if fs.exists(path) else []
                return sorted(one.rstrip("/").rpartition("/")[2] for one in found)
        try:
            return sorted(os.listdir(place))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _cannot(place, error) from error

    def read(self, *names: str) -> bytes | None:
        """The bytes of a file; None if there is none. Raises NoPermission, ReadFailed."""
        place = self.path(*names)
        if self.remote:
            fs, path = file_system(place)
            with named_errors(place):
                return bytes(fs.cat_file(path)) if fs.exists(path) else None
        try:
            return Path(place).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError as error:
            raise NoPermission(f"{place}: permission denied") from error
        except OSError as error:
            raise ReadFailed(f"{place}: cannot read: {reason_of(error)}") from error

    def write(self, content: bytes, *names: str) -> None:
        """Replace a file, durably. Raises CannotCreate, NoPermission, ReadFailed."""
        with self.written(*names) as temporary, open(temporary, "wb") as file:
            file.write(content)

    @contextmanager
    def written(self, *names: str) -> Iterator[str]:
        """A path to write a file to; when this ends without an error, it takes the place of the file, durably.

        Raises CannotCreate, NoPermission, ReadFailed.
        """
        place = self.path(*names)
        folder = None if self.remote else os.path.dirname(place)
        temporary = ""
        if folder is not None:
            self._folder(folder)
            allow_files(1)
        try:
            fd, temporary = tempfile.mkstemp(prefix=f"{TEMPORARY}{names[-1]}-", dir=folder)
            close(fd)
            yield temporary
            if self.remote:
                fs, path = file_system(place)
                with named_errors(place, "written"):
                    fs.put_file(temporary, path)
            else:
                _take_place(temporary, place)
                temporary = ""
        except OSError as error:
            raise _cannot(place, error) from error
        finally:
            if temporary:
                with suppress(OSError):
                    os.unlink(temporary)

    @contextmanager
    def alone(self, share: str = "") -> Iterator[None]:
        """Nobody else writes to the dataset meanwhile, as far as it is in a folder here; with a share of the sources,
        nobody else writes those of this share, or all. Raises Locked, WriteFailed, CannotCreate.
        """
        if self.remote:
            yield
            return
        for name in ("", LEDGER, *COLUMNS):
            _refuse_link(self.path(name))
        with ExitStack() as held:
            try:
                fd = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                held.callback(close, fd)
                lock(fd, self.place, PATIENCE, fcntl.LOCK_SH if share else fcntl.LOCK_EX)
                if share:
                    place = self.path(f"{share}.lock")
                    fd = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
                    held.callback(close, fd)
                    lock(fd, place, PATIENCE)
            except OSError as error:
                raise _cannot(self.place, error) from error
            yield

    @contextmanager
    def parquet(self, file: str) -> Iterator[Any]:
        """A Parquet file, open for reading in pieces. Raises NoPermission, NoSuchLog, ReadFailed."""
        import pyarrow.parquet

        place = self.path(*file.split("/"))
        if not self.remote:
            with pyarrow.parquet.ParquetFile(place, memory_map=False) as held:
                yield held
            return
        fs, path = file_system(place)
        with named_errors(place), fs.open(path, "rb") as stream, pyarrow.parquet.ParquetFile(stream) as held:
            yield held


def allow_files(more: int) -> None:
    """So many more open files, as far as the system lets a process have them."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = len(os.listdir("/dev/fd")) + more + SPARE
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed if hard < 0 else min(needed, hard), hard))


def _refuse_link(place: str) -> None:
    """Raises CannotCreate for a link, which whoever may write beside a dataset can let lead anywhere."""
    if os.path.islink(place):
        raise CannotCreate(f"{place}: a link, not a folder of a dataset: nothing was written", "name where it leads")


def _take_place(temporary: str, place: str) -> None:
    """Rename a file over another, durably; it takes the mode of the old one."""
    with suppress(FileNotFoundError):
        os.chmod(temporary, stat.S_IMODE(os.stat(place).st_mode))
    fd = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        close(fd)
    os.replace(temporary, place)
    sync_folder(Path(place).parent)


def _cannot(place: str, error: OSError) -> CtxkitError:
    if isinstance(error, PermissionError):
        return NoPermission(f"{place}: permission denied: it is as it was")
    return CannotCreate(f"{place}: cannot write: {reason_of(error)}: it is as it was")
