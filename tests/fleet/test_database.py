"""The database that questions are asked of: it reads only its tables, writes nothing, and can be stopped."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from ctxkit.errors import BadDataset, BadQuery, NoSuchLog, ReadFailed
from ctxkit.fleet.tables import TABLES, table
from tests.fleet.planned import Plan, rows_of

duckdb = pytest.importorskip("duckdb", reason="the extra `fleet` is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra `fleet` is not installed")

from ctxkit.fleet.database import Database, parquet  # noqa: E402  # skipped without duckdb
from ctxkit.fleet.ingest import ingest  # noqa: E402

ENDLESS = "SELECT count(*) FROM range(1000000000) a(x), range(1000) b(y) WHERE x * y % 7 = 3"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """The tables of a session as Parquet files, each in two."""
    folder = tmp_path_factory.mktemp("dataset")
    found = rows_of(Plan("one", 1).talk(2, 4).write(folder))
    made: dict[str, list[Path]] = {}
    for name, rows in found.items():
        half = len(rows) // 2
        for k, some in enumerate((rows[:half], rows[half:])):
            path = folder / name / f"{k}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(table(name, some), path)
            made.setdefault(name, []).append(path)
    return made


@pytest.fixture
def database(files: dict[str, list[Path]]) -> Iterator[Database]:
    """A database of these files."""
    with of_files(files) as made:
        yield made


def of_files(files: Mapping[str, Sequence[Path]], memory: str = "1GB") -> Database:
    """A database of files of one part."""
    return Database.of_files({name: dict.fromkeys(map(str, some), "part") for name, some in files.items()}, memory)


def answer(database: Database, sql: str, timeout: float | None = None) -> list[tuple[object, ...]]:
    """All rows of a query."""
    return list(database.query(sql, timeout).rows())


def test_tables(database: Database, files: dict[str, list[Path]]) -> None:
    """Every table has the rows of all its files."""
    for name in TABLES:
        rows = sum(pq.read_table(path).num_rows for path in files[name])
        assert answer(database, f"SELECT count(*) FROM {name}") == [(rows,)]


def test_a_missing_column_is_null(tmp_path: Path, files: dict[str, list[Path]]) -> None:
    """A file of an older ctxkit, without a column, is read; what it does not have is null."""
    old = tmp_path / "messages.parquet"
    pq.write_table(pq.read_table(files["messages"][0]).drop_columns(["error", "tokens"]), old)
    with of_files({**files, "messages": [old]}) as database:
        assert answer(database, "SELECT DISTINCT error, tokens FROM messages") == [(None, None)]


@pytest.mark.parametrize(
    "sql",
    [
        "FROM messages", "VALUES (1)", "TABLE files", "DESCRIBE messages", "SUMMARIZE requests", "SHOW TABLES",
        "EXPLAIN SELECT 1", "WITH x AS (SELECT 1 AS n) SELECT * FROM x", "PIVOT messages ON role USING count(*)",
        "SELECT 1;", "-- a question\nSELECT 1", "SELECT * FROM query('SELECT 1')",
    ],
)  # fmt: skip
def test_what_reads(sql: str, database: Database) -> None:
    """All ways to ask are allowed."""
    assert answer(database, sql)


ATTACKS = (
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{outside}')",
    "SELECT * FROM read_parquet('{inside}/../../outside.parquet')",
    "SELECT * FROM '{outside}'",
    "SELECT * FROM '{link}'",
    "SELECT * FROM read_parquet('{link}')",
    "SELECT * FROM read_text('{secret_link}')",
    "SELECT * FROM parquet_metadata('{outside}')",
    "SELECT * FROM parquet_schema('{outside}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM glob('/**')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM query_table('{outside}')",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM read_csv('https://example.com/x.csv')",
    "SELECT * FROM 's3://bucket/x.parquet'",
    "SELECT getenv('HOME')",
    "COPY messages TO '{new}'",
    "COPY (SELECT 1) TO '{inside}'",
    "COPY messages FROM '{secret}'",
    "EXPLAIN ANALYZE COPY messages TO '{new}'",
    "EXPORT DATABASE '{new}'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{new}' AS other",
    "ATTACH ':memory:' AS other",
    "ATTACH '{outside}' AS other",
    "USE other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{secret}'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET memory_limit = '100GB'",
    "SET temp_directory = '{folder}'",
    "RESET allowed_paths",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "CALL enable_logging()",
    "CHECKPOINT",
    "CREATE TABLE x AS SELECT 1",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "CREATE MACRO f() AS 1",
    "INSERT INTO messages VALUES (1)",
    "DELETE FROM messages",
    "DROP VIEW messages",
    "UPDATE messages SET n = 1",
    "WITH x AS (DELETE FROM messages RETURNING *) SELECT * FROM x",
    "BEGIN TRANSACTION",
    "PREPARE p AS SELECT 1",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY messages TO '{new}'",
    "SELECT * FROM sneaky",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{inside}' (FORMAT parquet, USE_TMP_FILE false)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{new}'",
    "EXPLAIN COPY messages TO '{new}'",
    "EXPLAIN ANALYZE CREATE TABLE x AS SELECT 1",
    "EXPLAIN ANALYZE CREATE OR REPLACE VIEW messages AS SELECT 1",
    "EXPLAIN ANALYZE SET memory_limit = '100GB'",
    "EXPLAIN ANALYZE INSTALL httpfs",
    "EXPLAIN ANALYZE ATTACH '{new}'",
    "WITH x AS (COPY (SELECT 1) TO '{inside}' (FORMAT parquet, USE_TMP_FILE false)) FROM x",
    "WITH x AS (COPY (SELECT 1) TO '{new}') FROM x",
    "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{inside}'' (USE_TMP_FILE false)) FROM x')",
    "WITH x AS (INSERT INTO messages VALUES (1) RETURNING *) SELECT * FROM x",
    "SELECT * FROM read_parquet('{inside}')",
    "SELECT * FROM '{inside}'",
    "SELECT content FROM read_blob('{inside}')",
    "SELECT * FROM parquet_kv_metadata('{inside}')",
    "SELECT * FROM read_single_csv_file('{secret}')",
    "SELECT * FROM read_ndjson_objects('{secret}')",
    "SELECT * FROM read_duckdb('{new}')",
    "SELECT * FROM read_text(['{secret}'])",
    "SELECT * FROM read_text('/dev/stdin')",
    "SELECT * FROM read_text('/proc/self/environ')",
    "SELECT * FROM read_text('file://{secret}')",
    "SELECT * FROM '{secret}'",
    'SELECT * FROM "{secret}"',
    "FROM 'http://127.0.0.1/'",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "WITH x AS MATERIALIZED (FROM read_csv('{secret}')) FROM x",
    "SELECT 1 UNION ALL BY NAME SELECT content FROM read_text('{secret}')",
    "PIVOT (FROM read_text('{secret}')) ON filename",
    "SUMMARIZE '{outside}'",
    "DESCRIBE SELECT * FROM '{outside}'",
    "EXPLAIN ANALYZE SELECT * FROM read_text('{secret}')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''{secret}'')'))",
    "SELECT * FROM messages, LATERAL (SELECT * FROM read_text(text))",
    "SELECT * FROM arrow_scan(1, 2, 3)",
    "SELECT * FROM arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)",
    "SELECT * FROM arrow_scan(NULL, NULL, NULL)",
    "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM pandas_scan(NULL)",
    "SELECT * FROM python_map_function((FROM ops))",
    "SELECT * FROM enable_logging()",
    "SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '{new}')",
    "SELECT * FROM enable_profiling(format := 'json', save_location := '{new}')",
    "SELECT * FROM duckdb_secrets(redact = false)",
    "SELECT * FROM sqlite_scan('{new}', 'x')",
    "SELECT * FROM postgres_scan('host=localhost', 'x', 'y')",
    "SELECT system('id')",
    "SELECT http_get('http://127.0.0.1')",
    "SET VARIABLE x = 1",
    "RESET memory_limit",
    "PRAGMA memory_limit = '100GB'",
    "EXECUTE p",
    "VACUUM",
    "ANALYZE",
    "FORCE CHECKPOINT",
    "UPDATE EXTENSIONS",
    "CALL pragma_version()",
    "COMMIT",
    "ROLLBACK",
    "DETACH memory",
    "CREATE OR REPLACE VIEW messages AS SELECT 1",
    "ALTER VIEW messages RENAME TO x",
    "COMMENT ON VIEW largest_results IS 'x'",
    "MERGE INTO messages USING ops ON true WHEN MATCHED THEN DELETE",
    "COPY FROM DATABASE memory TO memory",
    "",
    "-- nothing",
)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(attack: str, database: Database, files: dict[str, list[Path]], tmp_path: Path) -> None:
    """Nothing but the tables is read, nothing is written, no setting changes; the next question is still answered."""
    sneaky = table("ops", [])  # a variable of this frame is no table
    inside, folder = files["messages"][0], files["messages"][0].parent
    places = {name: tmp_path / name for name in ("secret", "outside.parquet", "new", "link", "secret_link")}
    places["secret"].write_text("root:x:0:0\n")
    pq.write_table(sneaky, places["outside.parquet"])
    links = folder / "link.parquet", folder / "secret_link.parquet"
    for link, target in zip(links, (places["outside.parquet"], places["secret"]), strict=True):
        link.symlink_to(target)
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    try:
        sql = attack.format(
            secret=places["secret"], outside=places["outside.parquet"], new=places["new"], inside=inside,
            folder=folder, link=links[0], secret_link=links[1],
        )  # fmt: skip
        with pytest.raises(BadQuery):
            answer(database, sql)
    finally:
        after = {path: path.read_bytes() for path in folder.rglob("*")}
        for link in links:
            link.unlink()
    assert after == before
    assert not places["new"].exists()
    assert answer(database, "SELECT count(*) > 0 FROM messages") == [(True,)]


def test_no_secrets(database: Database) -> None:
    """Secrets that DuckDB keeps in the home are not there."""
    assert answer(database, "SELECT * FROM duckdb_secrets()") == []


def test_settings_are_locked(database: Database) -> None:
    """What protects the files is on."""
    names = (
        "enable_external_access",
        "lock_configuration",
        "autoload_known_extensions",
        "autoinstall_known_extensions",
    )
    found = dict(answer(database, f"SELECT name, value FROM duckdb_settings() WHERE name IN {names}"))  # type: ignore[arg-type]
    assert found == dict(zip(names, ("false", "true", "false", "false"), strict=True))


def test_nothing_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, list[Path]]) -> None:
    """A query leaves nothing in the working folder or in the home, not even one that fails for want of memory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with of_files(files, "60MB") as database, pytest.raises(BadQuery):
        answer(database, "SELECT list(x) FROM range(100000000) t(x)")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sql", "said", "hint"),
    [
        ("SELECT fo FROM messages", r'column "fo" not found.*line 1, character 8, at `fo FROM', r"messages has .*role"),
        ("SELECT m.x FROM messages m", r'column named "x"', r"messages has .*role"),
        ("SELECT n,\n  é\nFROM ops", r"line 2, character 3, at `é`", r"ops has .*kind"),
        ("SELECT tokns FROM largest_results", r"tokns", r"largest_results has session.*tokens"),
        ("SELECT * FROM mesages", r"mesages does not exist", r'"messages".*tables: transcripts'),
        ("SELEC 1", r"syntax error.*line 1, character 1", ""),
        ("SELECT sum(text) FROM messages", r"no function matches", ""),
        ("SELECT 'a'::INT", r"could not convert", ""),
        ("SELECT 1; SELECT 2", "2 statements", "WITH"),
        ("DROP VIEW messages", "DROP does not only read", ""),
        ("WITH x AS (SELECT 1) INSERT INTO ops SELECT * FROM ops", "INSERT does not only read", ""),
        ("SELECT * FROM read_text('/etc/passwd')", "/etc/passwd is not one of the tables", "tables: transcripts"),
    ],
)
def test_errors(sql: str, said: str, hint: str, database: Database) -> None:
    """An error says what is wrong, where, and which names there are; never DuckDB's own kinds and excerpts."""
    with pytest.raises(BadQuery) as caught:
        answer(database, sql)
    assert re.search(said, caught.value.message, re.S)
    assert re.search(hint, caught.value.hint)
    assert not re.search(r"Error:|LINE \d|exception_", caught.value.message)
    assert "\n" not in caught.value.message


