"""A dataset: a folder (or URL) with the tables of many logs in Parquet files, and a ledger of what counts in them.

`TABLE/month=2026-02/source=codex/PART.parquet` has rows of a part for a month and a format, `ledger/PART.json` says
which sources the part has; `ctxkit.json` has the schema's version and how the rows were made. A file is never changed:
a later part counts in the place of an earlier one (`parts.py`).
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import posixpath
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.core.text.json_text import loads
from ctxkit.errors import BadDataset, CannotCreate, CtxkitError, NoPermission, NoSuchLog, reason_of
from ctxkit.fleet.sources import file_system, is_url, local, named_errors
from ctxkit.fleet.tables import COLUMNS, SCHEMA, TABLES
from ctxkit.store import atomic
from ctxkit.store.lock import lock
from ctxkit.store.opening import close
from ctxkit.store.private import make_private, refuse_links

if TYPE_CHECKING:
    import pyarrow as pa

HEAD, LEDGER = "ctxkit.json", "ledger"
PATIENCE = 1.0
"""Seconds to wait for another program that writes to the dataset."""
FRESH = "ingest into a new folder: ctxkit fleet ingest PATH -o NEW"
LEVEL = 3
"""Of zstd."""
GROUP = 16_384
"""Rows of a group: what a query reads at once."""
_PART = re.compile(r"\d{8}(?:-(\d+of\d+))?-\d{5}")


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
    said of the files in which its history begins. `gone`: it is not there any more; nothing else is said of it.
    """

    stamp: str = ""
    digest: str = ""
    size: int = 0
    transcripts: int = 0
    failed: bool = False
    before: tuple[str, ...] = ()
    gone: bool = False


class Part(msgspec.Struct, omit_defaults=True):
    """A file of the ledger: what one process wrote. `sources`: name -> entry; `files`: its Parquet files, by their
    names in the dataset.
    """

    sources: dict[str, SourceEntry] = {}
    files: list[str] = []


def part_name(run: int, batch: int, share: str = "") -> str:
    """The name of a part: names of later runs come later. `share`: of a run for a share of the sources, `2of8`."""
    return "-".join(filter(None, (f"{run:08}", share, f"{batch:05}")))


def share_of(part: str) -> str:
    """The share of the sources that a part's run was for; "" for all."""
    found = _PART.fullmatch(part)
    return found[1] or "" if found else ""


def is_dataset(place: str) -> bool:
    """Whether there is a dataset in a folder of this machine."""
    return os.path.isfile(os.path.join(place, HEAD)) and os.path.isdir(os.path.join(place, "transcripts"))


