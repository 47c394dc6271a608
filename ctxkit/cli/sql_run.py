"""What `ctxkit sql` and `ctxkit fleet sql` share: which word is the query, the run, and how its rows are printed.

Pipeline: `fleet/log_tables.py` or a dataset -> `fleet/database.py` -> here.
"""

from __future__ import annotations

import base64
import csv
import io
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import count, width, wrap_width
from ctxkit.cli.terminal.safe_text import cells, clip, safe
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.text.json_text import dumps
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import ExitCode, ReadFailed, Usage, reason_of
from ctxkit.fleet.database import Database, QueryResult, parquet, too_long
from ctxkit.fleet.tables import TABLES
from ctxkit.fleet.views import VIEWS
from ctxkit.settings.config import Config, load_here
from ctxkit.store.atomic import create
from ctxkit.when import standard

LARGEST = 1 << 20
"""Most bytes of a file with a query."""
ENDINGS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".tsv": "tsv"}
"""Ending of an output -> its form."""
FORMS = ("json", "csv", "table")
"""Forms that have a flag."""
STDOUT = "-"
SLACK = 1 << 30
"""Bytes for all but the query: threads, Arrow, the rows that are printed."""


class Printing(NamedTuple):
    """How a result is printed, as it was asked for. `parquet`, `output`: new files, None for standard output."""

    json: bool = False
    csv: bool = False
    table: bool = False
    parquet: str | None = None
    output: str | None = None

    def form(self) -> str:
        """`table`, `tsv`, `csv`, `json` or `parquet`. Raises Usage for options that do not go together."""
        named = [form for form in FORMS if getattr(self, form)]
        if len(named) > 1 or (named and self.parquet is not None):
            others = [*(f"--{form}" for form in named), *(["--parquet"] if self.parquet is not None else [])]
            raise Usage(f"{' and '.join(others)} are two forms: nothing was run", "use only one of them")
        if self.parquet is not None:
            if self.output is not None:
                raise Usage("--parquet and -o name two files: nothing was run", "use only one of them")
            if self.parquet == STDOUT and streams.Streams.columns:
                raise Usage("Parquet is not for a terminal: nothing was run", "--parquet FILE")
            return "parquet"
        if named:
            return named[0]
        if self.output is not None and (form := ENDINGS.get(os.path.splitext(self.output)[1].lower())):
            return form
        return "table" if streams.Streams.columns and self.output is None else "tsv"


def query_of(words: Sequence[str], file: str | None, usage: str) -> tuple[list[str], str]:
    """The words before the query, and the query: the last word, which has a blank or names a view or a table.

    `file`: a file with the query, - for standard input; then all words stand before it. Raises Usage, ReadFailed.
    """
    if file is not None:
        return list(words), _written(file)
    if not words:
        raise Usage("no query: nothing was run", usage)
    *before, last = words
    if re.search(r"\s", last.strip()):
        if os.path.exists(last):
            raise Usage(f"{last!r} is a file, and the last word is the query: nothing was run", usage)
        return before, last
    if last in VIEWS or last in TABLES:
        return before, f"FROM {last}"
    shown = f"{last!r} is the last word, and no query: it has no blank, and is no view or table"
    raise Usage(f"{shown}: nothing was run", f"{usage}; ctxkit sql --views lists views")


def _written(file: str) -> str:
    if file == STDOUT:
        if streams.Streams.stdin_use:
            raise Usage(f"standard input cannot be both {streams.Streams.stdin_use} and the query", "--query FILE")
        streams.Streams.stdin_use = "the query"
        if sys.stdin is None:
            raise Usage("--query -: standard input is closed: nothing was run", "--query FILE")
        data = sys.stdin.buffer.read(LARGEST + 1)
    else:
        try:
            with open(file, "rb") as source:
                data = source.read(LARGEST + 1)
        except OSError as error:
            raise ReadFailed(f"--query {file}: {reason_of(error)}: nothing was run") from error
    if len(data) > LARGEST:
        raise Usage(f"--query {file}: more than {LARGEST:,} bytes: nothing was run", "a file with a query")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Usage(f"--query {file}: not UTF-8: nothing was run", "a file with a query") from error


