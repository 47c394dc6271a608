"""ctxkit sql: questions about logs in SQL."""

from __future__ import annotations

import gc
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ctxkit.cli.options import session_path, takes
from ctxkit.cli.terminal import streams
from ctxkit.errors import ExitCode, UnknownFormat, Usage
from ctxkit.formats import registry

if TYPE_CHECKING:
    from ctxkit.fleet.database import Database

USAGE = "ctxkit sql @ 'select …'"


@takes()
def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOG]... [SQL]", help="Logs, folders, @ (the newest session of this project); the query."
        ),
    ] = None,
    *,
    query: str | None = None,
    views: bool = False,
    schema: bool = False,
    csv: bool = False,
    table: bool = False,
    parquet: str | None = None,
    output: str | None = None,
    timeout: str | None = None,
    redact: bool = False,
    from_: str | None = None,
    json: bool = False,
    quiet: bool = False,
) -> int:
    """Ask logs in SQL: their messages, ops, requests and files are tables of DuckDB.

    The last word is the query: it has a blank, or names a view or a table. All words before it are logs, folders with
    all logs below them, or @ names; - is a log on standard input. The tables are transcripts, messages, ops, requests
    and files: --schema lists their columns. Twelve ready questions are views: --views lists them with their SQL.

    On a terminal the rows are a table, cut to its width; in a pipe lines with tabs. A query only reads, and only these
    tables: no other file, no network, no setting. Ctrl-C ends it. What DuckDB knows of SQL works: one statement.

    A log that cannot be read is a row in transcripts with its error, and a warning; if it was named itself, the exit
    code is 65. Many logs, asked again and again, are faster as a dataset: ctxkit fleet ingest. Needs the extra `fleet`.
    """
    from ctxkit.cli import sql_run

    if views or schema:
        return sql_run.show_listed(words or (), views=views, schema=schema, json=json)
    printing = sql_run.Printing(json, csv, table, parquet, output)
    printing.form()
    places, sql = sql_run.query_of(words or (), query, USAGE)
    if not places:
        raise Usage("no log was named: nothing was run", USAGE)
    if from_ is not None:
        registry.require_known(from_)
    failed: list[str] = []

    def opened(memory: str) -> Database:
        return _opened(places, from_, memory, failed)

    code = sql_run.answer(opened, sql, printing, timeout)
    return ExitCode.REFUSED if failed and code == ExitCode.DONE else code


def _opened(places: list[str], format: str | None, memory: str, failed: list[str]) -> Database:
    """A database of these logs. `failed`: gets the named ones that cannot be read."""
    from ctxkit.fleet.database import Database
    from ctxkit.fleet.dataset import is_dataset
    from ctxkit.fleet.log_tables import log_tables
    from ctxkit.logfile.read import AUTO

    paths = [session_path(place) for place in places]
    for path in paths:
        if is_dataset(path):
            hint = f"ctxkit fleet sql --dataset {shlex.quote(path)} 'select …'"
            raise Usage(f"{path} is a dataset: nothing was asked", hint)
    given = [("-", _stdin())] if "-" in paths else []
    named = [path for path in paths if path != "-"]
    with streams.progress("reading logs", "files") as step:
        redacts = streams.Streams.redactor is not None
        found = log_tables(named, streams=given, format=format or AUTO, redact=redacts, progress=step)
    for name, why in found.failed.items():
        text = why if name in why else f"{name}: {why}"
        streams.warn(text, UnknownFormat(text) if name in found.named else None)
    gc.collect()  # reading a log leaves cycles that hold its text, whose room a long answer needs
    failed += [name for name in found.failed if name in found.named]
    return Database.of_tables(found.tables, memory)


def _stdin() -> bytes:
    if streams.Streams.stdin_use:
        raise Usage(
            f"standard input cannot be both a log and {streams.Streams.stdin_use}: nothing was run", "--query FILE"
        )
    if sys.stdin is None or sys.stdin.isatty():
        raise Usage("there is no log on standard input: nothing was run", USAGE)
    streams.Streams.stdin_use = "a log"
    return sys.stdin.buffer.read()
