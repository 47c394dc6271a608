"""Which word is the query, where the rows go, and what is listed."""

from __future__ import annotations

import io
import resource
import sys
from pathlib import Path

import pytest

from ctxkit.cli.sql_run import Printing, bounded, query_of, seconds_of
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
