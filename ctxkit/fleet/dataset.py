"""A dataset: a folder (or URL) with the five tables of many logs in Parquet files, and a ledger of what they hold.

`TABLE/shard-0007.parquet` has the rows of the sources whose names fall into shard 7; `ledger/shard-0007.json` says
which sources these are; `ctxkit.json` has the schema's version and how the rows were made. Each file is replaced as a
whole, so that `TABLE/*.parquet` is a sound table at every moment. `shards.py` writes it, queries read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import exact
from ctxkit.errors import BadDataset, CannotCreate, CtxkitError, NoPermission, NoSuchLog, ReadFailed, reason_of
from ctxkit.fleet.sources import file_system, is_url, local, named_errors
from ctxkit.fleet.tables import SCHEMA, TABLES
from ctxkit.store.durable_append import sync_folder
from ctxkit.store.lock import lock
from ctxkit.store.opening import close
from ctxkit.store.private import make_private

HEAD, LEDGER = "ctxkit.json", "ledger"
SHARDS = 64
"""Shards of a new dataset."""
PATIENCE = 1.0
"""Seconds to wait for another program that writes to the dataset."""
TEMPORARY = ".ctxkit-"
"""How the names of files begin that are not whole yet. No table is read from them."""
FRESH = "ingest into a new folder: ctxkit fleet ingest PATH -o NEW"


class DatasetHead(msgspec.Struct, frozen=True):
    """`ctxkit.json`: version of the schema, number of shards, and how all its rows are made: `redact`."""

    ctxkit_schema: int = SCHEMA
    shards: int = SHARDS
    redact: bool = False


class SourceEntry(msgspec.Struct, omit_defaults=True):
    """A source in the ledger. `stamp`: as listed before it was read, "" if it is to be compared again; `digest`: of its
    bytes and those of its sidecar; `size`: bytes; `transcripts`: how many it has, 0 if it is no log.

    `failed`: it could not be read at all, so that its row has nothing but the reason; or a run that was about to put in
    or take out its rows did not come to its end. `before`: what `sources.before` said of the files in which its
    history begins.
    """

    stamp: str
    digest: str
    size: int
    transcripts: int
    failed: bool = False
    before: tuple[str, ...] = ()


Ledger = dict[str, SourceEntry]
"""Name of a source -> its entry, in the order of the names."""


def shard_of(name: str, shards: int) -> int:
    """The shard of a source, by a hash of its name."""
    return int.from_bytes(hashlib.sha256(exact(name)).digest()[-8:], "big") % shards


def shard_name(shard: int) -> str:
    """`shard-0007`: the files of a shard."""
    return f"shard-{shard:04}"


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

    def glob(self, table: str) -> str:
        """A pattern of the Parquet files of a table, for DuckDB and others."""
        return self.path(table, "*.parquet")

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

    def ledger(self, shard: int) -> Ledger:
        """The sources of a shard. Raises BadDataset if it is damaged, NoPermission, ReadFailed."""
        found = self.read(LEDGER, f"{shard_name(shard)}.json")
        if found is None:
            return {}
        try:
            return msgspec.convert(loads(found), Ledger)
        except (ValueError, msgspec.ValidationError) as error:
            text = f"{self.path(LEDGER, shard_name(shard))}.json is damaged: the shard was not changed"
            raise BadDataset(text, "remove the file: all sources of the shard are read again") from error

    def write_ledger(self, shard: int, ledger: Ledger) -> None:
        """Replace the ledger of a shard. Raises what `write` raises."""
        text = json.dumps(msgspec.to_builtins(dict(sorted(ledger.items()))), indent=1)  # a name may be no UTF-8
        self.write(text.encode("ascii") + b"\n", LEDGER, f"{shard_name(shard)}.json")

    def begin(self, head: DatasetHead) -> None:
        """Make a new dataset: its head, then its folders. Raises CannotCreate, NoPermission, ReadFailed."""
        self._folder(self.place)
        self.write(msgspec.json.format(msgspec.json.encode(head)) + b"\n", HEAD)
        self.make_folders()

    def make_folders(self) -> None:
        """Make the folders of the tables that are not there. Raises CannotCreate, NoPermission."""
        for name in (*TABLES, LEDGER):
            self._folder(self.path(name))

    def _folder(self, place: str) -> None:
        if not self.remote:
            _refuse_link(place)
            try:
                make_private(Path(place))
            except OSError as error:
                raise _cannot(place, error) from error

    def names(self) -> list[str]:
        """What is at the place; nothing if there is no such folder. Raises NoPermission, ReadFailed, CannotCreate."""
        if self.remote:
            fs, path = file_system(self.place)
            with named_errors(self.place):
                return (
                    [one.rstrip("/").rpartition("/")[2] for one in fs.ls(path, detail=False)] if fs.exists(path) else []
                )
        try:
            return sorted(os.listdir(self.place))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _cannot(self.place, error) from error

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
        try:
            fd, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=folder)
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
    def alone(self) -> Iterator[None]:
        """Nobody else writes to the dataset meanwhile, as far as it is in a folder here. Removes what was left half
        written. Raises Locked, WriteFailed, CannotCreate.
        """
        if self.remote:
            yield
            return
        for folder in (self.place, *(self.path(name) for name in (*TABLES, LEDGER))):
            _refuse_link(folder)
        try:
            fd = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _cannot(self.place, error) from error
        try:
            lock(fd, self.place, PATIENCE)
            for folder in (self.place, *(self.path(name) for name in (*TABLES, LEDGER))):
                with suppress(OSError):
                    for name in os.listdir(folder):
                        if name.startswith(TEMPORARY):
                            os.unlink(os.path.join(folder, name))
            yield
        finally:
            close(fd)

    @contextmanager
    def parquet(self, *names: str) -> Iterator[Any]:
        """A Parquet file, open for reading in pieces; None if there is none. Raises NoPermission, ReadFailed."""
        import pyarrow.parquet

        place = self.path(*names)
        if not self.remote:
            if not os.path.exists(place):
                yield None
                return
            with pyarrow.parquet.ParquetFile(place, memory_map=False) as file:
                yield file
            return
        fs, path = file_system(place)
        with named_errors(place):
            if not fs.exists(path):
                yield None
                return
            with fs.open(path, "rb") as held, pyarrow.parquet.ParquetFile(held) as file:
                yield file


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
