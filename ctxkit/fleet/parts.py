"""The parts of a dataset: which rows of which file count, how a part is written, and how old ones are folded.

Pipeline: `ingest.py` finds the sources that may have changed -> here, in one process per part -> `rows.py` -> Parquet.
A part is what one process wrote at one go: Parquet files, and a file in `ledger/` that names its sources. The ledger's
file comes last, so a part is there as a whole or not at all. Of a source that several parts name, the newest counts;
the rows of older ones stay in their files until these are folded. So a run writes what changed, and no more.
"""

from __future__ import annotations

import gc
import hashlib
import os
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from ctxkit.core.text.utf8 import exact
from ctxkit.errors import CtxkitError, Usage
from ctxkit.fleet.dataset import Dataset, DatasetHead, Part, SourceEntry
from ctxkit.fleet.rows import Row, Rows, empty, rows, transcript_id, unread
from ctxkit.fleet.sources import SourceBytes, SourceFile, before, may_have_rows
from ctxkit.fleet.tables import SCOUT, arrow, schema, table
from ctxkit.store.folder import START, may_be_log
from ctxkit.store.index import settled
from ctxkit.version import VERSION

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = 8 << 20
"""Bytes of sources whose rows wait as objects of Python; a part with fewer is a small one."""
SMALL_PARTS = 16
"""Small parts that a dataset has before they are folded into one."""


class PartTask(msgspec.Struct, frozen=True):
    """What one process does: it writes the part `name`. `sources`: those that may have changed; `known`: what the
    dataset holds of them; `gone`: those that are not there any more; `version`: the ctxkit that asks, which may run on
    another machine.
    """

    place: str
    name: str
    head: DatasetHead
    sources: Sequence[SourceFile]
    known: Mapping[str, SourceEntry] = {}
    gone: Sequence[str] = ()
    version: str = VERSION


class SourceCounts(msgspec.Struct):
    """What was done. Sources by what came of them: `new`, `changed`, `unchanged`, `removed`, `skipped` (no logs, found
    in a folder). `transcripts`: rows of that table which were made; `bytes`: that were read. `failed`: name -> why a
    source could not be read at all; `refused`: name -> why it is no log that ctxkit reads: both have a row with
    `error`.
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

    def count(self, known: SourceEntry | None, entry: SourceEntry, *, read: bool) -> None:
        """Count a source with its entry before and now. `read`: it is new, or it changed."""
        if not entry.transcripts:
            self.skipped += 1
        elif not read:
            self.unchanged += 1
        elif known is None:
            self.new += 1
        else:
            self.changed += 1


class PartReport(SourceCounts):
    """What was done for a part. `stamps`: the sources that did not change -> their stamp now, where it is another."""

    stamps: dict[str, str] = msgspec.field(default_factory=dict)


class DatasetParts:
    """All parts of a dataset as they were at one moment, in the order in which they were written."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.all = dict(sorted(parts.items()))
        self.newest = {source: name for name, part in self.all.items() for source in part.sources}
        """Source -> the newest part that names it."""

    def entries(self) -> dict[str, SourceEntry]:
        """The sources that the dataset holds."""
        found = {source: self.all[name].sources[source] for source, name in self.newest.items()}
        return {source: entry for source, entry in found.items() if not entry.gone}

    def live(self, name: str) -> dict[str, SourceEntry]:
        """The sources of which a part has the last word."""
        return {one: entry for one, entry in self.all[name].sources.items() if self.newest[one] == name}

    def dead(self, name: str) -> dict[str, SourceEntry]:
        """The sources of a part whose rows count no more."""
        old = {one: entry for one, entry in self.all[name].sources.items() if self.newest[one] != name}
        return {one: entry for one, entry in old.items() if entry.transcripts}

    def dead_ids(self, name: str) -> list[str]:
        """The transcripts of a part whose rows count no more."""
        numbers = {source: (None, *range(1, entry.transcripts + 1)) for source, entry in self.dead(name).items()}
        return [transcript_id(source, n) for source, some in numbers.items() for n in some]

    def tidy(self, dataset: Dataset, mine: Collection[str]) -> None:
        """Remove those of `mine` of which nothing counts. What is gone is said as long as another part names it."""
        named = Counter(one for part in self.all.values() for one in part.sources)
        for name in [one for one in self.all if one in mine]:
            if all(entry.gone and named[one] == 1 for one, entry in self.live(name).items()):
                part = self.all.pop(name)
                named.subtract(part.sources.keys())
                dataset.remove_part(name, part)

    def to_fold(self, mine: Collection[str], *, every: bool) -> list[list[str]]:
        """Those of `mine` that are to be written again, in groups that become one: small ones if they are many, and
        those of which more is dead than alive. `every`: all that have dead rows.
        """
        size = {name: sum(one.size for one in self.all[name].sources.values()) for name in self.all if name in mine}
        small = [name for name in size if size[name] < GROUP]
        groups = [small] if len(small) > SMALL_PARTS else []
        for name in size:
            dead = self.dead(name)
            most = sum(one.size for one in dead.values()) > size[name] / 2
            if (most or (every and dead)) and not (groups and name in groups[0]):
                groups.append([name])
        return groups


