"""One shard of a dataset: reads the sources that are new or changed, and replaces the shard's files.

Pipeline: `sources.py` lists -> here, in one process per shard -> `rows.py` -> Parquet. Memory holds one source and one
group of rows, whatever the size of the shard. The bytes of a file follow from the sources alone, not from what was
there before: rows are in the order of the transcripts, and a group of rows ends where its sources reach `GROUP` bytes.

A killed process leaves each file as it was or new. Before the first file is replaced, the ledger calls the sources that
come, change or go doubtful, and after the last it says what they are: so the next run reads or removes them again.
"""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.core.text.utf8 import exact
from ctxkit.errors import CtxkitError, Usage
from ctxkit.fleet.dataset import Dataset, DatasetHead, Ledger, SourceEntry, shard_name
from ctxkit.fleet.rows import Rows, empty, rows, transcript_id, unread
from ctxkit.fleet.sources import SourceBytes, SourceFile, before, holds, may_have_rows
from ctxkit.fleet.tables import TABLES, arrow, schema, table
from ctxkit.store.folder import START, may_be_log
from ctxkit.store.index import settled
from ctxkit.version import VERSION

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = 8 << 20
"""Bytes of sources in a group of rows, at least."""
LEVEL = 3
"""Of zstd."""


class ShardTask(msgspec.Struct, frozen=True):
    """What one process does. `sources`: those of the shard that were listed; `places`: where was looked: a source of
    the ledger below these that was not listed is gone, unless it is below a folder that could not be read (`unseen`).

    `keep_missing`: the rows of sources that are gone stay; `dry_run`: nothing is read or written; `version`: the ctxkit
    that asks, which may run on another machine.
    """

    place: str
    shard: int
    head: DatasetHead
    sources: Sequence[SourceFile]
    places: Sequence[str]
    unseen: Sequence[str] = ()
    keep_missing: bool = False
    dry_run: bool = False
    version: str = VERSION