def test_timeout(database: Database) -> None:
    """A query that takes too long is stopped; the next one runs."""
    with pytest.raises(BadQuery, match=r"longer than 0\.2 s"):
        answer(database, ENDLESS, 0.2)
    assert answer(database, "SELECT 1") == [(1,)]


def test_timeout_is_for_the_query(database: Database) -> None:
    """A reader may take its time."""
    rows = database.query("SELECT x FROM range(6000) t(x)", 1.0).rows()
    assert next(rows) == (0,)
    time.sleep(1.1)
    assert sum(1 for _ in rows) == 5999


def test_memory(files: dict[str, list[Path]]) -> None:
    """A query that needs too much memory ends with an error that says so."""
    with of_files(files, "60MB") as database, pytest.raises(BadQuery, match="memory"):
        answer(database, "SELECT list(x) FROM range(100000000) t(x)")


def test_bad_memory() -> None:
    """A limit that is no size is refused."""
    with pytest.raises(BadQuery, match="memory limit"):
        Database("much")


def test_a_query_that_does_not_stop(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left alone after a while: what waits for it goes on."""
    monkeypatch.setattr("ctxkit.fleet.database.PATIENCE", 0.1)
    released = threading.Event()
    monkeypatch.setattr(database, "_work", lambda *_: released.wait(60))
    with pytest.raises(BadQuery, match="longer than"):
        answer(database, "SELECT 1", 0.1)
    database.close()
    assert not released.is_set()
    released.set()


@pytest.mark.parametrize(
    "value",
    [
        "TIMESTAMP 'infinity'",
        "DATE '-4000-01-01'",
        "TIMESTAMP_NS '2026-01-01 00:00:00.123456789'",
    ],
)
def test_values_that_python_lacks(value: str, database: Database) -> None:
    """A value out of range is an error that says what to do, and it works."""
    with pytest.raises(BadQuery, match="a value of x") as caught:
        answer(database, f"SELECT {value} AS x")
    assert caught.value.hint == "cast it: CAST(x AS VARCHAR)"
    assert answer(database, f"SELECT CAST({value} AS VARCHAR) AS x")


def test_interrupt(database: Database) -> None:
    """Ctrl-C ends a running query, and leaves no thread."""
    threads = threading.active_count()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        answer(database, ENDLESS)
    timer.join()
    assert threading.active_count() == threads
    assert answer(database, "SELECT 1") == [(1,)]


def test_left_early(files: dict[str, list[Path]]) -> None:
    """Who reads only the first rows of many leaves no thread."""
    threads = threading.active_count()
    with of_files(files) as database:
        rows = database.query("SELECT x FROM range(1000000000) t(x)").rows()
        assert next(rows) == (0,)
    assert threading.active_count() == threads


@pytest.mark.parametrize("damage", ["no Parquet", "empty", "cut", "page"])
def test_damaged_file(damage: str, tmp_path: Path, files: dict[str, list[Path]]) -> None:
    """A damaged file is named by a question that reads its table; the other tables are there."""
    bad, data = tmp_path / "bad.parquet", files["messages"][0].read_bytes()
    damages = {
        "no Parquet": b"nothing", "empty": b"", "cut": data[:-100], "page": data[:8] + bytes(300) + data[308:],
    }  # fmt: skip
    bad.write_bytes(damages[damage])
    with of_files({**files, "messages": [*files["messages"], bad]}) as database:
        with pytest.raises(ReadFailed, match=r"bad\.parquet: the dataset cannot be read: (Parquet|Couldn't)"):
            answer(database, "SELECT max(text), max(transcript_id), max(n) FROM messages")
        assert answer(database, "SELECT count(*) > 0 FROM transcripts") == [(True,)]


def test_a_column_of_another_type(tmp_path: Path, files: dict[str, list[Path]]) -> None:
    """A file whose column is of another type is converted, or named."""
    found, other = pq.read_table(files["messages"][0]), tmp_path / "other.parquet"
    for values, rows in ((["5"] * found.num_rows, [(5,)]), (["x"] * found.num_rows, None)):
        place = found.schema.get_field_index("tokens")
        pq.write_table(found.set_column(place, "tokens", [values]), other)
        with of_files({"messages": [other]}) as database:
            if rows is None:
                with pytest.raises(ReadFailed, match="the dataset cannot be read"):
                    answer(database, "SELECT DISTINCT tokens FROM messages")
            else:
                assert answer(database, "SELECT DISTINCT tokens FROM messages") == rows


def test_files_that_are_replaced(tmp_path: Path, files: dict[str, list[Path]]) -> None:
    """A question sees the files as they were when they were opened, also if an ingest replaces or removes them."""
    path = tmp_path / "a.parquet"
    shutil.copy(files["messages"][0], path)
    sql = "SELECT count(*), sum(length(text)), (SELECT count(*) FROM messages WHERE n > 2) FROM messages"
    with of_files({"messages": [path]}) as database:
        before = answer(database, sql)
        pq.write_table(pq.read_table(files["messages"][0]).slice(0, 2), tmp_path / "b.parquet")
        os.replace(tmp_path / "b.parquet", path)
        assert answer(database, sql) == before
        path.unlink()
        assert answer(database, sql) == before


def test_quotes_in_paths(tmp_path: Path, files: dict[str, list[Path]]) -> None:
    """A folder's name is a name, whatever is in it."""
    folder = tmp_path / "it's; DROP 'x' [*]?"
    folder.mkdir()
    path = folder / "a.parquet"
    path.write_bytes(files["messages"][0].read_bytes())
    with of_files({"messages": [path]}) as database:
        assert answer(database, "SELECT count(*) FROM messages") == [(pq.read_table(path).num_rows,)]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two sessions."""
    folder = tmp_path_factory.mktemp("logs")
    for seed in (1, 2):
        Plan(f"s{seed}", seed).talk(2, 4).write(folder)
    made = tmp_path_factory.mktemp("made") / "dataset"
    ingest([str(folder)], str(made), jobs=1)
    return made


def test_a_dataset(dataset: Path) -> None:
    """All its rows are there."""
    rows = sum(pq.read_table(path).num_rows for path in (dataset / "messages").rglob("*.parquet"))
    with Database.of_dataset(str(dataset)) as database:
        assert answer(database, "SELECT count(*) FROM messages") == [(rows,)]
        assert len(answer(database, "FROM transcripts")) == 2


def test_while_an_ingest_writes(tmp_path: Path) -> None:
    """Every question sees the rows as they were or as they are, never less or a part of them, and never an error."""
    folder, place = tmp_path / "logs", tmp_path / "dataset"
    folder.mkdir()
    plan = Plan("grows", 1).talk(2, 4)
    plan.write(folder)
    ingest([str(folder)], str(place), jobs=1)
    sizes, failed = [plan.n], list[BaseException]()

    def write() -> None:
        try:
            for _ in range(12):
                plan.talk(1, 3).write(folder)
                sizes.append(plan.n)
                ingest([str(folder)], str(place), jobs=1)
        except BaseException as error:
            failed.append(error)

    writer, seen = threading.Thread(target=write), list[int]()
    writer.start()
    while writer.is_alive() or not seen:
        with Database.of_dataset(str(place)) as database:
            [(rows, last, texts)] = answer(
                database, "SELECT count(*), max(n), (SELECT count(text) FROM messages) FROM messages"
            )
        assert rows == last == texts and rows in sizes
        seen.append(int(str(rows)))
    writer.join()
    assert not failed
    assert seen == sorted(seen)
    with Database.of_dataset(str(place)) as database:
        assert answer(database, "SELECT count(*) FROM messages") == [(sizes[-1],)]


def test_rows_that_count_no_more(tmp_path: Path) -> None:
    """A session that changed has its new rows alone, one that is gone has none, in tables and views; here and far."""
    folder, place = tmp_path / "logs", tmp_path / "dataset"
    folder.mkdir()
    plans = [Plan(f"s{seed}", seed).talk(2, 4) for seed in range(6)]
    paths = [plan.write(folder) for plan in plans]
    ingest([str(folder)], str(place))
    plans[0].talk(1, 3).write(folder)
    paths[1].unlink()
    ingest([str(folder)], str(place))
    wanted = [(plan.n,) for plan in sorted((plans[0], *plans[2:]), key=lambda plan: plan.n)]
    fsspec = pytest.importorskip("fsspec", reason="the extra `fleet` is not installed")
    fsspec.filesystem("memory").put(str(place), "/sets/changed", recursive=True)
    for at in (str(place), "memory://sets/changed"):
        with Database.of_dataset(at) as database:
            assert answer(database, "SELECT count(*) FROM messages GROUP BY transcript_id ORDER BY 1") == wanted
            assert answer(database, "SELECT count(*) FROM transcripts WHERE source_id = 's1'") == [(0,)]
            assert [name for name, *_ in answer(database, "DESCRIBE ops")] == [one.name for one in TABLES["ops"]]
            assert answer(database, "SELECT sum(results) > 0 FROM tools_by_use") == [(True,)]


def test_a_file_that_is_gone(dataset: Path, tmp_path: Path) -> None:
    """A dataset whose ledger names a file that somebody removed is damaged."""
    copy = tmp_path / "dataset"
    shutil.copytree(dataset, copy)
    for path in (copy / "messages").rglob("0*.parquet"):
        path.unlink()
    with pytest.raises(ReadFailed, match="cannot read"):
        Database.of_dataset(str(copy))


@pytest.mark.parametrize("whole", [False, True], ids=["file", "folder"])
def test_links_in_a_dataset(whole: bool, dataset: Path, tmp_path: Path) -> None:
    """What a link in it leads to is not read: neither a file of rows nor a folder of them."""
    copy = tmp_path / "dataset"
    shutil.copytree(dataset, copy)
    elsewhere = tmp_path / "elsewhere"
    shutil.move(copy / "messages", elsewhere)
    if whole:
        (copy / "messages").symlink_to(elsewhere)
    else:
        (copy / "messages").mkdir()
        for path in elsewhere.rglob("*.parquet"):
            link = copy / "messages" / path.relative_to(elsewhere)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path)
    with Database.of_dataset(str(copy)) as database:
        assert answer(database, "FROM messages") == []
        with pytest.raises(BadQuery):
            answer(database, f"SELECT * FROM read_parquet('{copy}/messages/{next(elsewhere.iterdir()).name}')")


def test_a_dataset_behind_a_url(dataset: Path) -> None:
    """The same rows, by fsspec; the views too."""
    fsspec = pytest.importorskip("fsspec", reason="the extra `fleet` is not installed")
    store = fsspec.filesystem("memory")
    for path in dataset.rglob("*"):
        if path.is_file():
            store.pipe_file(f"/sets/one/{path.relative_to(dataset)}", path.read_bytes())
    with Database.of_dataset("memory://sets/one") as far, Database.of_dataset(str(dataset)) as near:
        for sql in (
            "SELECT count(*) FROM messages",
            "FROM tools_by_use",
            "SELECT n FROM messages WHERE n < 3 ORDER BY n",
        ):
            assert answer(far, sql) == answer(near, sql)
        with pytest.raises(BadQuery):
            answer(far, "SELECT * FROM read_parquet('memory://sets/one/messages/x.parquet')")


def test_no_dataset(tmp_path: Path) -> None:
    """A place that is none is named."""
    with pytest.raises(NoSuchLog, match="no dataset"):
        Database.of_dataset(str(tmp_path / "none"))
    (tmp_path / "file").write_text("")
    with pytest.raises(BadDataset):
        Database.of_dataset(str(tmp_path))


def test_columns(database: Database) -> None:
    """Columns with the same name get names of their own."""
    result = database.query("SELECT 1 AS a, 2 AS a, 'x' AS b")
    assert [(one.name, one.type) for one in result.columns] == [("a", "INTEGER"), ("a_2", "INTEGER"), ("b", "VARCHAR")]
    assert list(result.rows()) == [(1, 2, "x")]


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_parquet(rows: int, database: Database) -> None:
    """The rows as Parquet are the same for pyarrow and DuckDB, types and all; also without a row."""
    sql = f"SELECT x, 'ä' || x AS name, x / 2 AS half, [x] AS list, NULL AS nothing FROM range({rows}) t(x)"
    data = b"".join(parquet(database.query(sql)))
    found = pq.read_table(io.BytesIO(data))
    assert found.column_names == ["x", "name", "half", "list", "nothing"]
    assert [tuple(one.values()) for one in found.to_pylist()] == answer(database, sql)


def test_parquet_by_duckdb(tmp_path: Path, database: Database) -> None:
    """DuckDB reads it as well, and the same query makes the same bytes."""
    path = tmp_path / "a.parquet"
    made = [b"".join(parquet(database.query("FROM largest_results"))) for _ in range(2)]
    path.write_bytes(made[0])
    assert made[0] == made[1]
    assert duckdb.connect().execute(f"FROM '{path}'").fetchall() == answer(database, "FROM largest_results")


def test_parquet_without_the_type(database: Database) -> None:
    """A type that Parquet does not have is an error that says what to do."""
    with pytest.raises(BadQuery, match="Parquet cannot hold"):
        b"".join(parquet(database.query("SELECT INTERVAL 1 DAY AS d")))
