"""ctxkit fleet: many logs as tables of messages, ops, requests and files; a function over many logs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ctxkit.cli.options import FleetEngine, ForCluster, ForIngest, ForMap, ForSql, refuse_url, session_path, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.urls import without_users
from ctxkit.errors import CtxkitError, ExitCode, NothingMatched, Usage
from ctxkit.fleet.engines import local
from ctxkit.fleet.engines import ray as cluster
from ctxkit.fleet.engines.ray import RETRIES, RayResources
from ctxkit.fleet.functions import FUNCTIONS, FileRows, call_of
from ctxkit.fleet.ingest import Ingest, Ingested, PartEngine, SourceShare, ingest, on_this_machine
from ctxkit.fleet.mapping import DoneFiles, Engine, run
from ctxkit.fleet.pool import cores
from ctxkit.fleet.sources import SourceFile, listed
from ctxkit.store.atomic import create

FOR = {("ingest",): ForIngest, ("sql",): ForSql, ("map",): ForMap, ("ingest", "map"): ForCluster}
"""Actions -> the options that they alone have."""
ALSO = {
    "output": ("ingest", "sql", "map"), "jobs": ("ingest", "map"), "files_from": ("ingest", "map"),
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
MAP_HINT = "ctxkit fleet map FUNCTION PATH|URL..."
NAMED = 20
"""Sources of a kind, and failures, that are named one by one; all are rows."""
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


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
    if action not in ACTIONS:
        raise Usage(f"fleet cannot {action!r}: nothing was changed", HINT)
    shared = {"output": output, "jobs": jobs, "files_from": files_from}
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

        names = listed_names(files_from)
        if not names:
            raise NothingMatched(f"the list {files_from} is empty: nothing was read")
        places += names
    if action == "map":
        return map_files(places, for_map, for_cluster, output=output, jobs=jobs)
    return ingest_files(places, for_ingest, for_cluster, output=output, jobs=jobs, json=json)


def _refuse_others(action: str, bundles: Sequence[object], shared: Mapping[str, object]) -> None:
    """Raises Usage for an option of another action."""
    given = [(name, value, ALSO[name]) for name, value in shared.items()]
    for (actions, bundle), asked in zip(FOR.items(), bundles, strict=True):
        given += [(name, getattr(asked, name), actions) for name in bundle.__annotations__]
    for name, value, actions in given:
        if value not in (None, False) and action not in actions:
            text = f"--{name.replace('_', '-')} does not apply to `fleet {action}`"
            raise Usage(text, INSTEAD.get((name, action), f"it is for: {', '.join(actions)}"))


def ingest_files(
    places: Sequence[str], asked: ForIngest, on: ForCluster, *, output: str | None, jobs: int | None, json: bool,
) -> int:  # fmt: skip
    """Ingest, print the counts, and return the exit status."""
    if not places:
        raise Usage("which logs? nothing was changed", "ctxkit fleet ingest PATH|URL... -o DATASET")
    if not output:
        raise Usage("into which dataset? nothing was changed", "-o names a folder or a URL")
    what = Ingest(asked.redact, asked.scout, _share(asked.part), asked.keep_missing, asked.fold, asked.dry_run)
    asked_of_ray = resources(on)
    engine: PartEngine = on_this_machine
    if asked_of_ray is not None:
        cluster.require()  # before a dataset is made
        engine = partial(cluster.write_parts, resources=asked_of_ray)
    where = [session_path(place) for place in places]
    with streams.progress("reading logs", "logs") as step:
        found = ingest(where, output, what, jobs=jobs, progress=step, engine=engine)
    _name(found.refused, "is a row with an error")
    _name(found.failed, "could not be read: a row with an error")
    broken = {source: failure.text for source, failure in found.broken.items()}
    _name(broken, "is as it was")
    if json:
        counts = {name: getattr(found, name) for name in Ingested.__struct_fields__}
        streams.out_json({**counts, "broken": broken})
    streams.flush()
    said = _said(found)
    if not asked.dry_run:
        streams.Streams.done = said
    streams.say(f"Dry run, nothing was read. Without it: {said}." if asked.dry_run else f"{said}.")
    if found.broken:
        return next(iter(found.broken.values())).code
    return ExitCode.IO if found.failed else ExitCode.DONE


def _share(part: str | None) -> SourceShare:
    """The share of the sources that `--part` names. Raises Usage."""
    if part is None:
        return SourceShare()
    found = re.fullmatch(r"(\d{1,5})/(\d{1,5})", part, re.ASCII)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise Usage(f"--part {part}: not I/N: nothing was changed", "--part 2/8 is the second of eight")
    return SourceShare(int(found[1]), int(found[2]))


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


def map_files(
    words: Sequence[str],
    asked: ForMap,
    where: ForCluster,
    *,
    output: str | None = None,
    jobs: int | None = None,
) -> int:
    """Print the rows, and return the exit status: the highest of all failures.

    Raises Usage, NothingMatched, CannotCreate, ClusterFailed, and what a function's options raise.
    """
    if not words:
        raise Usage("which function?", f"{MAP_HINT}; functions: {', '.join(FUNCTIONS)}, or module:function of your own")
    folder = "" if sys.flags.safe_path else os.getcwd()  # asked here: a process of the pool always has that flag
    call = call_of(words[0], _options(asked.set or ()), folder)
    if not words[1:]:
        raise Usage("which logs?", MAP_HINT)
    if output == "":
        raise Usage("-o needs the name of a file")
    engine = _engine(where, jobs or cores())
    with streams.progress("looking for logs", "files") as step:
        files = list(_files(words[1:], step))
    if not files:
        raise NothingMatched(f"no file in {layout.count(len(words) - 1, 'place')}", "name files or folders with logs")
    ledger = None if asked.ledger is None else DoneFiles(Path(asked.ledger), call)
    found = _Found(len(files))
    with streams.progress("mapping", "files") as step:
        pieces = found.pieces(run(call, files, engine, ledger), step)
        if output in (None, "-"):
            streams.out_bytes(pieces)
        else:
            create(str(output), pieces)
    streams.flush()
    found.tell()
    return found.worst


def _options(given: Iterable[str]) -> dict[str, str]:
    """The values of --set, by name."""
    found = dict[str, str]()
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise Usage(f"--set {one}: not KEY=VALUE", "--set to=openai")
        if found.setdefault(name, text) != text:
            raise Usage(f"--set {name} is given twice", "give each once")
    return found


def _engine(asked: ForCluster, jobs: int) -> Engine:
    found = resources(asked)
    return partial(local.run, jobs=jobs) if found is None else partial(cluster.run, jobs=jobs, resources=found)


def _files(words: Sequence[str], step: Callable[[int, int], None] | None) -> Iterator[SourceFile]:
    """The files of all places, each once; a place that is not there is a file with an error."""
    seen = set[str]()
    for word in words:
        place = session_path(word)
        try:
            for file in listed([place]):
                if file.name not in seen:
                    seen.add(file.name)
                    yield file
                    if step is not None:
                        step(len(seen), 0)
        except CtxkitError as error:
            if isinstance(error, Usage):
                raise
            if place not in seen:
                seen.add(place)
                yield SourceFile(without_users(place), named=True, error=error.message)


class _Found:
    """What came of a run: counts, and failures."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.files = self.rows = self.failed = self.worst = 0

    def pieces(
        self, answers: Iterator[tuple[SourceFile, FileRows]], step: Callable[[int, int], None] | None
    ) -> Iterator[bytes]:
        """The rows, which are counted on the way."""
        for at, (file, answer) in enumerate(answers, start=1):
            self.files += bool(answer.rows)
            self.rows += answer.rows.count(b"\n")
            if answer.code:
                self.failed += 1
                self.worst = max(self.worst, answer.code)
                if self.failed <= NAMED:
                    streams.warn(_failure(file, answer.rows))
            if step is not None:
                step(at, self.total)
            if answer.rows:
                yield answer.rows

    def tell(self) -> None:
        """The counts, on stderr."""
        if self.failed > NAMED:
            streams.warn(f"and {self.failed - NAMED:,} more failed: their rows have `error`")
        none = self.total - self.files
        beside = f"; {layout.count(none, 'file')} without rows" if none else ""
        failed = f", {self.failed:,} failed" if self.failed else ""
        streams.say(f"{layout.count(self.rows, 'row')} of {layout.count(self.files, 'file')}{failed}{beside}")
        if not self.worst and not self.rows:
            self.worst = int(ExitCode.NO)


