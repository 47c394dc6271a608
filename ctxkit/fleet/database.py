"""Questions in SQL over the tables: DuckDB in memory, which reads only the dataset, and writes nothing.

Pipeline: a dataset, or `rows.py` -> tables here, `views.py` -> a query -> batches of rows -> `cli/sql_run.py`.
duckdb is loaded only here. It opens no file at all: Arrow opens those of a dataset and hands their rows over. (A path
that DuckDB may read is one that it may write, by a COPY within a WITH.) A query runs in a transaction that only reads,
and in a thread, so that Ctrl-C and a time limit end it.
"""

from __future__ import annotations

import io
import json
import operator
import os
import queue
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadQuery, CtxkitError, ReadFailed, reason_of
from ctxkit.fleet.dataset import Dataset
from ctxkit.fleet.parts import DatasetParts
from ctxkit.fleet.sources import file_system, is_url
from ctxkit.fleet.tables import TABLES, arrow, missing, schema
from ctxkit.fleet.views import VIEWS

if TYPE_CHECKING:
    import pyarrow as pa

OWN = re.compile(r"[a-z]+(/[\w.-]+=[\w.-]+){2}/[\w-]+\.parquet")
"""How a file of a dataset is named: below it, not above."""
SPARE = 64
"""Files that may be opened besides those of the dataset."""
PART, OF_PARTS = "_part", "_of_parts"
"""The column with a row's part, and what the name of a table with it ends with: for a view, not for a question."""
TRIES = 5
"""How often a dataset is opened anew, if it is folded meanwhile."""
ROWS = 2048
"""Rows of a batch."""
AHEAD = 4
"""Batches that wait for the reader."""
PATIENCE = 2.0
"""Seconds to wait for a query that was stopped. A single call of a function may go on for longer."""
MEMORY = "25%"
"""Memory that DuckDB may use, if nothing else is said: a quarter of the machine's."""
READS = ("SELECT", "EXPLAIN", "MULTI")
"""Kinds of statements that only read; MULTI is a PIVOT."""
READ_HINT = "begin with SELECT, FROM or WITH"
CLOSED = {
    "autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "allow_community_extensions":
    "false", "python_enable_replacements": "false", "errors_as_json": "true", "temp_directory": "",
    "allow_persistent_secrets": "false", "custom_user_agent": "ctxkit",
}  # fmt: skip
"""Settings of every database: nothing is fetched, loaded or kept on disk, and no variable of Python is a table."""
LOCKS = ("SET TimeZone = 'UTC'", "SET enable_external_access = false", "SET lock_configuration = true")
"""What is said before the query: times in UTC wherever it runs, no file, no network, and no way back."""
_OUTSIDE = re.compile(r"file system operations are disabled|extensions is disabled through configuration")
_MEANT = re.compile(r"(?:Did you mean|Candidate bindings:[: ]*|Candidate tables:) ?(.+?)\??$")
"""What DuckDB offers in the place of a name."""
_DAMAGED = re.compile(r"reading the stream registered as '(\w+)' failed: (.*)", re.S)
_WHERE = re.compile(r"^\w+: (?:Could not open Parquet input source '[^']*': )?")
"""What Arrow says before the reason."""
_STOPPED = re.compile(r"interrupt", re.I)
SHOWN = 60
"""Most characters of the line of a query in an error."""


class ResultColumn(NamedTuple):
    """A column of a result: its name, which no other of the result has, and DuckDB's name of its type."""

    name: str
    type: str


