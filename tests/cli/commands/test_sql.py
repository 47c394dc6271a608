"""ctxkit sql: questions about logs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ctxkit.fleet.tables import TABLES
from ctxkit.fleet.views import VIEWS
from ctxkit.settings.config import load
from tests.cli.runner import FOREIGN, PYTHON, SMALL, ctxkit, good, process, shell, small
from tests.shared import transcripts

pytest.importorskip("duckdb", reason="the extra `fleet` is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="the extra `fleet` is not installed")


def test_a_question(tmp_path: Path) -> None:
    """Lines with tabs, a head, and the number of rows as a report."""
    ran = good("sql", small(tmp_path), "select role, count(*) as n from messages group by role order by role")
    assert ran.text == "role\tn\nassistant\t5\nsystem\t1\ntool\t2\nuser\t3\n"
    assert ran.err == "4 rows\n"
    assert good("sql", tmp_path / "chat.jsonl", "from ops", "-q").err == ""


def test_several_logs_and_folders(tmp_path: Path) -> None:
    """All words before the query are logs or folders."""
    path = small(tmp_path)
    (tmp_path / "below").mkdir()
    (tmp_path / "below/session.jsonl").write_bytes(FOREIGN)
    sql = "select source_type, message_count from transcripts order by 2"
    both = [{"source_type": "claude-code", "message_count": 3}, {"source_type": "chat", "message_count": 11}]
    assert good("sql", path, tmp_path / "below", sql, "--json").values == both
    assert good("sql", tmp_path, sql, "--json").values == both


def test_ops_count(tmp_path: Path) -> None:
    """What an op took out is out of the context here, too."""
    path = small(tmp_path)
    good("forget", path, "2")
    sql = "select n, out_kind, out_by_op from messages where not in_context"
    assert good("sql", path, sql, "--json").values == [{"n": 2, "out_kind": "forget", "out_by_op": 1}]


def test_standard_input() -> None:
    """`-` is a log there."""
    assert good("sql", "-", "select count(*) as n from messages", "--json", stdin=SMALL).values == [{"n": 11}]


def test_query_in_a_file(tmp_path: Path) -> None:
    """The words are all logs then."""
    path, query = small(tmp_path), tmp_path / "q.sql"
    query.write_text("select count(*) as n\nfrom messages;\n")
    assert good("sql", path, "--query", query, "--json").values == [{"n": 11}]
    assert good("sql", path, "--query", "-", "--json", stdin=query.read_bytes()).values == [{"n": 11}]
    assert ctxkit("sql", "-", "--query", "-", stdin=b"select 1").code == 2


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [*VIEWS, *TABLES])
def test_a_name_alone(name: str, tmp_path: Path) -> None:
    """A view or a table can be asked by its name; `select *` gives the same."""
    path = small(tmp_path)
    assert good("sql", path, name).out == good("sql", path, f"select * from {name}").out


def test_forms(tmp_path: Path) -> None:
    """CSV, a table in a pipe, files; a file that exists is not replaced."""
    path, sql = small(tmp_path), "select n, role from messages where n < 3 order by n"
    assert good("sql", path, sql, "--csv").text == "n,role\n1,system\n2,user\n"
    assert good("sql", path, sql, "--table").text == "n  role\n1  system\n2  user\n"
    out = tmp_path / "out.csv"
    assert good("sql", path, sql, "-o", out).err == f"2 rows written to {out}\n"
    assert out.read_text() == "n,role\n1,system\n2,user\n"
    refused = ctxkit("sql", path, sql, "-o", out)
    assert refused.code == 73 and "exists already" in refused.err
    good("sql", path, sql, "--parquet", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [{"n": 1, "role": "system"}, {"n": 2, "role": "user"}]


def test_an_error_leaves_no_file(tmp_path: Path) -> None:
    """A query that fails while its rows are written leaves none of them."""
    path, out = small(tmp_path), tmp_path / "out.csv"
    ran = ctxkit("sql", path, "select error('late') from range(5000) t(x) where x > 4000", "-o", out)
    assert ran.code == 2 and "late" in ran.err
    assert not out.exists()


def test_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table, cut to the width, and hostile text in it harmless."""
    monkeypatch.setenv("COLUMNS", "40")
    path = tmp_path / "chat.jsonl"
    path.write_text(json.dumps({"role": "user", "content": "\x1b]0;x\x07" + "word " * 50}) + "\n")
    ran = ctxkit("sql", path, "select n, text from messages", screen=True)
    lines = ran.text.splitlines()
    assert len(lines) == 2 and "\x1b]" not in ran.text and "…" in lines[1]