class Dataset:
    """The files of a dataset at a path or URL, by their names in it. Nothing is read before it is asked for."""

    def __init__(self, place: str) -> None:
        self.remote = is_url(place)
        self.place = place.rstrip("/") if self.remote else local(place)

    def path(self, name: str) -> str:
        """The path or URL of a file of the dataset."""
        return posixpath.join(self.place, name)

    def _refuse_link(self, name: str) -> None:
        """Raises CannotCreate for a link, which whoever may write beside a dataset can let lead anywhere."""
        refuse_links(Path(self.place).parent, Path(self.path(name)))

    def has_link(self, name: str) -> bool:
        """Whether a file here, or a folder of the dataset in which it is, is a link."""
        try:
            refuse_links(Path(self.place), Path(self.path(name)))
        except CannotCreate:
            return not self.remote
        return False

    def head(self) -> DatasetHead | None:
        """How the dataset is made; None if there is nothing at its place.

        Raises BadDataset for a dataset of another schema and for anything that is no dataset; NoPermission, ReadFailed.
        """
        found = self.read(HEAD)
        if found is None:
            if any(not posixpath.basename(name).startswith(atomic.PREFIX) for name in self.names()):
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

    def begin(self, head: DatasetHead) -> None:
        """Make a new dataset. Raises CannotCreate, NoPermission, ReadFailed."""
        self.write(HEAD, msgspec.json.format(msgspec.json.encode(head)) + b"\n")

    def parts(self) -> dict[str, Part]:
        """All parts by name, as of one moment. Raises BadDataset for a damaged one, NoPermission, ReadFailed."""
        while True:
            names = {posixpath.basename(one).removesuffix(".json"): one for one in self.names(LEDGER)}
            read = {name: self.read(file) for name, file in names.items() if _PART.fullmatch(name)}
            found = {name: self._part(name, text) for name, text in read.items() if text is not None}
            if len(found) == len(read):  # else one was folded meanwhile, into another that is not among them
                return found

    def _part(self, name: str, text: bytes) -> Part:
        try:
            return msgspec.convert(loads(text), Part)
        except (ValueError, msgspec.ValidationError) as error:
            said = f"{self.path(LEDGER)}/{name}.json is damaged: nothing was changed"
            raise BadDataset(said, "remove the file: its sources are read again") from error

    def write_part(self, name: str, part: Part) -> None:
        """Write the ledger's file of a part, which makes it count. Raises what `write` raises."""
        text = json.dumps(msgspec.to_builtins(part))  # a name may be no UTF-8
        self.write(f"{LEDGER}/{name}.json", text.encode("ascii") + b"\n")

    def remove_part(self, name: str, part: Part) -> None:
        """Remove a part: first it counts no more. Raises NoPermission, ReadFailed."""
        for file in (f"{LEDGER}/{name}.json", *part.files):
            self._remove(file)

    def sweep(self, share: str, known: Collection[str]) -> None:
        """Remove what a killed run of the same share left: files of parts that are not `known`. A run for all removes
        that of every share. Raises NoPermission, ReadFailed.
        """
        files = [file for name in (LEDGER, *COLUMNS) for file in self.names(name, below=True)]
        for file in files:
            found = _PART.match(posixpath.basename(file))
            if found is not None and share in ("", found[1]) and found[0] not in known and not self.has_link(file):
                self._remove(file)
        if not self.remote:
            for folder in {posixpath.dirname(self.path(file)) for file in files} | {self.place}:
                atomic.sweep(Path(folder))

    def names(self, folder: str = "", *, below: bool = False) -> list[str]:
        """The files in a folder, and in those below it, if asked. Raises NoPermission, ReadFailed."""
        fs, path = file_system(self.path(folder))
        with named_errors(self.path(folder)):
            fs.invalidate_cache()
            if not fs.exists(path):
                return []
            found = fs.find(path) if below else fs.ls(path, detail=False)
        return sorted(posixpath.join(folder, posixpath.relpath(one, path)) for one in found)

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if there is none. Raises NoPermission, ReadFailed."""
        fs, path = file_system(self.path(name))
        try:
            with named_errors(self.path(name)):
                return bytes(fs.cat_file(path))
        except NoSuchLog:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole, durably. Raises CannotCreate, NoPermission, ReadFailed."""
        place = self.path(name)
        if self.remote:
            fs, path = file_system(place)
            with named_errors(place, "written"):
                fs.pipe_file(path, content)
            return
        self._refuse_link(name)
        try:
            make_private(Path(place).parent)
        except OSError as error:
            raise _cannot(place, error) from error
        atomic.replace(place, content)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write rows as a Parquet file. Raises what `write` raises."""
        from pyarrow.parquet import write_table

        made = io.BytesIO()
        write_table(table, made, row_group_size=GROUP, compression="zstd", compression_level=LEVEL)
        self.write(name, made.getvalue())

    def read_table(self, name: str) -> pa.Table:
        """The rows of a Parquet file of a part. Raises NoSuchLog, NoPermission, ReadFailed."""
        from pyarrow.parquet import read_table

        with named_errors(self.path(name)):
            return read_table(io.BytesIO(self.read(name) or b""))

    def _remove(self, name: str) -> None:
        fs, path = file_system(self.path(name))
        try:
            with named_errors(self.path(name), "removed"):
                fs.rm_file(path)
        except NoSuchLog:
            return

    @contextmanager
    def alone(self, share: str = "") -> Iterator[None]:
        """Nobody else writes to the dataset meanwhile, as far as it is in a folder here; with a share of the sources,
        nobody else writes those of this share, or all. Raises Locked, WriteFailed, CannotCreate.
        """
        if self.remote:
            yield
            return
        for name in (LEDGER, *COLUMNS):
            self._refuse_link(name)
        with ExitStack() as held:
            flags, kind = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, fcntl.LOCK_SH if share else fcntl.LOCK_EX
            for name in ("", f"{share}.lock") if share else ("",):
                try:
                    fd = os.open(self.path(name), flags, 0o600)
                except OSError as error:
                    raise _cannot(self.path(name), error) from error
                held.callback(close, fd)
                lock(fd, self.path(name), PATIENCE, kind)
                flags, kind = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, fcntl.LOCK_EX
            yield


def _cannot(place: str, error: OSError) -> CtxkitError:
    if isinstance(error, PermissionError):
        return NoPermission(f"{place}: permission denied: it is as it was")
    return CannotCreate(f"{place}: cannot write: {reason_of(error)}: it is as it was")