class QueryResult:
    """The rows of a query, read while they are asked for. `columns`: in order; `schema`: the same for Arrow."""

    def __init__(self, columns: Sequence[ResultColumn], schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self.columns, self.schema, self._batches = columns, schema, batches

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, once, as Arrow batches whose columns have the names of `columns`. Raises what `query` raises."""
        for batch in self._batches:
            if batch.num_rows:
                yield batch.rename_columns(self.schema.names)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, once, as values of Python. Raises what `query` raises, BadQuery for a value that Python lacks."""
        for batch in self.batches():
            yield from zip(*map(self._values, self.columns, batch.columns), strict=True)

    @staticmethod
    def _values(column: ResultColumn, values: pa.Array) -> list[Any]:
        try:
            return list(values.to_pylist())
        except (OverflowError, ValueError) as error:  # dates after the year 9999, infinity, nanoseconds
            text = f"a value of {column.name} ({column.type}) has no form here"
            raise BadQuery(text, f"cast it: CAST({column.name} AS VARCHAR)") from error


class Database:
    """Tables and views to ask. `memory`: DuckDB's limit (`2GB`, `50%`). A context manager: it ends what still runs."""

    def __init__(self, memory: str = MEMORY) -> None:
        self._duckdb = _library()
        self._worker: tuple[threading.Thread, threading.Event] | None = None
        self._left = False
        self._files: dict[str, list[str]] = {}
        try:
            self._connection = self._duckdb.connect(":memory:", config={**CLOSED, "memory_limit": memory})
        except self._duckdb.Error as error:
            raise BadQuery(f"memory limit {memory!r}: {_said(error)[0]}", "2GB, or 50%") from error

    @classmethod
    def of_tables(cls, tables: Mapping[str, pa.Table | pa.dataset.Dataset], memory: str = MEMORY) -> Self:
        """A database of tables or datasets of Arrow, by their names in `TABLES`; one that is not given is empty.

        Raises BadQuery for a `memory` that cannot be read, Usage if duckdb or pyarrow is not installed.
        """
        made = cls(memory)
        for name in TABLES:
            given = tables[name] if name in tables else schema(name).empty_table()
            if PART in given.schema.names:
                whole = f"{name}{OF_PARTS}"
                made._connection.register(whole, given)
                made._connection.execute(f"CREATE VIEW {name} AS SELECT * EXCLUDE ({PART}) FROM {whole}")  # noqa: S608
            else:
                made._connection.register(name, given)
        made._closed()
        return made

    @classmethod
    def of_files(
        cls,
        files: Mapping[str, Mapping[str, str]],
        memory: str = MEMORY,
        dead: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """A database of Parquet files, which stand for the rows of each table: path or URL -> part. They stay open, so
        that a query sees what they are now, also if another program removes them. A column that a file does not have is
        null. `dead`: part -> the transcripts of which it has rows that count no more.

        Raises what `of_tables` raises, and ReadFailed for a file that cannot be opened.
        """
        made = cls.of_tables({name: _opened(name, some, dead or {}) for name, some in files.items()}, memory)
        made._files = {name: list(some) for name, some in files.items()}
        return made

    @classmethod
    def of_dataset(cls, place: str, memory: str = MEMORY) -> Self:
        """A database of a dataset, at a path or URL. Links in it are not followed.

        Raises what `of_files` raises; NoSuchLog if there is no dataset, BadDataset for one of another schema.
        """
        dataset = Dataset(place)
        dataset.opened()
        left = TRIES
        while True:
            parts = DatasetParts(dataset.parts())
            files: dict[str, dict[str, str]] = {name: {} for name in TABLES}
            for part, held in parts.all.items():
                for file in held.files:
                    name = file.partition("/")[0]
                    if name in TABLES and OWN.fullmatch(file) and not dataset.has_link(file):
                        files[name][dataset.path(file)] = part
            dead = {part: ids for part in parts.all if (ids := parts.dead_ids(part))}
            try:
                return cls.of_files(files, memory, dead)
            except ReadFailed as error:
                left -= 1
                if not left or not isinstance(error.__cause__, FileNotFoundError):
                    raise  # else it was folded into another one meanwhile

    def _closed(self) -> None:
        """Add the views, and lock everything."""
        for view in VIEWS.values():
            self._connection.execute(f"CREATE VIEW {view.name} AS {view.sql}")
        for lock in LOCKS:
            self._connection.execute(lock)

    @property
    def memory(self) -> int:
        """Bytes that DuckDB may use. It does not count all of them: not those of a list within one row."""
        [(text,)] = self._connection.execute("SELECT current_setting('memory_limit')").fetchall()
        number, unit = str(text).split()
        return int(float(number) * 1024 ** ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit))

    def query(self, sql: str, timeout: float | None = None) -> QueryResult:
        """Run one statement that reads: a select, also as VALUES, FROM, PIVOT, DESCRIBE, SUMMARIZE, SHOW or EXPLAIN.

        `timeout`: seconds to wait for all of its rows; what the reader does with them does not count. Raises BadQuery
        if it cannot be run, would change something, reads anything else, or exceeds its time or memory; so does
        reading the rows.
        """
        self._stop(self._worker)  # a result that nobody read to its end
        statement = self._statement(sql)
        batches = self._run(statement, sql, timeout)
        columns, schema = next(batches)
        return QueryResult(columns, schema, batches)

    def _statement(self, sql: str) -> Any:
        """The one statement in a text. Raises BadQuery."""
        try:
            found = self._connection.extract_statements(sql)
        except self._duckdb.Error as error:
            raise self._bad(error, sql) from error
        if len(found) != 1:
            many = f"{len(found)} statements" if found else "no statement"
            raise BadQuery(f"the query has {many}, and must be one: nothing was run", "WITH … SELECT … joins several")
        try:
            kind = found[0].type.name
        except ValueError:  # a kind that duckdb has no name for
            kind = ""
        if kind not in READS:
            word = kind if kind and _word(sql) == "WITH" else _word(sql)
            raise BadQuery(f"{word} does not only read: nothing was run", READ_HINT)
        return found[0]

    def _run(self, statement: Any, sql: str, timeout: float | None) -> Iterator[Any]:
        """The columns of the result, then its batches. The query runs in a thread; this one can be interrupted."""
        made: queue.Queue[Any] = queue.Queue(AHEAD)
        stopped = threading.Event()
        worker = threading.Thread(target=self._work, args=(statement, made, stopped), daemon=True)
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        self._worker = mine = worker, stopped
        worker.start()
        waited = 0.0
        try:
            while True:
                began = time.monotonic()
                try:
                    found = made.get(timeout=None if timeout is None else max(0.0, timeout - waited))
                    waited += time.monotonic() - began
                except queue.Empty:
                    raise too_long(timeout) from None
                if found is None:
                    return
                if isinstance(found, BaseException):
                    raise self._bad(found, sql, statement) from found
                yield found
        finally:
            self._stop(mine)

    def _work(self, statement: Any, made: queue.Queue[Any], stopped: threading.Event) -> None:
        """Run in the thread: put columns, batches and an end, or what was raised."""
        try:
            relation = self._connection.sql(statement)
            names, reader = _unlike(relation.columns), relation.to_arrow_reader(ROWS)
            columns = [ResultColumn(*one) for one in zip(names, map(str, relation.types), strict=True)]
            fields = [field.with_name(name) for field, name in zip(reader.schema, names, strict=True)]
            going = _put(made, (columns, arrow().schema(fields)), stopped)
            while going and (batch := next(reader, None)) is not None:
                going = _put(made, batch, stopped)
            _put(made, None, stopped)
        except BaseException as error:  # the other thread raises it
            _put(made, error, stopped)

    def _stop(self, running: tuple[threading.Thread, threading.Event] | None) -> None:
        """End this thread, and what it runs. One that does not end is left alone, and the database with it."""
        if running is None or self._worker is not running:  # a later query ended it
            return
        worker, stopped = running
        self._worker = None
        self._left = True
        stopped.set()
        until = time.monotonic() + PATIENCE
        while worker.is_alive() and time.monotonic() < until:
            self._connection.interrupt()
            worker.join(0.05)
        self._left = worker.is_alive()
        if not self._left:
            self._rollback()

    def _rollback(self) -> None:
        """End the transaction, unless an error did."""
        with suppress(self._duckdb.Error):
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """End what runs, and free the memory."""
        self._stop(self._worker)
        if not self._left:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _bad(self, error: BaseException, sql: str, statement: Any = None) -> BaseException:
        """The error for what DuckDB raised; anything else as it is."""
        if isinstance(error, MemoryError):
            return _no_memory()
        if not isinstance(error, self._duckdb.Error):
            if isinstance(error, RuntimeError) and _STOPPED.search(str(error)):
                return KeyboardInterrupt()
            return error
        if statement is not None and isinstance(error, self._duckdb.BinderException | self._duckdb.CatalogException):
            self._rollback()
            try:  # a relation does not say where the error is, a statement does; it fails before it is run
                self._connection.execute("BEGIN TRANSACTION READ ONLY")
                self._connection.execute(statement)
            except self._duckdb.Error as again:
                error = again
        return self._worded(error, sql)

    def _worded(self, error: BaseException, sql: str) -> CtxkitError:
        text, told = _said(error)
        if isinstance(error, self._duckdb.OutOfMemoryException):
            return _no_memory()
        if "launched in read-only mode" in text:
            return BadQuery(f"{_word(sql)} does not only read: nothing was changed", READ_HINT)
        if damaged := _DAMAGED.search(text):
            where, why = (
                self._damaged_file(damaged[1].removesuffix(OF_PARTS)),
                _WHERE.sub("", damaged[2].strip()).partition("\n")[0].rstrip("."),
            )
            text = f"{where or damaged[1].removesuffix(OF_PARTS)}: the dataset cannot be read: {why}"
            return ReadFailed(text, "remove the dataset's folder, and ctxkit fleet ingest makes it again")
        if _OUTSIDE.search(text):
            named = re.search(r'"([^"]+)"', text)
            what = named[1] if named else "that"
            return BadQuery(f"{what} is not one of the tables: a query reads nothing else", _names())
        kind = told.get("error_subtype")
        candidates = ""
        if kind == "MISSING_ENTRY" and told.get("type") == "Table":
            candidates = _names()
        elif kind == "COLUMN_NOT_FOUND" or "does not have a column named" in text:
            candidates = _columns(sql)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        first = lines[0].rstrip(".!") if lines else type(error).__name__
        meant = [f"{found[1]}?" for line in lines[1:] if (found := _MEANT.match(line))]
        place = _place(sql, told.get("position"))
        return BadQuery(f"{first[:1].lower() + first[1:]}{place}", "; ".join(filter(None, (*meant[:1], candidates))))

    def _damaged_file(self, table: str) -> str | None:
        """The first file of a table that cannot be read; None if it is not known."""
        import pyarrow.parquet as pq

        for path in self._files.get(table, ()):
            try:
                with pq.ParquetFile(path) as file:
                    for _ in file.iter_batches():
                        pass
            except (OSError, arrow().ArrowException):
                return path
        return None


def _put(made: queue.Queue[Any], value: Any, stopped: threading.Event) -> bool:
    """Whether the reader still waits for it."""
    while not stopped.is_set():
        try:
            made.put(value, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


def too_long(timeout: float | None) -> BadQuery:
    """The error for a query that ran longer than so many seconds."""
    text = f"the query ran longer than {timeout:g} s and was stopped"
    return BadQuery(text, "--timeout with more, or off; or a query that reads less")


def _no_memory() -> BadQuery:
    return BadQuery(
        "the query needs more memory than it may use: nothing more was printed",
        "ctxkit config set --user sql.memory_limit 80%, or a query that keeps less",
    )


def parquet(result: QueryResult) -> Iterator[bytes]:
    """The rows of a result as the pieces of one Parquet file. Raises what reading the rows raises."""
    pa = arrow()
    import pyarrow.parquet as pq

    sink = _Pieces()
    try:
        writer = pq.ParquetWriter(sink, result.schema, compression="zstd")
        for batch in result.batches():
            writer.write_batch(batch)
            yield sink.taken()
        writer.close()
    except pa.ArrowException as error:
        text = str(error).partition("\n")[0]
        raise BadQuery(f"Parquet cannot hold a column of the result: {text}", "cast it: CAST(x AS VARCHAR)") from error
    yield sink.taken()


class _Pieces(io.RawIOBase):
    """A file that gives away what was written to it."""

    def __init__(self) -> None:
        self._held, self._size = bytearray(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._held += piece
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._size

    def taken(self) -> bytes:
        """What was written since the last call."""
        held, self._held = bytes(self._held), bytearray()
        return held


def _opened(table: str, files: Mapping[str, str], dead: Mapping[str, Sequence[str]]) -> Any:
    """Parquet files as one dataset of Arrow, open, of the rows that count. Raises ReadFailed."""
    pa = arrow()
    import pyarrow.dataset

    _allow_files(len(files))
    form, fragments, columns = pyarrow.dataset.ParquetFileFormat(), [], schema(table)
    part_of = pyarrow.dataset.field(PART)
    old = [
        (part_of == part) & pyarrow.dataset.field("transcript_id").isin(pa.array(ids, pa.large_string()))
        for part, ids in dead.items() if part in files.values()
    ]  # fmt: skip
    for path, part in files.items():
        said = part_of == part if old else None
        try:
            if is_url(path):
                fs, name = file_system(path)
                fragments.append(form.make_fragment(name, _arrow_files(fs), said))
            else:
                fragments.append(form.make_fragment(pa.OSFile(path), partition_expression=said))
        except OSError as error:
            raise ReadFailed(f"{path}: cannot read: {reason_of(error)}") from error
    if not old:
        return pyarrow.dataset.FileSystemDataset(fragments, columns, form)
    found = pyarrow.dataset.FileSystemDataset(fragments, columns.append(pa.field(PART, pa.string())), form)
    return found.filter(~reduce(operator.or_, old))


def _allow_files(more: int) -> None:
    """So many more open files, as far as the system lets a process have them."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = len(os.listdir("/dev/fd")) + more + SPARE
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed if hard < 0 else min(needed, hard), hard))


def _arrow_files(fs: Any) -> Any:
    """A file system of fsspec as Arrow's."""
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    return PyFileSystem(FSSpecHandler(fs))


def _library() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise missing("duckdb") from error
    return duckdb


def _said(error: BaseException) -> tuple[str, dict[str, str]]:
    """The words of an error of DuckDB without its kind, and the details that it gives."""
    text = re.sub(r"^[A-Za-z ]+ Error: ", "", str(error), count=1)
    try:
        told = json.loads(text)
    except ValueError:
        return text, {}
    return str(told.get("exception_message", text)), told


def _place(sql: str, position: str | None) -> str:
    """`: line 2, character 5: FROM mesages`; positions of DuckDB count bytes. "" without a position."""
    if position is None or not position.isdigit():
        return ""
    before = utf8(sql)[: int(position)].decode("utf-8", "ignore")
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)
    rest = sql[len(before) - column :].partition("\n")[0]
    shown = rest[column:].strip()[:SHOWN]
    return f": line {line}, character {column + 1}" + (f", at `{shown}`" if shown else ", at the end")


def _names() -> str:
    return f"tables: {', '.join(TABLES)}; ctxkit sql --views lists views"


def _columns(sql: str) -> str:
    """The columns of the tables and views that a query names; their names, if it names none."""
    known = {name: [one.name for one in columns] for name, columns in TABLES.items()}
    known |= {name: [one.name for one in view.columns] for name, view in VIEWS.items()}
    words = set(re.findall(r"\w+", sql.lower()))
    return "; ".join(f"{name} has {', '.join(columns)}" for name, columns in known.items() if name in words) or _names()


def _word(sql: str) -> str:
    """The first word of a query, in capitals."""
    found = re.search(r"[A-Za-z]+", re.sub(r"--[^\n]*|/\*.*?\*/", " ", sql, flags=re.S))
    return found[0].upper() if found else "that"


def _unlike(names: Sequence[str]) -> list[str]:
    """Names, of which none is twice: `n`, `n_2`."""
    taken: set[str] = set()
    made = []
    for name in names:
        one, k = name, 1
        while one in taken:
            k += 1
            one = f"{name}_{k}"
        taken.add(one)
        made.append(one)
    return made