def write_part(task: PartTask) -> PartReport:
    """Write a part with the sources of a task that are new or changed; none, if there are none.

    Raises CannotCreate, NoPermission, ReadFailed; Usage for a task of another version.
    """
    if task.version != VERSION:
        text = f"ctxkit {task.version} asks, and a worker has {VERSION}: it is as it was"
        raise Usage(text, "install the same version everywhere")
    collects = gc.isenabled()
    gc.disable()  # a search for cycles among the rows of a source is slow: one for each GROUP bytes is enough
    try:
        return _write(task)
    finally:
        if collects:
            gc.enable()


def _write(task: PartTask) -> PartReport:
    report, dataset = PartReport(removed=len(task.gone)), Dataset(task.place)
    part = Part(dict.fromkeys(task.gone, SourceEntry(gone=True)))
    waiting: dict[str, list[Row]] = {}
    tables: dict[str, list[pa.Table]] = {}
    held = 0
    for one in task.sources:
        known = task.known.get(one.name)
        same = unchanged(one, known)
        if same is None:
            entry, made = _read(one, task.head, report)
            part.sources[one.name] = entry
            _add(waiting, made)
            held += entry.size
        elif same != known:
            report.stamps[one.name] = same.stamp
        report.count(known, same or part.sources[one.name], read=same is None)
        if held >= GROUP:
            held = _to_arrow(waiting, tables)
    _to_arrow(waiting, tables)
    if part.sources:
        _write_files(dataset, task.name, part, tables)
    return report


def _add(waiting: dict[str, list[Row]], made: Rows) -> None:
    """Put the rows of a source to those of its partition: the month and the format of its first conversation."""
    for name, some in made.items():
        if some:
            first = made["transcripts"][0]
            folder = partition(name, (first["date"] or "")[:7], first["source_type"] or "")
            waiting.setdefault(folder, []).extend(some)


def _to_arrow(waiting: dict[str, list[Row]], tables: dict[str, list[pa.Table]]) -> int:
    """Put rows into a form that takes less memory; the bytes that wait then."""
    for folder, some in waiting.items():
        tables.setdefault(folder, []).append(table(folder.partition("/")[0], some))
    waiting.clear()
    gc.collect()
    return 0


def _write_files(dataset: Dataset, name: str, part: Part, tables: Mapping[str, Sequence[pa.Table]]) -> None:
    """Write the files of a part, of the rows in each folder, and then that it is there."""
    for folder, some in tables.items():
        whole = arrow().concat_tables(some)
        if whole.num_rows:
            part.files.append(f"{folder}/{name}.parquet")
            dataset.write_table(part.files[-1], whole)
    dataset.write_part(name, part)