class ShardReport(msgspec.Struct):
    """What was done: sources by what came of them; `bytes`: of the sources that were read; `failed`: name -> why it
    could not be read; `refused`: name -> why it is no log that ctxkit reads.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: int = 0
    transcripts: int = 0
    bytes: int = 0
    failed: dict[str, str] = {}
    refused: dict[str, str] = {}


def write_shard(task: ShardTask) -> ShardReport:
    """Bring one shard up to date.

    Raises BadDataset, CannotCreate, NoPermission, ReadFailed; Usage for a task of another version.
    """
    if task.version != VERSION:
        text = f"ctxkit {task.version} asks, and a worker has {VERSION}: it is as it was"
        raise Usage(text, "install the same version everywhere")
    collects = gc.isenabled()
    gc.disable()  # a search for cycles among the rows of a source is slow: one for each GROUP bytes is enough
    try:
        return _Shard(task).run()
    finally:
        if collects:
            gc.enable()


class _Shard:
    """One shard, while it is brought up to date."""

    def __init__(self, task: ShardTask) -> None:
        self.task = task
        self.dataset = Dataset(task.place)
        self.ledger = self.dataset.ledger(task.shard)
        self.report = ShardReport()

    def run(self) -> ShardReport:
        task, report = self.task, self.report
        listed = {one.name: one for one in task.sources}
        gone = [] if task.keep_missing else [name for name in self.ledger if name not in listed and self._is_gone(name)]
        kept: Ledger = {name: entry for name, entry in self.ledger.items() if name not in listed and name not in gone}
        again: list[SourceFile] = []
        restamped = False
        for one in task.sources:
            known = self._known(one)
            if known is None:
                again.append(one)
            else:
                restamped |= known != self.ledger[one.name]
                kept[one.name] = known
                report.unchanged += known.transcripts > 0
                report.skipped += not known.transcripts
        report.removed = len(gone)
        for one in again:
            if one.name in self.ledger:
                report.changed += 1
            else:
                report.new += 1
        if task.dry_run:
            return report
        empty = (
            task.shard == 0 and not self.ledger and self.dataset.read("messages", f"{shard_name(0)}.parquet") is None
        )
        if again or gone or empty:  # a table of a dataset has a file, even if it has no rows
            self._replace(kept, again)
        elif restamped:
            self.dataset.write_ledger(task.shard, kept)
        return report

    def _is_gone(self, name: str) -> bool:
        task = self.task
        return any(holds(place, name) for place in task.places) and not any(holds(one, name) for one in task.unseen)

    def _known(self, one: SourceFile) -> SourceEntry | None:
        """The entry of a source that did not change, with the stamp that it has now; None if it is to be read."""
        known = self.ledger.get(one.name)
        if known is None or known.failed or one.error or (one.named and not known.transcripts):
            return None
        if known.before and known.before != before(one.name):
            return None
        if one.stamp and known.stamp == one.stamp:
            return known
        if known.size != one.size and not one.beside:
            return None
        try:
            found = one.read()
        except CtxkitError:
            return None
        if _digest(found) != known.digest:
            return None
        return msgspec.structs.replace(known, stamp=_trusted(one))

    def _replace(self, kept: Ledger, again: Sequence[SourceFile]) -> None:
        """Replace the files of the shard by the rows of the sources that are kept and those that are read again."""
        arrow()
        from pyarrow.parquet import ParquetWriter

        task, dataset = self.task, self.dataset

        read = {one.name: one for one in again}
        doubtful = {name: SourceEntry("", "", 0, 1, failed=True) for name in (*self.ledger, *read) if name not in kept}
        dataset.write_ledger(task.shard, kept | doubtful)
        ledger = dict(kept)
        name = shard_name(task.shard)
        with ExitStack() as stack:  # at its end the new files are closed, then they take the place of the old ones
            old = {one: stack.enter_context(_old_rows(dataset, one, name)) for one in TABLES}
            paths = {one: stack.enter_context(dataset.written(one, f"{name}.parquet")) for one in TABLES}
            options = {"compression": "zstd", "compression_level": LEVEL}
            group = _RowGroup({
                one: stack.enter_context(ParquetWriter(paths[one], schema(one), **options))
                for one in TABLES
            })  # fmt: skip
            for key, source in sorted((transcript_id(one), one) for one in (*kept, *read)):
                if source in read:
                    ledger[source], found = self._read(read[source])
                    made = {one: table(one, found[one]) for one in TABLES}
                else:
                    made = {one: old[one].of(key) for one in TABLES}
                group.add(made, ledger[source].size)
            group.end()
        dataset.write_ledger(task.shard, ledger)

    def _read(self, one: SourceFile) -> tuple[SourceEntry, Rows]:
        """The entry and the rows of a source that is new or changed."""
        report, head = self.report, self.task.head
        try:
            found = one.read()
        except CtxkitError as error:
            said = error.message.removeprefix(f"{one.name}: ")
            report.failed[one.name] = said
            report.transcripts += 1
            return SourceEntry("", "", one.size, 1, failed=True), unread(one.name, said)
        report.bytes += len(found.data)
        size, digest, stamp, history = len(found.data), _digest(found), _trusted(one), before(one.name)
        if not may_have_rows(one) and not may_be_log(found.data[:START]):
            return self._skipped(one, SourceEntry(stamp, digest, size, 0))
        made = rows(found.data, one.name, sidecar=found.sidecar, redact=head.redact)
        if not may_have_rows(one) and all(row["error"] for row in made["transcripts"]):
            return self._skipped(one, SourceEntry(stamp, digest, size, 0))
        wrong = next((row["error"] for row in made["transcripts"] if row["error"]), None)
        if wrong is not None:
            report.refused[one.name] = wrong
        report.transcripts += len(made["transcripts"])
        return SourceEntry(stamp, digest, size, len(made["transcripts"]), before=history), made

    def _skipped(self, one: SourceFile, entry: SourceEntry) -> tuple[SourceEntry, Rows]:
        """Count a file that is no log: it is known, and has no rows."""
        self.report.skipped += 1
        self.report.new -= one.name not in self.ledger
        self.report.changed -= one.name in self.ledger
        return entry, empty()


def _trusted(one: SourceFile) -> str:
    """The stamp; "" for a file that changed so recently that its next change may not show in its times."""
    try:
        if os.path.isabs(one.name) and not settled(os.stat(one.name)):
            return ""
    except OSError:
        return ""
    return one.stamp


def _digest(found: SourceBytes) -> str:
    """A digest of a log and of the files of its sidecar."""
    whole = hashlib.sha256(found.data)
    for name, data in sorted(found.sidecar.items()):
        whole.update(b"\0" + exact(name) + b"\0" + hashlib.sha256(data).digest())
    return whole.hexdigest()


class _RowGroup:
    """Collects the rows of sources, and writes a group of rows when they are enough."""

    uncollected = 0
    """Bytes of sources since the last search for cycles, which looks at all objects of the process."""

    def __init__(self, writers: dict[str, Any]) -> None:
        self.writers = writers
        self.held: dict[str, list[pa.Table]] = {name: [] for name in writers}
        self.size = 0

    def add(self, made: dict[str, pa.Table], size: int) -> None:
        """Add the rows of a source with so many bytes."""
        for name, found in made.items():
            if found.num_rows:
                self.held[name].append(found)
        self.size += size
        if self.size >= GROUP:
            self.end()

    def end(self) -> None:
        """Write what was collected."""
        pa = arrow()
        for name, some in self.held.items():
            if some:
                whole = pa.concat_tables(some).combine_chunks()  # pages follow from the rows, not from how they came
                self.writers[name].write_table(whole, row_group_size=whole.num_rows)
            some.clear()
        _RowGroup.uncollected += self.size
        self.size = 0
        if _RowGroup.uncollected >= GROUP:
            _RowGroup.uncollected = 0
            gc.collect()


class _OldRows:
    """The rows of a table of a shard as it was, taken in the order of the transcripts."""

    def __init__(self, name: str, file: Any) -> None:
        self.name = name
        self._groups: Iterator[int] = iter(range(0 if file is None else file.num_row_groups))
        self._file = file
        self._held: pa.Table | None = None
        self._ids: list[str] = []
        self._at = 0

    def of(self, key: str) -> pa.Table:
        """The rows of the source with this key; each key is greater than the one before."""
        found = []
        while self._more():
            start = self._at
            while start < len(self._ids) and self._ids[start].partition("-")[0] < key:
                start += 1
            end = start
            while end < len(self._ids) and self._ids[end].partition("-")[0] == key:
                end += 1
            if end > start and self._held is not None:
                found.append(self._held.slice(start, end - start))
            self._at = end
            if end < len(self._ids):
                break
        return arrow().concat_tables(found) if found else schema(self.name).empty_table()

    def _more(self) -> bool:
        """Whether there are rows that were not looked at; reads the next group if there is one."""
        while self._at >= len(self._ids):
            group = next(self._groups, None)
            if group is None:
                return False
            self._held = self._file.read_row_group(group)
            self._ids = self._held.column("transcript_id").to_pylist()
            self._at = 0
        return True


@contextmanager
def _old_rows(dataset: Dataset, name: str, shard: str) -> Iterator[_OldRows]:
    """The rows of a table of a shard as it was."""
    with dataset.parquet(name, f"{shard}.parquet") as file:
        yield _OldRows(name, file)