def seconds_of(timeout: str | None, config: Config) -> float | None:
    """The time that a query may take: of --timeout, else of the config; None for any. Raises BadTime."""
    if timeout is None:
        return float(config["sql.timeout"]) or None
    if timeout == "off":
        return None
    from ctxkit.when import duration

    return float(duration(timeout))


def of_dataset(
    place: str | None, words: Sequence[str], query: str | None, printing: Printing, timeout: str | None
) -> int:
    """Run `fleet sql`: a query on the dataset at `place`; the exit status. Raises what `answer` raises."""
    usage = "ctxkit fleet sql --dataset DATASET 'select …'"
    if not place:
        raise Usage("which dataset? nothing was run", usage)
    printing.form()
    others, sql = query_of(words, query, usage)
    if others:
        raise Usage(f"{others[0]!r} is one word too many: nothing was run", f"{usage}, or ctxkit sql LOG... 'select …'")
    return answer(lambda memory: Database.of_dataset(place, memory), sql, printing, timeout)


def answer(opened: Callable[[str], Database], sql: str, printing: Printing, timeout: str | None) -> int:
    """Run a query on the database that `opened` makes for a memory limit, and print its rows; the exit status.

    Raises what `Database.query` raises, CannotCreate for the output.
    """
    form = printing.form()
    config = load_here(os.environ)
    limit = seconds_of(timeout, config)
    target = printing.parquet or printing.output
    if target not in (None, STDOUT) and os.path.lexists(target):  # before minutes of work; `create` checks it again
        create(target, [])
    with closing(opened(config["sql.memory_limit"])) as database, bounded(database.memory):
        counted = _Counted(database, sql, limit)
        if form == "parquet":
            pieces: Iterator[bytes] = parquet(counted)
        elif form == "table" and target is None:
            _print_table(counted)
            streams.flush()
            streams.say(count(counted.rows_read, "row"))
            return ExitCode.DONE
        else:
            pieces = _pieces(form, counted)
        if target in (None, STDOUT):
            streams.out_bytes(pieces)
            streams.flush()
            streams.say(count(counted.rows_read, "row"))
        else:
            create(target, pieces)
            streams.Streams.done = f"{count(counted.rows_read, 'row')} written to {target}"
            streams.say(f"{count(counted.rows_read, 'row')} written to {target}")
    return ExitCode.DONE