def partition(table: str, month: str = "", source: str = "") -> str:
    """The folder of a table for a month and a format, named as Hive does; Scout's table has none."""
    if table == SCOUT:
        return table
    none = "__HIVE_DEFAULT_PARTITION__"
    return f"{table}/month={month or none}/source={re.sub(r'[^a-zA-Z0-9.-]', '_', source) or none}"


def begin_tables(dataset: Dataset, head: DatasetHead) -> None:
    """Give every table a file without rows, so that `TABLE/**/*.parquet` is one before there are any."""
    for name in head.tables:
        file = f"{partition(name)}/none.parquet"
        if dataset.read(file) is None:
            dataset.write_table(file, schema(name).empty_table())


def fold(dataset: Dataset, parts: DatasetParts, names: Sequence[str], new: str) -> None:
    """Write the rows of these parts that count as the part `new`. The old ones are still there."""
    part = Part()
    tables: dict[str, list[pa.Table]] = {}
    for name in names:
        part.sources |= parts.live(name)
        dead = parts.dead_ids(name)
        for file in parts.all[name].files:
            tables.setdefault(posixpath.dirname(file), []).append(_without(dataset.read_table(file), dead))
    _write_files(dataset, new, part, tables)


def _without(some: pa.Table, dead: list[str]) -> pa.Table:
    """The rows of other transcripts."""
    import pyarrow.compute as pc

    ids = some["transcript_id"]
    return some.filter(pc.invert(pc.is_in(ids, arrow().array(dead, ids.type))))


def unchanged(one: SourceFile, known: SourceEntry | None, *, read: bool = True) -> SourceEntry | None:
    """The entry of a source that did not change, with the stamp that it has now; None if it is to be read. `read`:
    where its times do not say so, its bytes are compared.
    """
    if known is None or known.failed or one.error or (one.named and not known.transcripts):
        return None
    same = one.stamp != "" and known.stamp == one.stamp
    if same and not known.before:
        return known
    if not read or (known.before and known.before != before(one.name)):
        return None
    if same or (known.size != one.size and not one.beside):
        return known if same else None
    try:
        found = one.read()
    except CtxkitError:
        return None
    return msgspec.structs.replace(known, stamp=_trusted(one)) if _digest(found) == known.digest else None


def _read(one: SourceFile, head: DatasetHead, report: PartReport) -> tuple[SourceEntry, Rows]:
    """The entry and the rows of a source that is new or changed."""
    try:
        found = one.read()
    except CtxkitError as error:
        said = error.message.removeprefix(f"{one.name}: ")
        report.failed[one.name] = said
        report.transcripts += 1
        return SourceEntry(size=one.size, transcripts=1, failed=True), unread(one.name, said, scout=head.scout)
    report.bytes += len(found.data)
    entry = SourceEntry(_trusted(one), _digest(found), len(found.data))
    if not may_have_rows(one) and not may_be_log(found.data[:START]):
        return entry, empty()
    history = before(one.name)
    made = rows(found.data, one.name, sidecar=found.sidecar, redact=head.redact, scout=head.scout)
    wrong = [row["error"] for row in made["transcripts"] if row["error"]]
    if not may_have_rows(one) and len(wrong) == len(made["transcripts"]):
        return entry, empty()
    if wrong:
        report.refused[one.name] = wrong[0]
    report.transcripts += len(made["transcripts"])
    return msgspec.structs.replace(entry, transcripts=len(made["transcripts"]), before=history), made


def _trusted(one: SourceFile) -> str:
    """The stamp; "" for a file that changed so recently that its next change may not show in its times."""
    with suppress(OSError):
        return one.stamp if not os.path.isabs(one.name) or settled(os.stat(one.name)) else ""
    return ""


def _digest(found: SourceBytes) -> str:
    """A digest of a log and of the files of its sidecar."""
    whole = hashlib.sha256(found.data)
    for name, data in sorted(found.sidecar.items()):
        whole.update(b"\0" + exact(name) + b"\0" + hashlib.sha256(data).digest())
    return whole.hexdigest()