def test_hostile_names_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of columns and tools, and what an error repeats of the query, have no effect there in any form."""
    monkeypatch.setenv("COLUMNS", "60")
    path, hostile = tmp_path / "chat.jsonl", "\x1b]0;own\x07\x1b[2J\u202e\r\n"
    call = {"id": "c1", "type": "function", "function": {"name": hostile, "arguments": "{}"}}
    rows = [
        {"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": hostile},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = ("from tools_by_use", f'select text as "{hostile}" from messages', f'select "{hostile}" from messages',
               f"select error('{hostile}')")  # fmt: skip
    for query in queries:
        for form in ([], ["--csv"], ["--json"], ["--table"]):
            ran = ctxkit("sql", path, query, *form, screen=True)
            seen = re.sub(r"\x1b\[\d*m", "", ran.text + ran.err)  # the head is dim
            assert seen and not set(seen) & set("\x1b\x07\u202e\r"), (query, form)


def test_wide_text_lines_up(tmp_path: Path) -> None:
    """Characters of two cells and none are counted as the terminal does."""
    sql = "select * from (values ('日本語', 1), ('e\u0301', 20), (null, 300)) t(name, n)"
    assert (
        good("sql", small(tmp_path), sql, "--table").text
        == "name      n\n日本語    1\ne\u0301        20\n        300\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("select 1",), 2, "no log was named"),
        (("{log}",), 2, "no query"),
        (("{log}", "select fo from messages"), 2, "messages has transcript_id"),
        (("{log}", "select * from read_text('/etc/passwd')"), 2, "not one of the tables"),
        (("{log}", "copy messages to 'x'"), 2, "does not only read"),
        (("{log}", "select 1", "--json", "--csv"), 2, "two forms"),
        (("{log}", "select 1", "--timeout", "soon"), 2, "soon"),
        (("{log}", "select 1", "--from", "nothing"), 2, "nothing"),
        (("none.jsonl", "select 1"), 66, "none.jsonl"),
        (("--views", "--schema"), 2, "two lists"),
        (("--schema", "nothing"), 2, "there is no table or view 'nothing'"),
    ],
)
def test_refused(words: tuple[str, ...], code: int, said: str, tmp_path: Path) -> None:
    """What cannot be asked is said, with the names that there are; nothing is printed."""
    log = small(tmp_path)
    ran = ctxkit("sql", *(word.format(log=log) if word == "{log}" else word for word in words))
    assert (ran.code, ran.out) == (code, b"")
    assert said in ran.err


def test_a_log_that_cannot_be_read(tmp_path: Path) -> None:
    """It is a warning and a row; named itself, it decides the exit code; the others are there."""
    bad = tmp_path / "bad.txt"
    bad.write_text("no log\n")
    ran = ctxkit(
        "sql", small(tmp_path), bad, "select source_id, error is null as sound from transcripts order by 1", "--csv"
    )
    assert (ran.code, ran.text) == (65, "source_id,sound\nbad,false\nchat,true\n")
    assert "not a log" in ran.err
    assert ctxkit("sql", tmp_path, "from transcripts").code == 0


def test_timeout(tmp_path: Path) -> None:
    """A query that takes too long ends."""
    sql = "select count(*) from range(1000000000) a(x), range(1000) b(y) where x * y % 7 = 3"
    ran = ctxkit("sql", small(tmp_path), sql, "--timeout", "1s")
    assert ran.code == 2 and "longer than 1 s" in ran.err


def test_timeout_of_printing(tmp_path: Path) -> None:
    """One that has its rows at once, and prints them for minutes, ends too; so does it without a word about time."""
    assert load(None, None, {}, None)["sql.timeout"]
    ran = ctxkit("sql", small(tmp_path), "select x from range(1000000000) t(x)", "--timeout", "1s")
    assert ran.code == 2 and "longer than 1 s" in ran.err


def test_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The config says how much memory a query may take."""
    monkeypatch.setenv("CTXKIT_SQL_MEMORY_LIMIT", "60MB")
    ran = ctxkit("sql", small(tmp_path), "select list(x) from range(100000000) t(x)")
    assert ran.code == 2 and "memory" in ran.err
    monkeypatch.setenv("CTXKIT_SQL_MEMORY_LIMIT", "lots")
    assert ctxkit("sql", tmp_path / "chat.jsonl", "select 1").code == 78


