"""The ready questions against what a few lines of Python count in the rows that the programs wrote."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.fleet.tables import TABLES, table
from tests.fleet.planned import Plan, rows_of
from tests.fleet.raw_figures import EDITS, READERS, RawFigures
from tests.shared import transcripts

pytest.importorskip("duckdb", reason="the extra `fleet` is not installed")

from ctxkit.fleet.database import Database  # skipped without duckdb

REAL = [path for name in READERS for path in transcripts(name, under=2_600_000)]
NO_CUT = {"01-omp-1M-ctx-compact-591tools", "02-omp-compact-524tools"}
"""Sessions that begin with a compaction: nothing before it is in the file, so it takes nothing out, and is no op."""


def codex(path: Path) -> Path:
    """A session of Codex: three requests, one told twice, a compaction, a command that fails, a call that is open."""

    def count(input: int, cached: int, output: int, total: int) -> dict[str, Any]:
        one = {"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output, "total_tokens": total}
        info = {"last_token_usage": one, "total_token_usage": {"input_tokens": total}, "model_context_window": 99_000}
        return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}

    def call(id: str, name: str) -> dict[str, Any]:
        return {"type": "response_item", "payload": {"type": "function_call", "name": name, "call_id": id,
                                                     "arguments": '{"cmd": "make"}'}}  # fmt: skip

    def result(id: str, code: int) -> dict[str, Any]:
        text = f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\nmade\n"
        return {"type": "response_item", "payload": {"type": "function_call_output", "call_id": id, "output": text}}

    asked = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "make it"}]}}  # fmt: skip
    kept = {"type": "compacted", "payload": {"message": "", "replacement_history": [asked["payload"]]}}
    rows = [
        {"type": "session_meta", "payload": {"id": "0", "timestamp": "2026-02-01T10:00:00Z", "cwd": "/"}},
        {"type": "turn_context", "payload": {"model": "gpt-5.5"}}, asked, call("a", "exec_command"),
        count(1000, 0, 20, 1020), result("a", 2), call("b", "exec_command"), result("b", 0),
        count(2000, 1000, 30, 3050), kept, call("c", "exec_command"), count(2000, 1000, 30, 3050), result("c", 0),
        call("d", "exec_command"),
        count(900, 0, 10, 3960),
    ]  # fmt: skip
    stamped = ({"timestamp": f"2026-02-0{1 + n // 9}T10:00:{n:02}.000Z"} | row for n, row in enumerate(rows))
    path.write_text("".join(json.dumps(row) + "\n" for row in stamped))
    return path


def pi(path: Path) -> Path:
    """A session of pi with costs, a failed command and an edit."""

    def answer(n: int, *calls: tuple[str, dict[str, str]]) -> dict[str, Any]:
        usage = {"input": 3 * n, "output": 40 + n, "cacheRead": 100 * n, "cacheWrite": 7, "cost": {"total": 0.01 * n}}
        content = [{"type": "toolCall", "id": f"c{n}{k}", "name": name, "arguments": arguments}
                   for k, (name, arguments) in enumerate(calls)]  # fmt: skip
        return {"role": "assistant", "provider": "anthropic", "model": "claude-sonnet-4-5", "usage": usage,
                "stopReason": "toolUse", "content": [{"type": "text", "text": "so"}, *content]}  # fmt: skip

    def result(id: str, name: str, *, failed: bool) -> dict[str, Any]:
        return {"role": "toolResult", "toolCallId": id, "toolName": name, "isError": failed,
                "content": [{"type": "text", "text": "done" * 9}]}  # fmt: skip

    edit = {"path": "/shop/cart.py", "oldText": "a", "newText": "b"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "mend it"}]},
        answer(1, ("bash", {"command": "make"}), ("read", {"path": "/shop/cart.py"})),
        result("c10", "bash", failed=True), result("c11", "read", failed=False),
        answer(2, ("edit", edit)), result("c20", "edit", failed=False), answer(3),
    ]  # fmt: skip
    rows = [
        {"type": "session", "id": "p", "timestamp": "2026-02-01T10:00:00.000Z", "cwd": "/shop"},
        *({"type": "message", "timestamp": f"2026-02-0{1 + n // 4}T10:00:{n:02}.000Z", "message": one}
          for n, one in enumerate(messages)),
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def claude_code(path: Path) -> Path:
    """A session of Claude Code, as in `test_views.py`."""
    return Plan(path.stem, 5, interrupted=True).talk(3, 6).write(path.parent)


MADE = {"claude-code": claude_code, "codex": codex, "pi": pi}


def asked(database: Database, sql: str) -> Iterator[dict[str, Any]]:
    """The rows of a question."""
    result = database.query(sql)
    names = [column.name for column in result.columns]
    return (dict(zip(names, row, strict=True)) for row in result.rows())


def compare(path: Path, raw: RawFigures) -> None:
    """Every figure that both have."""
    found = rows_of(path)
    with Database.of_tables({name: table(name, found[name]) for name in TABLES}) as database:
        use = {row["tool"]: row["results"] for row in asked(database, "FROM tools_by_use")}
        assert use == dict(raw.results)
        largest = Counter(row["tool"] for row in asked(database, "FROM largest_results"))
        assert largest == raw.results
        failed = {row["tool"]: row["errors"] for row in asked(database, "FROM errors_by_tool")}
        assert {tool: n for tool, n in failed.items() if n} == {tool: n for tool, n in raw.errors.items() if n}

        models, days = defaultdict(Counter), defaultdict(Counter)  # type: ignore[var-annotated]
        for one in raw.requests:
            if one.input:  # pi notes an answer that was cut off with zeros
                models[one.model] += Counter(
                    requests=1, input=one.input, cached=one.cached, cache_write=one.written, output=one.output
                )
                days[one.day] += Counter(requests=1, input=one.input, cached=one.cached, output=one.output)
        for row in asked(database, "FROM cost_by_model"):
            assert {name: row[name] for name in models[row["model"]]} == dict(models.pop(row["model"]))
            known = [one.cost for one in raw.requests if one.model == row["model"] and one.cost is not None]
            assert row["cost"] == (pytest.approx(sum(known), abs=1e-6) if known else None)
        for row in asked(database, "FROM tokens_by_day"):
            assert {name: row[name] for name in days[row["day"]]} == dict(days.pop(row["day"]))
        assert not models and not days

        sql = "SELECT path, count(*) AS n FROM files JOIN messages USING (transcript_id, n) WHERE touched <> 'read' "
        names = ", ".join(f"'{name}'" for name in sorted(EDITS))
        changed = {
            row["path"]: row["n"]
            for row in asked(database, f"{sql} AND list_has_any(split(tool, ','), [{names}]) GROUP BY path")
        }
        if path.parent.name != "codex":  # it changes files by patches and commands
            assert changed == dict(raw.changed)
            edited = {row["path"]: row["changes"] for row in asked(database, "FROM files_edited")}
            assert all(edited[name] >= n for name, n in raw.changed.items())

        before = [row["before_tokens"] for row in asked(database, "FROM compactions ORDER BY n")]
        assert before == ([] if path.stem in NO_CUT else raw.compactions)
        ends = [row["ended"] for row in asked(database, "FROM abnormal_ends")]
        assert len(ends) <= 1
        assert ends != ["unreadable"]


@pytest.mark.parametrize("name", MADE)
def test_made(name: str, tmp_path: Path) -> None:
    """A small session of each program."""
    (tmp_path / name).mkdir()
    path = MADE[name](tmp_path / name / "session.jsonl")
    raw = READERS[name](path)
    assert sum(raw.errors.values()) and raw.requests and len(raw.results) >= 1
    compare(path, raw)


def test_a_count_that_is_told_twice(tmp_path: Path) -> None:
    """Codex repeats the count of the request before when a turn ends early: it is one request."""
    found = rows_of(codex(tmp_path / "session.jsonl"))
    assert [(one["input"], one["output"]) for one in found["requests"]] == [(1000, 20), (2000, 30), (900, 10)]


def test_a_reply_in_parts(tmp_path: Path) -> None:
    """Claude Code may write a result between two rows of one reply: both have its usage, which is one request."""
    path = claude_code(tmp_path / "session.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    k = next(n for n, row in enumerate(rows) if row["type"] == "assistant")
    part = {"type": "text", "text": "and so on"}
    message = rows[k]["message"] | {"content": [part], "usage": rows[k]["message"]["usage"] | {"output_tokens": 999}}
    again = rows[k] | {"uuid": "again", "parentUuid": rows[k + 1]["uuid"], "message": message}
    rows[k + 2]["parentUuid"] = "again"
    rows.insert(k + 2, again)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    requests = rows_of(path)["requests"]
    assert (requests[0]["n"], requests[0]["output"]) == (k + 1, 999)
    assert 999 not in [one["output"] for one in requests[1:]]
    compare(path, READERS["claude-code"](path))


@pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_real(path: Path) -> None:
    """Sessions of people."""
    compare(path, READERS[path.parent.name](path))
