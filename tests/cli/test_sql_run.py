"""Which word is the query, where the rows go, and what is listed."""

from __future__ import annotations

import csv
import datetime
import io
import json
import resource
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from ctxkit.cli import sql_run
from ctxkit.cli.sql_run import Printing, Table, as_csv, as_json, as_tsv, bounded, plain, query_of, seconds_of
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.errors import BadTime, CtxkitError, ReadFailed, Usage
from ctxkit.settings.config import load


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a", "select 1"], (["a"], "select 1")),
        (["a", "b", "from\nops"], (["a", "b"], "from\nops")),
        (["select 1"], ([], "select 1")),
        (["a", "compactions"], (["a"], "FROM compactions")),
        (["a", "messages"], (["a"], "FROM messages")),
        (["my log.jsonl", "select 1"], (["my log.jsonl"], "select 1")),
    ],
)
def test_the_last_word(words: list[str], expected: tuple[list[str], str]) -> None:
    """It is the query if it has a blank or names a view or table."""
    assert query_of(words, None, "usage") == expected


@pytest.mark.parametrize("words", [[], ["a"], ["a", "nothing"], ["a", ""], ["a", "  "]])
def test_no_query(words: list[str]) -> None:
    """A word without a blank is no query, and the error says so."""
    with pytest.raises(Usage, match="query"):
        query_of(words, None, "usage")


def test_a_file_with_a_blank(tmp_path: Path) -> None:
    """A log as the last word is not taken for a query, whatever its name."""
    path = tmp_path / "my log.jsonl"
    path.write_bytes(b"")
    with pytest.raises(Usage, match="is a file"):
        query_of(["a", str(path)], None, "usage")
    query = tmp_path / "q.sql"
    query.write_text("\ufeffselect 1")
    assert query_of(["a", str(path)], str(query), "usage") == (["a", str(path)], "select 1")