def test_memory_that_duckdb_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of 32 GB within one row ends the query, and not the machine."""
    monkeypatch.setenv("CTXKIT_SQL_MEMORY_LIMIT", "100MB")
    ran = process("sql", small(tmp_path), "select len(range(4000000000))")
    assert ran.code == 2 and "more memory than it may use" in ran.err and "Traceback" not in ran.err


def test_ctrl_c(tmp_path: Path) -> None:
    """It ends a running query: 130, and no traceback."""
    sql = "select count(*) from range(1000000000) a(x), range(1000) b(y) where x * y % 7 = 3"
    with subprocess.Popen(
        [*PYTHON, "sql", str(small(tmp_path)), sql], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        task = Path(f"/proc/{running.pid}/maps")
        deadline = time.monotonic() + 60
        while "duckdb" not in task.read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in err and "terminate" not in err


def test_a_closed_pipe(tmp_path: Path) -> None:
    """A reader that leaves ends it: no error is printed."""
    small(tmp_path)
    ran = shell(
        "ctxkit sql chat.jsonl 'select x from range(100000000) t(x)' | head -1; echo ${PIPESTATUS[0]}", tmp_path
    )
    assert ran.text == "x\n141\n"
    assert ran.err == ""


def test_views_listed() -> None:
    """Twelve ready questions, each with its meaning and SQL; or those that are named."""
    text = good("sql", "--views").text
    assert all(name in text for name in VIEWS) and len(VIEWS) == 12
    assert good("sql", "--views", "compactions").text.startswith("compactions\n")
    [one] = good("sql", "--views", "compactions", "--json").values
    assert one == {
        "view": "compactions", "meaning": VIEWS["compactions"].meaning, "sql": VIEWS["compactions"].sql,
        "columns": {column.name: column.meaning for column in VIEWS["compactions"].columns},
    }  # fmt: skip


def test_schema_listed() -> None:
    """The columns of the tables, or of those that are named, also of views."""
    values = good("sql", "--schema", "--json").values
    assert [(one["table"], one["column"]) for one in values] == [
        (table, column.name) for table, columns in TABLES.items() for column in columns
    ]
    assert good("sql", "--schema", "compactions").text.startswith("compactions\n  session: ")


def test_a_dataset_as_a_log(tmp_path: Path) -> None:
    """A dataset has no logs: it is refused, with the command that asks it; a folder above it is asked as ever."""
    path, dataset = small(tmp_path), tmp_path / "a dataset"
    good("fleet", "ingest", path, "-o", dataset, "-q", "--jobs", "1")
    for words in ((dataset,), (path, dataset)):
        ran = ctxkit("sql", *words, "cost_by_model")
        assert (ran.code, ran.out) == (2, b"")
        assert f"{dataset} is a dataset: nothing was asked" in ran.err
        assert f"ctxkit fleet sql --dataset '{dataset}' 'select …'" in ran.err
    assert good("sql", tmp_path, "select count(*) as n from messages", "--json").values == [{"n": 11}]


def test_a_dataset(tmp_path: Path) -> None:
    """`fleet sql` asks a dataset, with the same answers as the logs themselves."""
    path, dataset = small(tmp_path), tmp_path / "dataset"
    good("fleet", "ingest", path, "-o", dataset, "-q", "--jobs", "1")
    for words in (["tools_by_use"], ["select n, role from messages order by n", "--json"], ["compactions", "--csv"]):
        assert good("fleet", "sql", "--dataset", dataset, *words).out == good("sql", path, *words).out
    good("fleet", "sql", "--dataset", dataset, "from ops", "-o", tmp_path / "ops.parquet")
    assert pq.read_table(tmp_path / "ops.parquet").num_rows == 0
    assert good("fleet", "sql", "--views").out == good("sql", "--views").out
    assert good("fleet", "sql", "--schema", "ops").out == good("sql", "--schema", "ops").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("select 1 ",), 2, "which dataset"),
        (("--dataset", "none", "select 1 "), 66, "no dataset"),
        (("--dataset", "none"), 2, "no query"),
        (("--dataset", "none", "x.jsonl", "select 1 "), 2, "one word too many"),
        (("--dataset", "none", "select 1", "--redact"), 2, "ctxkit fleet ingest LOG... -o NEW --redact"),
    ],
)
def test_refused_of_a_dataset(words: tuple[str, ...], code: int, said: str) -> None:
    """What is missing or too much is said."""
    ran = ctxkit("fleet", "sql", *words)
    assert (ran.code, ran.out) == (code, b"")
    assert said in ran.err


def test_without_the_extra(tmp_path: Path) -> None:
    """The error names what to install."""
    small(tmp_path)
    for library in ("duckdb", "pyarrow"):
        blocked = tmp_path / library
        blocked.mkdir()
        (blocked / f"{library}.py").write_text("raise ImportError\n")
        env = {"PYTHONPATH": str(blocked)}
        ran = process("sql", tmp_path / "chat.jsonl", "select 1", env=env)
        assert ran.code == 2 and library in ran.err and "pip install 'ctxkit-cli[fleet]'" in ran.err
        assert process("sql", "--views", env=env).code == 0


@pytest.mark.parametrize(
    "path", transcripts("claude-code", "codex", "pi", under=400_000)[::4], ids=lambda path: path.name
)
def test_real_sessions_as_other_commands_see_them(path: Path) -> None:
    """Messages, context, errors and compactions are those of `status`, `show --tools` and `log`."""
    [told] = good("status", path, "--json", "--no-assembly", "-q").values
    sql = "select message_count, ctxkit_in_context, ctxkit_tokens, ctxkit_compactions from transcripts"
    [row] = good("sql", path, sql, "--json").values
    assert row["ctxkit_tokens"] == told["tokens"]["used"]
    [seen] = good("sql", path, "select count(*) as n from compactions", "--json").values
    assert seen["n"] == row["ctxkit_compactions"]
    uses = good("show", path, "--tools", "--json", "-q").values
    sql = "select tool, errors from errors_by_tool where errors > 0"
    failed = {one["tool"] for one in uses if one["status"] == "failed" or one["exit"] not in (None, 0)}
    assert failed <= {one["tool"] for one in good("sql", path, sql, "--json").values}
