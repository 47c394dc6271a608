"""Brings a dataset up to date with its sources: what is new or changed is read, what is gone is removed.

Pipeline: `sources.py` lists -> shards -> `shards.py`, by an engine: in the processes of `pool.py`, or in tasks of
`engines/ray.py` -> a report.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import TypeAlias

import msgspec

from ctxkit.errors import BadDataset, ExitCode, Usage
from ctxkit.fleet.dataset import FRESH, SHARDS, Dataset, DatasetHead, shard_name, shard_of
from ctxkit.fleet.pool import DIED, Failure, ItemResult, cores, processes, results
from ctxkit.fleet.shards import ShardReport, ShardTask, write_shard
from ctxkit.fleet.sources import SourceFile, is_url, listed, local
from ctxkit.fleet.tables import arrow

MOST = 10_000
"""Shards of a dataset at most."""
Step: TypeAlias = Callable[[int, int], None]
ShardEngine: TypeAlias = Callable[[Iterable[ShardTask], int], Generator[ItemResult[ShardTask, ShardReport]]]
"""Writes shards, by so many processes: each with its report, in order."""


class Ingested(msgspec.Struct):
    """What was done. Sources by what came of them: `new`, `changed`, `unchanged`, `removed`, `skipped` (no logs, found
    in a folder). `transcripts`: rows of that table which were made; `bytes`: that were
    read. `failed`: name -> why a source could not be read at all; `refused`: name -> why it is no log that ctxkit
    reads: both have a row with `error`. `broken`: shard -> why it is as it was.
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
    broken: dict[str, Failure] = {}


def on_this_machine(tasks: Iterable[ShardTask], jobs: int) -> Generator[ItemResult[ShardTask, ShardReport]]:
    """The engine of one machine."""
    return results(write_shard, tasks, jobs)


def ingest(
    places: Iterable[str], dataset: str, *, redact: bool = False, shards: int | None = None, jobs: int | None = 1,
    keep_missing: bool = False, dry_run: bool = False, progress: Step | None = None,
    engine: ShardEngine = on_this_machine,
) -> Ingested:  # fmt: skip
    """Put the logs below `places` (paths and URLs) into the dataset at the path or URL `dataset`.

    A new dataset is made with so many `shards` (default 64) and with `redact`, which stay as they are. `jobs`:
    processes; None: as many as the sources are worth. Sources that are gone from `places` are removed, unless
    `keep_missing`; those of other places stay.
    `dry_run`: only says what would be done. `progress`: called with the shards done and the shards of all. `engine`:
    where the shards are written; a folder must be there under the same name for all of its machines.

    Raises Usage without the extra `fleet`, and for options that the dataset was not made with; BadDataset; Locked;
    NoSuchLog, NoPermission, ReadFailed for a place; CannotCreate; ClusterFailed of an engine. A shard that fails is in
    `broken`, others are done.
    """
    arrow()
    where = [place if is_url(place) else local(place) for place in places]
    target = Dataset(dataset)
    known = target.head()
    head = _head(target, known, redact=redact, shards=shards)
    sources = list(listed(where))
    if known is None and not dry_run:
        target.begin(head)
    if dry_run:
        write = partial(on_this_machine, jobs=1)
        return _run(target, head, where, sources, write, keep_missing=keep_missing, dry_run=True, progress=progress)
    if engine is on_this_machine:
        jobs = processes(jobs, len(sources), sum(one.size for one in sources))
    count = jobs or cores()
    with target.alone():
        target.make_folders()  # of a dataset whose first run was killed
        return _run(
            target, head, where, sources, lambda tasks: engine(tasks, count),
            keep_missing=keep_missing, dry_run=False, progress=progress,
        )  # fmt: skip


def _head(target: Dataset, known: DatasetHead | None, *, redact: bool, shards: int | None) -> DatasetHead:
    """How the rows are made. Raises Usage, BadDataset for what the dataset was not made with."""
    if shards is not None and not 1 <= shards <= MOST:
        raise Usage(f"{shards:,} shards: nothing was changed", f"from 1 to {MOST:,}")
    if known is None:
        return DatasetHead(shards=shards or SHARDS, redact=redact)
    if known.redact != redact:
        how = "with --redact" if known.redact else "without --redact"
        raise BadDataset(f"{target.place} was made {how}: nothing was changed", f"ingest {how}, or {FRESH}")
    if shards not in (None, known.shards):
        raise BadDataset(f"{target.place} has {known.shards} shards, not {shards}: nothing was changed", FRESH)
    return known


def _run(
    target: Dataset, head: DatasetHead, places: list[str], sources: list[SourceFile],
    write: Callable[[Iterable[ShardTask]], Generator[ItemResult[ShardTask, ShardReport]]], *,
    keep_missing: bool, dry_run: bool, progress: Step | None,
) -> Ingested:  # fmt: skip
    parts: dict[int, list[SourceFile]] = {}
    for one in sources:
        if not _is_inside(target, one.name):
            parts.setdefault(shard_of(one.name, head.shards), []).append(one)
    unseen = [one.name for one in sources if one.error]
    found = Ingested()

    def tasks() -> Iterator[ShardTask]:
        for shard in range(head.shards):
            some = parts.pop(shard, [])
            yield ShardTask(target.place, shard, head, some, places, unseen, keep_missing, dry_run)

    with closing(write(tasks())) as done:
        for count, result in enumerate(done, start=1):
            if result.value is not None:
                _add(found, result.value)
            elif result.failure is not None:
                found.broken[shard_name(result.item.shard)] = _again(result.failure)
            if progress is not None:
                progress(count, head.shards)
    return found


def _again(failure: Failure) -> Failure:
    """The failure of a shard; one whose process died is worth another run."""
    return failure._replace(code=int(ExitCode.TRY_AGAIN)) if failure.reason == DIED else failure


def _is_inside(target: Dataset, name: str) -> bool:
    """Whether a file is one of the dataset itself, which may stand below a place."""
    return name.startswith(target.path(""))


def _add(found: Ingested, report: ShardReport) -> None:
    for name in ShardReport.__struct_fields__:
        value = getattr(report, name)
        setattr(
            found, name, {**getattr(found, name), **value} if isinstance(value, dict) else getattr(found, name) + value
        )