def _failure(file: SourceFile, rows: bytes) -> str:
    """The words of the first failure in a file's rows."""
    for line in rows.splitlines():
        told = loads(line).get("error")
        if isinstance(told, dict):
            text = str(told.get("text"))
            return text if file.name in text else f"{file.name}: {text}"
    return f"{file.name}: failed"


def resources(asked: ForCluster) -> RayResources | None:
    """What each task of Ray may use; None for this machine. Raises Usage."""
    if asked.engine is not FleetEngine.RAY:
        for name in ("task_cpus", "task_memory", "retries"):
            if getattr(asked, name) is not None:
                raise Usage(f"--{name.replace('_', '-')} is for --engine ray", "leave it out")
        return None
    cpus = 1.0 if asked.task_cpus is None else asked.task_cpus
    if cpus <= 0 or (cpus > 1 and cpus != int(cpus)):
        raise Usage(f"--task-cpus {cpus:g}: a part of one, or a whole number", "0.5, or 2")
    memory = 0 if asked.task_memory is None else _bytes(asked.task_memory)
    return RayResources(cpus, memory, RETRIES if asked.retries is None else asked.retries)


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,6})\s*([kmg]?)b?", text.strip().lower(), re.ASCII)
    if found is None or not int(found[1]):
        raise Usage(f"--task-memory {text}: not a size", "500MB, or 2GB")
    return int(found[1]) * _SIZES[found[2]]
