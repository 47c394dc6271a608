"""Runs `fleet ingest`, and says what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ctxkit.cli.fleet_cluster import resources
from ctxkit.cli.options import ForCluster, ForIngest, session_path
from ctxkit.cli.terminal import layout, streams
from ctxkit.errors import ExitCode, Usage
from ctxkit.fleet.engines import ray as cluster
from ctxkit.fleet.ingest import Ingested, ShardEngine, ingest, on_this_machine

NAMED = 20
"""Sources of a kind that are named; all are rows of the dataset."""


def run(
    places: Sequence[str], asked: ForIngest, on: ForCluster, *, output: str | None, shards: int | None,
    jobs: int | None, json: bool,
) -> int:  # fmt: skip
    """Ingest, print the counts, and return the exit status."""
    if not places:
        raise Usage("which logs? nothing was changed", "ctxkit fleet ingest PATH|URL... -o DATASET")
    if not output:
        raise Usage("into which dataset? nothing was changed", "-o names a folder or a URL")
    asked_of_ray = resources(on)
    engine: ShardEngine = on_this_machine
    if asked_of_ray is not None:
        cluster.require()  # before a dataset is made
        engine = partial(cluster.write_shards, resources=asked_of_ray)
    where = [session_path(place) for place in places]
    with streams.progress("reading logs", "shards") as step:
        found = ingest(
            where, output, redact=asked.redact, shards=shards, jobs=jobs, keep_missing=asked.keep_missing,
            dry_run=asked.dry_run, progress=step, engine=engine,
        )  # fmt: skip
    _name(found.refused, "is a row with an error")
    _name(found.failed, "could not be read: a row with an error")
    for shard, failure in sorted(found.broken.items()):
        streams.warn(f"{shard} is as it was: {failure.text}")
    if json:
        counts = {name: getattr(found, name) for name in Ingested.__struct_fields__ if name != "broken"}
        streams.out_json({**counts, "broken": {shard: failure.text for shard, failure in found.broken.items()}})
    streams.flush()
    said = _said(found)
    if not asked.dry_run:
        streams.Streams.done = said
    streams.say(f"Dry run, nothing was read. Without it: {said}." if asked.dry_run else f"{said}.")
    if found.broken:
        return next(iter(found.broken.values())).code
    return ExitCode.IO if found.failed else ExitCode.DONE


def _name(some: Mapping[str, str], what: str) -> None:
    """Warn of some sources, the first ones by name."""
    for name, why in sorted(some.items())[:NAMED]:
        streams.warn(f"{name} {what}: {why}" if name not in why else f"{why}: {what}")
    if len(some) > NAMED:
        streams.warn(f"and {len(some) - NAMED:,} more, in the column `error` of transcripts")


def _said(found: Ingested) -> str:
    counts = (
        ("new", found.new),
        ("changed", found.changed),
        ("unchanged", found.unchanged),
        ("removed", found.removed),
    )
    said = ", ".join(f"{count:,} {what}" for what, count in counts if count) or "no source"
    more = (
        f"; {layout.count(found.skipped, 'file')} that {'is' if found.skipped == 1 else 'are'} no log"
        if found.skipped
        else ""
    )
    return f"{said}{more}"
