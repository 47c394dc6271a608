"""Brings a dataset up to date with its sources: what is new or changed is read, what is gone is removed.

Pipeline: `sources.py` lists -> tasks of what may have changed -> `parts.py`, by an engine: in the processes of
`pool.py`, or in tasks of `engines/ray.py` -> old parts are folded -> a report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple, TypeAlias

import msgspec

from ctxkit.core.text.utf8 import exact
from ctxkit.errors import BadDataset, ExitCode
from ctxkit.fleet.dataset import FRESH, Dataset, DatasetHead, SourceEntry, part_name, share_of
from ctxkit.fleet.parts import (
    DatasetParts,
    PartReport,
    PartTask,
    SourceCounts,
    begin_tables,
    fold,
    unchanged,
    write_part,
)
from ctxkit.fleet.pool import DIED, Failure, ItemResult, cores, processes, results
from ctxkit.fleet.sources import SourceFile, holds, is_url, listed, local
from ctxkit.fleet.tables import arrow

SMALLEST, LARGEST = 4 << 20, 64 << 20
"""Bytes of the sources of a part, at least and at most, if it has several."""
EACH = 4
"""Parts that a process writes, if they are not too small or too large for it."""
Step: TypeAlias = Callable[[int, int], None]
PartEngine: TypeAlias = Callable[[Iterable[PartTask], int], Generator[ItemResult[PartTask, PartReport]]]
"""Writes parts, by so many processes: each with its report, in order."""


class Ingested(SourceCounts):
    """What was done. `broken`: name of a source -> why it is as it was."""

    broken: dict[str, Failure] = msgspec.field(default_factory=dict)

    def add(self, report: SourceCounts) -> None:
        """Add what came of a part."""
        for name in SourceCounts.__struct_fields__:
            mine, value = getattr(self, name), getattr(report, name)
            setattr(self, name, {**mine, **value} if isinstance(value, dict) else mine + value)


class SourceShare(NamedTuple):
    """A share of the sources, for one of `of` runs that work side by side: `number` from 1."""

    number: int = 1
    of: int = 1

    def has(self, source: str) -> bool:
        """Whether a source is in this share, by a hash of its name."""
        return int.from_bytes(hashlib.sha256(exact(source)).digest()[-8:]) % self.of == self.number - 1

    @property
    def name(self) -> str:
        """`2of8`; "" for all sources."""
        return "" if self.of == 1 else f"{self.number}of{self.of}"


class Ingest(msgspec.Struct, frozen=True):
    """What is asked for. `redact`, `scout`: how a new dataset is made, without secrets, with Scout's table. `share`:
    only these sources. `keep_missing`: the rows of sources that are gone stay; `fold`: no file keeps rows that count no
    more; `dry_run`: only says what would be done.
    """

    redact: bool = False
    scout: bool = False
    share: SourceShare = SourceShare()
    keep_missing: bool = False
    fold: bool = False
    dry_run: bool = False


def on_this_machine(tasks: Iterable[PartTask], jobs: int) -> Generator[ItemResult[PartTask, PartReport]]:
    """The engine of one machine."""
    return results(write_part, tasks, jobs)


def ingest(
    places: Iterable[str], dataset: str, asked: Ingest = Ingest(), *, jobs: int | None = 1,  # noqa: B008  # frozen
    progress: Step | None = None, engine: PartEngine = on_this_machine,
) -> Ingested:  # fmt: skip
    """Put the logs below `places` (paths and URLs) into the dataset at the path or URL `dataset`.

    `jobs`: processes; None: as many as the sources are worth. Sources that are gone from `places` are removed; those of
    other places stay. `progress`: called with the sources done and those of all that may have changed. `engine`: where
    the parts are written; a folder must be there under the same name for all of its machines.

    Raises Usage without the extra `fleet`; BadDataset, also for what the dataset was not made with; Locked; NoSuchLog,
    NoPermission, ReadFailed for a place; CannotCreate; ClusterFailed of an engine. The sources of a part that fails are
    in `broken`, others are done.
    """
    arrow()
    where = [place if is_url(place) else local(place) for place in places]
    target = Dataset(dataset)
    known = target.head()
    head = _head(target, known, asked)
    sources = [one for one in listed(where) if not one.name.startswith(target.path(""))]
    if asked.dry_run:
        return _Run(target, head, asked, where, sources).tried()
    if known is None:
        target.begin(head)
    if engine is on_this_machine:
        jobs = processes(jobs, len(sources), sum(one.size for one in sources))
    with target.alone(asked.share.name):
        begin_tables(target, head)  # also of a dataset whose first run was killed
        run = _Run(target, head, asked, where, sources)
        target.sweep(asked.share.name, list(run.parts.all))
        return run.done(engine, jobs or cores(), progress)


def _head(target: Dataset, known: DatasetHead | None, asked: Ingest) -> DatasetHead:
    """How the rows are made. Raises BadDataset for what the dataset was not made with."""
    if known is None:
        return DatasetHead(redact=asked.redact, scout=asked.scout)
    if known.redact != asked.redact:
        how = "with --redact" if known.redact else "without --redact"
        raise BadDataset(f"{target.place} was made {how}: nothing was changed", f"ingest {how}, or {FRESH}")
    if asked.scout and not known.scout:
        raise BadDataset(f"{target.place} was made without --scout: nothing was changed", FRESH)
    return known


class _Run:
    """One run: what the dataset has, and what the sources are now."""

    def __init__(
        self, target: Dataset, head: DatasetHead, asked: Ingest, places: Sequence[str], sources: Sequence[SourceFile]
    ) -> None:
        self.target, self.head, self.asked = target, head, asked
        self.parts = DatasetParts(target.parts())
        self.entries = {name: one for name, one in self.parts.entries().items() if asked.share.has(name)}
        unseen = [one.name for one in sources if one.error]
        listed = [one for one in sources if asked.share.has(one.name)]
        names = {one.name for one in listed}
        self.gone = [] if asked.keep_missing else [
            name for name in self.entries
            if name not in names
            and any(holds(place, name) for place in places) and not any(holds(one, name) for one in unseen)
        ]  # fmt: skip
        self.todo = [one for one in listed if not unchanged(one, self.entries.get(one.name), read=False)]
        self.found = Ingested()
        same = names - {one.name for one in self.todo}
        self.found.skipped = sum(not self.entries[name].transcripts for name in same)
        self.found.unchanged = len(same) - self.found.skipped
        self.number = 1 + max((int(name[:8]) for name in self.parts.all), default=0)
        self.batch = 0

    def tried(self) -> Ingested:
        """What would be done."""
        report = PartReport(removed=len(self.gone))
        for one in self.todo:
            known = self.entries.get(one.name)
            same = unchanged(one, known)
            report.count(known, same or SourceEntry(transcripts=1), read=same is None)
        self.found.add(report)
        return self.found

    def done(self, engine: PartEngine, jobs: int, progress: Step | None) -> Ingested:
        """Do it."""
        count, stamps = 0, dict[str, str]()
        with closing(engine(self._tasks(jobs), jobs)) as answers:
            for task, report, failure in answers:
                count += len(task.sources)
                if report is not None:
                    self.found.add(report)
                    stamps |= report.stamps
                elif failure is not None:
                    again = failure._replace(code=int(ExitCode.TRY_AGAIN)) if failure.reason == DIED else failure
                    self.found.broken |= dict.fromkeys((one.name for one in task.sources), again)
                if progress is not None:
                    progress(count, len(self.todo))
        self._stamp(stamps)
        self._tidy()
        return self.found

    def _name(self) -> str:
        """The name of the next part."""
        self.batch += 1
        return part_name(self.number, self.batch, self.asked.share.name)

    def _tasks(self, jobs: int) -> Iterator[PartTask]:
        """What may have changed, in parts that keep all processes busy; the first says what is gone. A part has sources
        of about the same time, so that it has files for few months.
        """
        enough = min(LARGEST, max(SMALLEST, sum(one.size for one in self.todo) // (jobs * EACH)))
        some, size, gone = list[SourceFile](), 0, self.gone
        for place, one in enumerate(sorted(self.todo, key=lambda one: one.time), start=1):
            some.append(one)
            size += one.size
            if size >= enough or place == len(self.todo):
                yield self._task(some, gone)
                some, size, gone = [], 0, []
        if gone:
            yield self._task([], gone)

    def _task(self, some: Sequence[SourceFile], gone: Sequence[str]) -> PartTask:
        known = {one.name: self.entries[one.name] for one in some if one.name in self.entries}
        return PartTask(self.target.place, self._name(), self.head, some, known, gone)

    def _mine(self, parts: DatasetParts) -> list[str]:
        """The parts that no other run writes at the same time."""
        share = self.asked.share.name
        return [name for name in parts.all if share in ("", share_of(name))]

    def _stamp(self, stamps: Mapping[str, str]) -> None:
        """Keep the new times of sources that did not change, so that they are not read again."""
        mine, again = set(self._mine(self.parts)), set[str]()
        for source, stamp in stamps.items():
            name = self.parts.newest[source]
            if name in mine:
                held = self.parts.all[name].sources
                held[source] = msgspec.structs.replace(held[source], stamp=stamp)
                again.add(name)
        for name in sorted(again):
            self.target.write_part(name, self.parts.all[name])

    def _tidy(self) -> None:
        """Remove parts of which nothing counts any more, and fold those that are to be."""
        if not self.batch and not self.asked.fold:
            return
        parts = DatasetParts(self.target.parts())
        parts.tidy(self.target, self._mine(parts))
        groups = parts.to_fold(self._mine(parts), every=self.asked.fold or self.head.scout)
        for names in groups:
            fold(self.target, parts, names, self._name())
        if groups:
            parts = DatasetParts(self.target.parts())
            parts.tidy(self.target, self._mine(parts))
