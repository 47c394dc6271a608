"""The five tables of a few logs in memory, without a dataset.

Pipeline: places -> `sources.py` -> `rows.py` -> here -> `database.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctxkit.core.text.redactor import Redactor, secret_values
from ctxkit.errors import CtxkitError, ManyConversations, UnknownFormat
from ctxkit.fleet.rows import empty, rows, unread
from ctxkit.fleet.sources import SourceFile, listed
from ctxkit.fleet.tables import TABLES, table
from ctxkit.logfile.read import AUTO, read_held
from ctxkit.store.sidecar import HeldSidecar

if TYPE_CHECKING:
    import pyarrow as pa


class LogTables(NamedTuple):
    """The tables of some logs. `tables`: name -> the rows; `failed`: log -> why it could not be read; `named`: the logs
    that were named themselves, and not found below a folder.
    """

    tables: dict[str, pa.Table]
    failed: dict[str, str]
    named: frozenset[str]


def log_tables(
    places: Iterable[str], *, streams: Sequence[tuple[str, bytes]] = (), format: str = AUTO, redact: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> LogTables:  # fmt: skip
    """The tables of the logs at `places`: files, folders with all below them, URLs.

    A log that cannot be read has a row in `transcripts`, with `error`. A file below a folder that is no log, or has no
    message, has none. `streams`: names and bytes of logs that are not files, which come first; `format`: the name of
    their format, if it is not to be detected; `redact`: secrets are taken out, also of names and
    paths; `progress`: called with the files read and the number of all.

    Raises what `sources.listed` raises, and Usage if pyarrow is not installed.
    """
    made, failed = empty(), dict[str, str]()
    table("ops", [])  # raises without pyarrow, before anything is read
    for name, data in streams:
        _add(made, rows(data, name, format=format, redact=redact))
    files = list(listed(places))
    for done, file in enumerate(files):
        if progress is not None:
            progress(done, len(files))
        try:
            held = file.read()
            found = rows(held.data, file.name, sidecar=held.sidecar, format=format, redact=redact)
        except (CtxkitError, OSError) as error:
            found = unread(file.name, _said(error))
        else:
            if not file.named and not found["messages"] and _is_no_log(file, held.data, format):
                continue
        _add(made, found)
    for row in made["transcripts"]:
        if row["error"] is not None:
            failed[row["source_uri"]] = row["error"]
    if redact:
        redactor = Redactor(secret_values(os.environ))
        made = {name: [{key: redactor.value(held) for key, held in row.items()} for row in made[name]] for name in made}
    named = frozenset([*(name for name, _ in streams), *(file.name for file in files if file.named)])
    return LogTables({name: table(name, made[name]) for name in TABLES}, failed, named)


def _add(made: dict[str, list[dict[str, object]]], found: dict[str, list[dict[str, object]]]) -> None:
    for name, some in found.items():
        made[name] += some


def _said(error: CtxkitError | OSError) -> str:
    return error.message if isinstance(error, CtxkitError) else str(error)


def _is_no_log(file: SourceFile, data: bytes, format: str) -> bool:
    """Whether a file without messages is none of ours, or empty, and not a log that cannot be read."""
    try:
        read_held(file.name, data, HeldSidecar({}), format=format)
    except UnknownFormat:
        return True
    except ManyConversations:
        return False
    except (CtxkitError, OSError):
        return False
    return True