def test_query_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--query -` reads it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"select 1")))
    assert query_of(["a"], "-", "usage") == (["a"], "select 1")


@pytest.mark.parametrize(("content", "error"), [(b"\xff\xfe", Usage), (b"x" * (2 << 20), Usage), (None, ReadFailed)])
def test_bad_files(content: bytes | None, error: type[CtxkitError], tmp_path: Path) -> None:
    """A file that is no text, too large or missing is named."""
    path = tmp_path / "q.sql"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=r"q\.sql"):
        query_of(["a"], str(path), "usage")


@pytest.mark.parametrize(
    ("printing", "form"),
    [
        (Printing(), "tsv"), (Printing(json=True), "json"), (Printing(csv=True), "csv"),
        (Printing(table=True), "table"),
        (Printing(parquet="x"), "parquet"), (Printing(output="x.csv"), "csv"), (Printing(output="x.JSONL"), "json"),
        (Printing(output="x.parquet"), "parquet"), (Printing(output="x.txt"), "tsv"),
        (Printing(output="x.csv", json=True), "json"),
    ],
)  # fmt: skip
def test_form(printing: Printing, form: str) -> None:
    """By flag, else by the ending of the output, else lines with tabs in a pipe."""
    assert printing.form() == form


@pytest.mark.parametrize(
    "printing", [Printing(json=True, csv=True), Printing(csv=True, parquet="x"), Printing(parquet="x", output="y")]
)
def test_two_forms(printing: Printing) -> None:
    """Two forms, or two files, are refused."""
    with pytest.raises(Usage, match="two"):
        printing.form()


def test_timeout() -> None:
    """Of the flag, else of the config; off is none."""
    settings = load(None, None, {"CTXKIT_SQL_TIMEOUT": "30s"}, None)
    assert seconds_of(None, settings) == 30.0
    assert seconds_of("off", settings) is None
    assert seconds_of("2m", settings) == 120.0
    assert seconds_of(None, load(None, None, {}, None)) == 300.0
    with pytest.raises(BadTime):
        seconds_of("soon", settings)


def test_bounded() -> None:
    """What a query allocates beyond its memory fails, and the limit of the process is as before."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with bounded(1 << 20):
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] < 16 << 30
        with pytest.raises(MemoryError):
            bytearray(4 << 30)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(bytearray(1 << 20)) == 1 << 20


ODD = 'a\tb\nc\\d\r"e", f'


def drawn(names: list[str], rows: list[tuple[Any, ...]], width: int) -> list[str]:
    """The lines of a table."""
    lines = Table(names, iter(rows), width).lines()
    return ["".join(one if isinstance(one, str) else one.text for one in line) for line in lines]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None), (True, True), (3, 3), (1.5, 1.5), (float("nan"), None), (float("inf"), None), ("ä", "ä"),
        (Decimal("7"), 7), (Decimal("1.50"), 1.5), (b"\x00x", "AHg="), ([1, Decimal(2)], [1, 2]),
        ({"a": [None]}, {"a": [None]}), (datetime.date(2026, 2, 1), "2026-02-01"),
        (datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC), "2026-02-01T00:00:00Z"),
        (datetime.timedelta(seconds=90), "0:01:30"), (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)  # fmt: skip
def test_plain(value: Any, expected: Any) -> None:
    """Every type that DuckDB gives has a form in JSON."""
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


@pytest.mark.parametrize(
    "span",
    [
        "INTERVAL 90 SECOND", "INTERVAL 0 DAY", "INTERVAL 14 MONTH", "INTERVAL (-14) MONTH", "INTERVAL (-3) DAY",
        "INTERVAL 1 MICROSECOND", "INTERVAL '1 year 2 months 3 days 04:05:06.5'", "INTERVAL (-90) MINUTE",
        "TIMESTAMP '2026-02-03 10:00' - TIMESTAMP '2026-02-01 09:00'", "INTERVAL 30 HOUR",
    ],
)  # fmt: skip
def test_interval(span: str) -> None:
    """A span of time reads as DuckDB writes it."""
    duckdb = pytest.importorskip("duckdb", reason="the extra `fleet` is not installed")
    pytest.importorskip("pyarrow", reason="the extra `fleet` is not installed")
    found = duckdb.connect().sql(f"SELECT {span} AS x, CAST({span} AS VARCHAR) AS text").to_arrow_table()
    [row] = found.to_pylist()
    assert plain(row["x"]) == row["text"]


def test_numbers_after_the_sample() -> None:
    """A number that is longer than those that decided the width is whole: with its end cut off it is another."""
    rows = [(n, "a") for n in range(600)] + [(123_456_789, "b" * 90)]
    assert drawn(["n", "name"], rows, 40)[-1].startswith("123456789  b")


def test_json() -> None:
    """A line is an object of the columns, in ASCII."""
    line = as_json(["n", "text"], (1, "ä\n"))
    assert line == b'{"n":1,"text":"\\u00e4\\n"}\n'


def test_csv() -> None:
    """A reader of CSV gets every text back."""
    line = as_csv([1, None, ODD, True, [1]])
    assert next(csv.reader(io.StringIO(line.decode(), newline=""))) == ["1", "", ODD, "true", "[1]"]


def test_tsv() -> None:
    """A row is one line, with as many tabs as there are columns less one."""
    line = b"".join(as_tsv([1, ODD, None, 0.25]))
    assert line == b'1\ta\\tb\\nc\\\\d\\r"e", f\t\t0.25\n'
    assert b"".join(as_tsv(["\x1b]0;x\x07\x9b\u202e"])).decode() == "␛]0;x␇\\u{9b}\\u{202e}\n", "no terminal obeys it"


def test_table() -> None:
    """Numbers are to the right, texts to the left, null is empty."""
    assert drawn(["n", "name", "share"], [(1, "a", 0.5), (20, None, 0.12345678), (3, "ccc", None)], 80) == [
        " n  name   share", " 1  a        0.5", "20        0.1235", " 3  ccc",
    ]  # fmt: skip


def test_small_numbers() -> None:
    """Small shares keep their digits."""
    assert drawn(["x"], [(0.00001234,), (0.5,), (2.0,)], 80) == ["       x", "1.23e-05", "     0.5", "       2"]


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 200])
def test_width(width: int) -> None:
    """No line is wider than the terminal, whatever is in it."""
    rows = [(k, "wide " * k, "漢字" * k, "x" * 3 * k, k * 1.5) for k in range(40)]
    assert all(cells(line) <= width for line in drawn(["n", "text", "kanji", "path", "share"], rows, width))


def test_cut() -> None:
    """The widest texts are cut first, and numbers never."""
    lines = drawn(["n", "short", "long"], [(123456, "abc", "x" * 100)], 30)
    assert lines[1] == "123456  abc    " + "x" * 14 + "…"


def test_left_out() -> None:
    """Columns for which there is no room are left out from the end, and named."""
    table = Table(["alpha", "beta", "gamma"], iter([(10**12, 10**12, 10**12)]), 28)
    assert table.left_out == ["gamma"]
    assert len(list(table.lines())) == 2


def test_rows_after_the_sample() -> None:
    """Later rows are laid out like the first ones, wider texts cut."""
    lines = drawn(["name"], [("abc",)] * 600 + [("x" * 50,)], 80)
    assert len(lines) == 602
    assert lines[-1] == "xxx…"


def test_hostile() -> None:
    """Control characters of a transcript have no effect, in names and in values."""
    lines = drawn(["a\x1b[2J"], [("b\x1b]0;title\x07\nc",)], 80)
    assert not any(ord(c) < 32 or ord(c) == 127 for line in lines for c in line)


@pytest.mark.parametrize("letter", ["x\t", "é\u202e"])
def test_a_long_text_is_written_in_pieces(letter: str) -> None:
    """The line is the same as that of the whole; ASCII comes in pieces."""
    text = letter * sql_run.PIECE
    some = list(as_tsv([1, text, ""]))
    one = b"".join(as_tsv([1, letter, ""])).split(b"\t")[1]
    assert b"".join(some) == b"1\t" + one * sql_run.PIECE + b"\t\n"
    assert max(map(len, some)) <= 3 * sql_run.PIECE or not letter.isascii()
