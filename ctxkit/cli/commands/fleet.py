"""ctxkit fleet: many logs as tables of messages, ops, requests and files; a function over many logs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ctxkit.cli.options import takes
from ctxkit.cli.terminal import streams
from ctxkit.errors import Usage

ALLOWED = {
    "ingest": ("output", "redact", "shards", "jobs", "keep_missing", "dry_run"),
    "sql": ("dataset", "query", "views", "schema", "csv", "table", "parquet", "output", "timeout"),
    "map": ("output", "shards", "jobs", "engine", "set", "ledger", "retries", "task_cpus", "task_memory"),
}
"""Action -> the options that it takes besides those of all."""
ACTIONS = tuple(ALLOWED)
HINT = (
    "ctxkit fleet ingest PATH|URL... -o DATASET; ctxkit fleet sql --dataset DATASET 'select …'; "
    "ctxkit fleet map FUNCTION PATH|URL..."
)


class MapEngine(StrEnum):
    """Where `map` runs."""

    LOCAL = "local"
    RAY = "ray"


@takes()
def command(
    action: Annotated[
        str,
        typer.Argument(metavar="|".join(ACTIONS), help="What to do.", show_default=False),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FUNCTION|SQL] [PATH|URL]...",
            help="For map, a function; then files, folders, or URLs such as s3://BUCKET/PREFIX. For sql, the query.",
        ),
    ] = None,
    *,
    output: str | None = None,
    redact: bool = False,
    shards: int | None = None,
    jobs: int | None = None,
    keep_missing: bool = False,
    dry_run: bool = False,
    dataset: str | None = None,
    query: str | None = None,
    views: bool = False,
    schema: bool = False,
    csv: bool = False,
    table: bool = False,
    parquet: str | None = None,
    timeout: str | None = None,
    engine: MapEngine | None = None,
    set: list[str] | None = None,
    ledger: str | None = None,
    retries: int | None = None,
    task_cpus: float | None = None,
    task_memory: str | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Put many logs, of all formats, into tables; ask them in SQL; run a function over many logs, here or on a cluster.

    `ingest` writes them to a dataset of Parquet files, which DuckDB, Polars, pandas and Inspect Scout read. Again, it
    brings the dataset up to date: only sources that changed are read, and the rows of sources that are gone are
    removed. A sidecar belongs to its log. A file that cannot be read is a row with an error, and takes no other with
    it. The dataset can be read at every moment, also after a crash. URLs (s3://, gs://) need the library that fsspec
    names. docs/fleet.md describes the tables.

    `sql` asks a dataset: a query, or the name of a ready question, as `ctxkit sql` takes them. It only reads, and only
    the dataset.

    `map` runs a function over every file and prints its rows as JSON lines, in the order of the files: status, check,
    compact, export, ingest, or module:function of your own, `def f(data: bytes, name: str, config: Mapping) ->
    Iterable[Mapping]`. A file that fails is a row with `error`, also one whose process is killed. --engine ray runs it
    by Ray Data, on the cluster that RAY_ADDRESS names, and gives the same rows. With --ledger a run that was killed
    goes on, and one that ended does only what changed. Nothing is appended: compact says what it would do.

    `ingest` and `sql` need the extra `fleet`, `--engine ray` the extra `fleet-ray`.
    """
    streams.Streams.quiet = quiet
    if action not in ACTIONS:
        raise Usage(f"fleet cannot {action!r}: nothing was changed", HINT)
    given = {
        "output": output, "redact": redact, "shards": shards, "jobs": jobs, "keep_missing": keep_missing,
        "dry_run": dry_run, "engine": engine, "set": set, "ledger": ledger, "retries": retries,
        "task_cpus": task_cpus, "task_memory": task_memory, "dataset": dataset, "query": query, "views": views,
        "schema": schema, "csv": csv, "table": table, "parquet": parquet, "timeout": timeout,
    }  # fmt: skip
    for name, value in given.items():
        if value not in (None, False) and name not in ALLOWED[action]:
            fits = ", ".join(one for one, allowed in ALLOWED.items() if name in allowed)
            raise Usage(f"--{name.replace('_', '-')} does not apply to `fleet {action}`", f"it is for: {fits}")
    if action == "sql":
        from ctxkit.cli import sql_run

        if views or schema:
            return sql_run.show_listed(words or (), views=views, schema=schema, json=json)
        printing = sql_run.Printing(json, csv, table, parquet, output)
        return sql_run.of_dataset(dataset, words or (), query, printing, timeout)
    if action == "map":
        from ctxkit.cli import fleet_map

        return fleet_map.main(
            words or [],
            fleet_map.MapOptions(
                engine or MapEngine.LOCAL, set or (), output, jobs, ledger, shards, task_cpus, task_memory, retries
            ),
        )
    from ctxkit.cli import fleet_ingest

    return fleet_ingest.run(
        words or [], output, redact=redact, shards=shards, jobs=jobs, keep_missing=keep_missing, dry_run=dry_run,
        json=json,
    )  # fmt: skip