@contextmanager
def bounded(more: int) -> Iterator[None]:
    """This process may take so many bytes more, and SLACK; then an allocation fails, before the machine has none left.

    DuckDB's own limit does not count a list within one row: `SELECT len(range(10000000000))`.
    """
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    except (OSError, ValueError, IndexError):  # not Linux
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [pages * resource.getpagesize() + more + SLACK, *(one for one in (soft, hard) if one >= 0)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


class _Counted(QueryResult):
    """The result of a query that counts its rows while they are read, for as long as `limit` seconds, if it is said.

    To print them counts too: a short query may have rows for hours. What a person reads in a pager takes any time.
    """

    def __init__(self, database: Database, sql: str, limit: float | None) -> None:
        self._until = None if limit is None or streams.Streams.pager is not None else time.monotonic() + limit
        result = database.query(sql, limit)
        super().__init__(result.columns, result.schema, result.batches())
        self.rows_read = 0
        self._limit = limit

    def batches(self) -> Iterator[Any]:
        for batch in super().batches():
            if self._until is not None and time.monotonic() > self._until:
                raise too_long(self._limit)
            self.rows_read += batch.num_rows
            yield batch


def _pieces(form: str, result: QueryResult) -> Iterator[bytes]:
    names = [column.name for column in result.columns]
    if form == "json":
        for row in result.rows():
            yield as_json(names, row)
    elif form == "table":
        table = Table(names, result.rows(), width())
        for line in table.lines():
            yield utf8("".join(span if isinstance(span, str) else span.text for span in line) + "\n")
    else:
        for values in chain([names], result.rows()):
            if form == "csv":
                yield as_csv(values)
            else:
                yield from as_tsv(values)


def _print_table(result: QueryResult) -> None:
    table = Table([column.name for column in result.columns], result.rows(), width())
    for line in table.lines():
        streams.out(*line)
    if table.left_out:
        streams.say(f"no room for {count(len(table.left_out), 'column')}: {', '.join(table.left_out)}; --json has all")


def show_listed(names: Sequence[str], *, views: bool, schema: bool, json: bool) -> int:
    """Print what --views or --schema lists. Raises Usage for both, and for unknown names."""
    if views and schema:
        raise Usage("--views and --schema print two lists", "use only one of them")
    return show_views(names, json=json) if views else show_schema(names, json=json)


def show_views(names: Sequence[str], *, json: bool) -> int:
    """Print the ready questions, or those with these names: what each answers, and its SQL. Raises Usage."""
    for place, name in enumerate(_known(names, VIEWS, "view")):
        view = VIEWS[name]
        if json:
            columns = {column.name: column.meaning for column in view.columns}
            streams.out_json({"view": name, "meaning": view.meaning, "columns": columns, "sql": view.sql})
            continue
        if place:
            streams.out("")
        streams.out(Styled(name, "bold"))
        _print_wrapped(view.meaning)
        streams.out("")
        for line in view.sql.splitlines():
            streams.out(Styled(f"    {line}", "dim"))
    return ExitCode.DONE


def show_schema(names: Sequence[str], *, json: bool) -> int:
    """Print the columns of the tables, or of the tables and views with these names. Raises Usage."""
    every = [*TABLES, *VIEWS] if names else list(TABLES)
    for place, name in enumerate(_known(names, every, "table or view")):
        if not json:
            if place:
                streams.out("")
            streams.out(Styled(name, "bold"))
        for column, kind, meaning in _columns(name):
            if json:
                streams.out_json({"table": name, "column": column, "type": kind, "meaning": meaning})
            else:
                _print_wrapped(f"{column}{f' ({kind})' if kind else ''}: {meaning}", hang=6)
    return ExitCode.DONE


def _columns(name: str) -> Iterator[tuple[str, str | None, str]]:
    """Name, type and meaning of the columns of a table or view; views have no declared types."""
    for column in TABLES.get(name, ()):
        yield column.name, column.type, column.meaning
    for shown in VIEWS[name].columns if name in VIEWS else ():
        yield shown.name, None, f"{shown.meaning[:1].upper()}{shown.meaning[1:]}."


def _known(names: Sequence[str], known: Iterable[str], what: str) -> list[str]:
    every = list(known)
    for name in names:
        if name not in every:
            raise Usage(f"there is no {what} {name!r}", ", ".join(every))
    return [*names] if names else every


def _print_wrapped(text: str, hang: int = 2) -> None:
    for line in wrapped([f"  {text}"], min(wrap_width(), 100), hang, hard=True):
        streams.out(*line)


SAMPLE = 500
"""Rows that decide how wide the columns are."""
LEAST = 8
"""Cells of a column of texts at least, if it is cut."""
GAP = 2
LONGEST = 1000
"""Characters of a text that are looked at for a table."""
PIECE = 1 << 20
"""Characters of a line that are printed at once."""
DECIMALS = 4


def plain(value: Any) -> Any:
    """A value of a result as JSON has it: numbers, texts, lists and objects; times as ISO 8601, bytes as base64."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "nanoseconds"):
        return interval(value.months, value.days, value.nanoseconds)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return standard(value)


def interval(months: int, days: int, nanoseconds: int) -> str:
    """A span of time as DuckDB writes it: `1 year 2 months 3 days 04:05:06.5`."""
    years = int(months / 12)  # toward zero: both parts have the sign of the whole
    named = ((years, "year"), (months - 12 * years, "month"), (days, "day"))
    said = [f"{number} {unit}{'s' * (abs(number) != 1)}" for number, unit in named if number]
    if nanoseconds or not said:
        seconds, rest = divmod(abs(nanoseconds) // 1000, 10**6)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{rest:06}".rstrip("0").rstrip(".")
        said.append(("-" if nanoseconds < 0 else "") + clock + fraction)
    return " ".join(said)


def text_of(value: Any) -> str:
    """A value as one text, for TSV and CSV: "" for null, `true`, the shortest form of a number, JSON for lists."""
    if type(value) in (str, int):  # nearly all values
        return str(value)
    found = plain(value)
    if found is None:
        return ""
    if isinstance(found, str):
        return found
    return dumps(found)


def as_tsv(values: Iterable[Any]) -> Iterator[bytes]:
    r"""A line of TSV, in pieces if a text is long, since each step copies it.

    Tab, line feed, carriage return and backslash in a text are `\t`, `\n`, `\r` and `\\`.
    Other control characters are made visible, as for people: it is what a pipe gets unasked, and `less` may follow.
    """
    fields = [text_of(value) for value in values]
    if sum(map(len, fields)) <= PIECE:
        yield utf8("\t".join(safe(field.translate(_ESCAPES)) for field in fields) + "\n")
        return
    for place, field in enumerate(fields):
        if place:
            yield b"\t"
        size = PIECE if field.isascii() else max(len(field), 1)  # what is visible in others goes by their neighbours
        for start in range(0, len(field), size):
            yield utf8(safe(field[start : start + size].translate(_ESCAPES)))
    yield b"\n"


_ESCAPES = {9: r"\t", 10: r"\n", 13: r"\r", 92: r"\\"}


def as_csv(values: Iterable[Any]) -> bytes:
    """A line of CSV, as RFC 4180 has it, but ended by a line feed alone."""
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerow([text_of(value) for value in values])
    return utf8(made.getvalue())


def as_json(names: Sequence[str], values: Iterable[Any]) -> bytes:
    """A line of ASCII JSON: an object of the columns."""
    return (dumps(dict(zip(names, map(plain, values), strict=True))) + "\n").encode("ascii")


class Table:
    """A table for people in `width` cells. `left_out`: the columns for which there was no room, once it is laid out."""

    def __init__(self, names: Sequence[str], rows: Iterator[Sequence[Any]], width: int) -> None:
        self.left_out: Sequence[str] = ()
        first = list(islice(rows, SAMPLE))
        self._first, self._rest = [self._row(row) for row in first], rows
        self._right = [_is_number([row[k] for row in first]) for k in range(len(names))]
        self._head = [safe(name, keep_newlines=False) for name in names]
        natural = [max(map(cells, (head, *(row[k] for row in self._first)))) for k, head in enumerate(self._head)]
        self._sizes = self._fitted(natural, width)
        self._room = len(self._sizes) > 1 or sum(natural[:1]) <= width
        self.left_out = names[len(self._sizes) :]

    def lines(self) -> Iterator[Line]:
        """The head and a line for each row."""
        yield self._line(self._head, "dim")
        for row in chain(self._first, map(self._row, self._rest)):
            yield self._line(row)

    def _line(self, row: Sequence[str], style: str = "") -> Line:
        made = []
        for k, size in enumerate(self._sizes):
            whole = self._right[k] and self._room  # a number with its end cut off is another number
            text = row[k] if whole else clip(row[k], size)
            pad = " " * (size - cells(text))
            made.append(pad + text if self._right[k] else text + pad)
        text = (" " * GAP).join(made).rstrip(" ")
        return [Styled(text, style) if style else text]

    @staticmethod
    def _row(row: Sequence[Any]) -> list[str]:
        return [_cell(value) for value in row]

    def _fitted(self, natural: Sequence[int], width: int) -> list[int]:
        """The sizes of the columns that fit: texts are cut, the widest first; then the last columns are left out."""
        sizes = list(natural)
        while sizes:
            over = sum(sizes) + GAP * (len(sizes) - 1) - width
            if over <= 0:
                return sizes
            widest = max((k for k in range(len(sizes)) if not self._right[k]), key=sizes.__getitem__, default=None)
            if widest is not None and sizes[widest] > LEAST:
                others = [size for k, size in enumerate(sizes) if k != widest and not self._right[k]]
                floor = max([LEAST, *(size for size in others if size < sizes[widest])])
                sizes[widest] = max(floor, sizes[widest] - over) if floor < sizes[widest] else sizes[widest] - 1
            elif len(sizes) > 1:
                sizes = list(natural[: len(sizes) - 1])
            else:
                return [max(1, width)]
        return sizes


def _cell(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        if value and abs(value) < 10**-DECIMALS:
            return f"{value:.3g}"
        return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
    text = text_of(value)
    return safe(text if len(text) <= LONGEST else text[:LONGEST], keep_newlines=False)


def _is_number(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(one, int | float | Decimal) and not isinstance(one, bool) for one in known)
