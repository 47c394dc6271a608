"""ctxkit fleet: many logs as tables of messages, ops, requests and files; a function over many logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from ctxkit.cli.options import ForCluster, ForIngest, ForMap, ForSql, refuse_url, takes
from ctxkit.cli.terminal import streams
from ctxkit.errors import NothingMatched, Usage

FOR = {("ingest",): ForIngest, ("sql",): ForSql, ("map",): ForMap, ("ingest", "map"): ForCluster}
"""Actions -> the options that they alone have."""
ALSO = {
    "output": ("ingest", "sql", "map"), "shards": ("ingest", "map"), "jobs": ("ingest", "map"),
    "files_from": ("ingest", "map"),
}  # fmt: skip
"""Option of several actions -> those that take it."""
INSTEAD = {
    ("redact", "sql"): "a query can cut a secret in two, so they leave with the rows: ctxkit fleet ingest LOG... "
    "-o NEW --redact makes a dataset without them; ctxkit sql LOG... --redact asks logs",
}  # fmt: skip
"""Option and action that do not fit -> what to do instead."""
ACTIONS = ("ingest", "sql", "map")
HINT = (
    "ctxkit fleet ingest PATH|URL... -o DATASET; ctxkit fleet sql --dataset DATASET 'select …'; "
    "ctxkit fleet map FUNCTION PATH|URL..."
)


@takes(ForIngest, ForSql, ForMap, ForCluster)
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
    for_ingest: ForIngest,
    for_sql: ForSql,
    for_map: ForMap,
    for_cluster: ForCluster,
    output: str | None = None,
    shards: int | None = None,
    jobs: int | None = None,
    files_from: str | None = None,
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
    Iterable[Mapping]`. A file that fails is a row with `error`, also one whose process is killed. With --ledger a run
    that was killed goes on, and one that ended does only what changed. Nothing is appended: compact says what it would
    do.

    --engine ray runs `ingest` and `map` by Ray, on the cluster that RAY_ADDRESS names, and gives the same rows.

    `ingest` and `sql` need the extra `fleet`, `--engine ray` the extra `fleet-ray`.
    """
    streams.Streams.quiet = quiet
    if action not in ACTIONS:
        raise Usage(f"fleet cannot {action!r}: nothing was changed", HINT)
    shared = {"output": output, "shards": shards, "jobs": jobs, "files_from": files_from}
    _refuse_others(action, (for_ingest, for_sql, for_map, for_cluster), shared)
    if action != "ingest":
        refuse_url("--output", output)
    if action == "sql":
        from ctxkit.cli import sql_run

        if for_sql.views or for_sql.schema:
            return sql_run.show_listed(words or (), views=for_sql.views, schema=for_sql.schema, json=json)
        printing = sql_run.Printing(json, for_sql.csv, for_sql.table, for_sql.parquet, output)
        return sql_run.of_dataset(for_sql.dataset, words or (), for_sql.query, printing, for_sql.timeout)
    places = [*(words or ())]
    if files_from is not None:
        from ctxkit.cli.many_logs import listed_names

        listed = listed_names(files_from)
        if not listed:
            raise NothingMatched(f"the list {files_from} is empty: nothing was read")
        places += listed
    if action == "map":
        from ctxkit.cli import fleet_map

        return fleet_map.main(places, for_map, for_cluster, output=output, shards=shards, jobs=jobs)
    from ctxkit.cli import fleet_ingest

    return fleet_ingest.run(places, for_ingest, for_cluster, output=output, shards=shards, jobs=jobs, json=json)


def _refuse_others(action: str, bundles: Sequence[object], shared: Mapping[str, object]) -> None:
    """Raises Usage for an option of another action."""
    given = [(name, value, ALSO[name]) for name, value in shared.items()]
    for (actions, bundle), asked in zip(FOR.items(), bundles, strict=True):
        given += [(name, getattr(asked, name), actions) for name in bundle.__annotations__]
    for name, value, actions in given:
        if value not in (None, False) and action not in actions:
            text = f"--{name.replace('_', '-')} does not apply to `fleet {action}`"
            raise Usage(text, INSTEAD.get((name, action), f"it is for: {', '.join(actions)}"))
