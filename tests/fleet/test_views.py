"""The ready questions against answers that are worked out in Python from the plan of generated sessions."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctxkit.api.log import Log
from ctxkit.core.sets.ranges import Ranges
from ctxkit.fleet.rows import empty
from ctxkit.fleet.tables import TABLES, table
from ctxkit.fleet.views import VIEWS
from ctxkit.when import standard
from tests.fleet.planned import TOOLS, Plan, rows_of

duckdb = pytest.importorskip("duckdb", reason="the extra `fleet` is not installed")

from ctxkit.fleet.database import Database  # noqa: E402  # skipped without duckdb


class Answers(NamedTuple):
    """The plans of some sessions, the op of the one that was compacted, the tokens of messages, and the database."""

    plans: list[Plan]
    compact: dict[str, Any]
    compacted_at: int
    tokens: dict[tuple[str, int], int]
    in_context: dict[tuple[str, int], bool]
    database: Database

    def rows(self, view: str) -> list[dict[str, Any]]:
        """The rows of a view."""
        result = self.database.query(f"SELECT * FROM {view}")
        names = [column.name for column in result.columns]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in result.rows()]


def _plain(value: object) -> object:
    """A value of a result, times as ISO 8601."""
    return standard(value) if isinstance(value, datetime) else value


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Three sessions: one that was compacted and went on, one that was interrupted, one as usual; and no log."""
    folder = tmp_path_factory.mktemp("planned")
    plans = [Plan("one", 1).talk(3, 8), Plan("two", 2, interrupted=True).talk(2, 5), Plan("three", 3).talk(4, 3)]
    paths = [plan.write(folder) for plan in plans]
    before = plans[0].n
    Log.open(paths[0]).compact(list(range(2, before - 3)), summary="what was done", force=True)
    plans[0].talk(2, 8).write(folder)
    bad = folder / "bad.jsonl"
    bad.write_bytes(b"no log at all\n")
    found = empty()
    for path in [*paths, bad]:
        for name, some in rows_of(path).items():
            found[name] += some
    [compact] = [json.loads(line) for line in (folder / "one.jsonl.ctxkit/ops.jsonl").read_bytes().splitlines()]
    names = {row["transcript_id"]: row["source_id"] for row in found["transcripts"]}
    numbered = [(names[row["transcript_id"]], row["n"], row) for row in found["messages"] if row["n"]]
    with Database.of_tables({name: table(name, found[name]) for name in TABLES}) as database:
        yield Answers(
            plans, compact, before, {(name, n): row["tokens"] for name, n, row in numbered},
            {(name, n): row["in_context"] for name, n, row in numbered}, database,
        )  # fmt: skip


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_declared(view: Any, known: Answers) -> None:
    """A view has the columns that it declares, each with a meaning, and an order that ends in what tells rows apart."""
    result = known.database.query(f"SELECT * FROM {view.name}")
    assert [column.name for column in result.columns] == [column.name for column in view.columns]
    assert all(column.meaning for column in view.columns)
    assert view.meaning.endswith((".", "?"))
    assert re.search(r"ORDER BY [^()]+$", view.sql)
    assert not any("HUGEINT" in column.type or "DECIMAL" in column.type for column in result.columns)


@pytest.mark.parametrize("name", VIEWS)
def test_the_same_each_time(name: str, known: Answers) -> None:
    """The rows and their order are the same in every run."""
    assert known.rows(name) == known.rows(name)


@pytest.mark.parametrize("name", VIEWS)
def test_of_nothing(name: str) -> None:
    """No log, no row."""
    with Database.of_tables({}) as database:
        assert list(database.query(f"SELECT * FROM {name}").rows()) == []


def test_largest_results(known: Answers) -> None:
    """Every result of a tool, the one with the most tokens first."""
    expected = [
        (plan.name, step.n + 1, step.tool, known.tokens[plan.name, step.n + 1], known.in_context[plan.name, step.n + 1])
        for plan in known.plans for step in plan.steps
    ]  # fmt: skip
    found = known.rows("largest_results")
    rows = [(row["session"], row["n"], row["tool"], row["tokens"], row["in_context"]) for row in found]
    assert sorted(rows) == sorted(expected)
    assert [row[3] for row in rows] == sorted((row[3] for row in rows), reverse=True)
    sizes = {(plan.name, step.n + 1): step.size for plan in known.plans for step in plan.steps}
    assert all(row["bytes"] > 5 * sizes[row["session"], row["n"]] for row in found)


def test_files_edited(known: Answers) -> None:
    """Files that were changed, by the number of changes."""
    changes, reads, sessions = Counter[str](), Counter[str](), defaultdict(set)
    how, last = defaultdict(set), defaultdict(str)
    for plan in known.plans:
        changed = {step.path for step in plan.steps if step.tool in ("Edit", "Write")}
        times = {request.n: request.at for request in plan.requests}
        for step in plan.steps:
            if step.path is None or step.path not in changed:
                continue
            if step.tool == "Read":
                reads[step.path] += 1
                continue
            changes[step.path] += 1
            sessions[step.path].add(plan.name)
            how[step.path].add(TOOLS[step.tool])
            last[step.path] = max(last[step.path], times[step.n].strftime("%Y-%m-%dT%H:%M:%SZ"))
    expected = [
        {
            "path": path, "sessions": len(sessions[path]), "changes": changes[path], "how": ",".join(sorted(how[path])),
            "reads": reads[path], "last": last[path],
        }
        for path in sorted(changes, key=lambda path: (-changes[path], path))
    ]  # fmt: skip
    assert known.rows("files_edited") == expected


def test_compactions(known: Answers) -> None:
    """The op that was appended, with its figures."""
    [row] = known.rows("compactions")
    before, after = known.compact["before"]["tokens"], known.compact["after"]["tokens"]
    assert (row["session"], row["made_by"], row["op"], row["n"]) == ("one", "ctxkit", 1, known.compacted_at)
    assert (row["before_tokens"], row["after_tokens"]) == (before, after)
    assert row["saved"] == pytest.approx(1 - after / before, abs=0.001)


def test_lost_after_compaction(known: Answers) -> None:
    """Calls that the compaction took out, whose file a later call touched."""
    plan = known.plans[0]
    gone = set(Ranges.parse(known.compact["ids"]))
    expected = []
    for step in plan.steps:
        again = [one for one in plan.steps if one.n > known.compacted_at and one.path == step.path]
        if step.n in gone and step.path is not None and again:
            tokens = known.tokens["one", step.n] + known.tokens["one", step.n + 1]
            expected.append((step.n, step.path, again[0].n, TOOLS[again[0].tool], tokens))
    found = known.rows("lost_after_compaction")
    rows = [(row["n"], row["path"], row["again_n"], row["again"], row["tokens"]) for row in found]
    assert len(expected) > 5
    assert sorted(rows) == sorted(expected)
    assert {(row["session"], row["op"], row["compacted_at"]) for row in found} == {("one", 1, known.compacted_at)}


def test_cost_by_model(known: Answers) -> None:
    """Sums of what the plan counted. No cost is recorded, so none is shown."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    sessions = defaultdict(set)
    for plan in known.plans:
        for one in plan.requests:
            values = (1, one.input, one.cached, one.written, one.output)
            sums[one.model] = [a + b for a, b in zip(sums[one.model], values, strict=True)]
            sessions[one.model].add(plan.name)
    expected = [
        (model, len(sessions[model]), *sums[model], None) for model in sorted(sums, key=lambda model: -sums[model][1])
    ]
    assert [tuple(row.values()) for row in known.rows("cost_by_model")] == expected


def test_errors_by_tool(known: Answers) -> None:
    """Results and errors of each tool."""
    results, errors, sessions = Counter[str](), Counter[str](), defaultdict(set)
    for plan in known.plans:
        for step in plan.steps:
            results[step.tool] += 1
            if step.error:
                errors[step.tool] += 1
                sessions[step.tool].add(plan.name)
    expected = [
        (tool, results[tool], errors[tool], pytest.approx(errors[tool] / results[tool], abs=0.001), len(sessions[tool]))
        for tool in sorted(results, key=lambda tool: (-errors[tool], -results[tool], tool))
    ]
    assert sum(errors.values()) > 3
    assert [tuple(row.values()) for row in known.rows("errors_by_tool")] == expected


def test_abnormal_ends(known: Answers) -> None:
    """The session without a last answer, and the file that is no log."""
    found = {row["session"]: row for row in known.rows("abnormal_ends")}
    assert {name: row["ended"] for name, row in found.items()} == {"two": "interrupted", "bad": "unreadable"}
    assert found["two"]["messages"] == known.plans[1].n
    assert found["two"]["last"] == known.plans[1].now.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert "not a log" in found["bad"]["error"]


def test_cache_misses(known: Answers) -> None:
    """Requests with less than half from the cache of what the one before them had sent."""
    expected = []
    for plan in known.plans:
        for before, one in zip(plan.requests, plan.requests[1:], strict=False):
            if one.cached < min(before.input, one.input) / 2:
                seconds = (one.at - before.at).total_seconds()
                compacted = plan.name == "one" and before.n <= known.compacted_at < one.n
                expected.append((plan.name, one.n, one.cached, before.input - one.cached, seconds, compacted))
    found = known.rows("cache_misses")
    names = ("session", "n", "cached", "missed", "seconds", "compacted")
    assert len(expected) > 5
    assert sorted(tuple(row[name] for name in names) for row in found) == sorted(expected)
    assert [row["missed"] for row in found] == sorted((row["missed"] for row in found), reverse=True)


def test_tokens_by_day(known: Answers) -> None:
    """Sums of each day in UTC; the sessions go on past midnight."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * 4)
    sessions = defaultdict(set)
    for plan in known.plans:
        for one in plan.requests:
            day = one.at.strftime("%Y-%m-%d")
            values = (1, one.input, one.cached, one.output)
            sums[day] = [a + b for a, b in zip(sums[day], values, strict=True)]
            sessions[day].add(plan.name)
    expected = [(day, len(sessions[day]), *sums[day], None) for day in sorted(sums)]
    assert max(map(len, sessions.values())) > 1
    assert [tuple(row.values()) for row in known.rows("tokens_by_day")] == expected


def test_copied_history_counts_once(tmp_path: Path) -> None:
    """A fork holds its parent's replies: the same message, time and counts are one request."""

    def reply(session: str, name: str, second: int, tokens: int) -> dict[str, Any]:
        used = {"input_tokens": tokens, "cache_read_input_tokens": 0, "output_tokens": 10}
        said = {"id": name, "role": "assistant", "model": "claude-opus-4-6", "content": [], "usage": used}
        said["content"] = [{"type": "text", "text": name}]
        return {"type": "assistant", "uuid": f"{session}{name}", "parentUuid": None, "sessionId": session,
                "timestamp": f"2026-10-02T09:00:{second:02}.000Z", "message": said}  # fmt: skip

    shared = [("m1", 2, 1_000), ("m2", 4, 2_000)]
    rows = {"parent": shared, "fork": [*shared, ("m3", 6, 3_000)]}
    found = empty()
    for session, replies in rows.items():
        log = tmp_path / f"{session}.jsonl"
        log.write_text("".join(json.dumps(reply(session, *one)) + "\n" for one in replies))
        for name, some in rows_of(log).items():
            found[name] += some
    with Database.of_tables({name: table(name, found[name]) for name in TABLES}) as database:
        for view in ("tokens_by_day", "cost_by_model"):
            [counted] = database.query(f"SELECT requests, input FROM {view}").rows()
            assert counted == (3, 6_000), view


def test_slowest_turns(known: Answers) -> None:
    """Seconds from what was asked to the last message of the turn."""
    expected = [
        (plan.name, turn.n, (turn.ended - turn.began).total_seconds(), turn.messages, turn.calls,
         turn.asked.replace("\n", " "))
        for plan in known.plans for turn in plan.turns
    ]  # fmt: skip
    found = known.rows("slowest_turns")
    assert sorted(tuple(row.values())[:-1] for row in found) == sorted(expected)
    assert [row["seconds"] for row in found] == sorted((row["seconds"] for row in found), reverse=True)


def test_repeated_reads(known: Answers) -> None:
    """Files that one session read more than once, with the parts, and the tokens of the results."""
    expected = []
    for plan in known.plans:
        for path in {step.path for step in plan.steps if step.tool == "Read"}:
            reads = [step for step in plan.steps if step.tool == "Read" and step.path == path]
            if len(reads) > 1:
                tokens = sum(known.tokens[plan.name, step.n + 1] for step in reads)
                expected.append((plan.name, path, len(reads), len({step.part for step in reads}), tokens))
    found = known.rows("repeated_reads")
    rows = [(row["session"], row["path"], row["reads"], row["parts"], row["tokens"]) for row in found]
    assert len(expected) > 3
    assert sorted(rows) == sorted(expected)
    assert all(0 <= row["outdated_in_context"] <= row["outdated"] <= row["reads"] for row in found)


def test_tools_by_use(known: Answers) -> None:
    """Tokens of the results of each tool, and those that are in contexts."""
    tokens, results, inside, largest = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    sessions = defaultdict(set)
    for plan in known.plans:
        for step in plan.steps:
            size = known.tokens[plan.name, step.n + 1]
            tokens[step.tool] += size
            results[step.tool] += 1
            inside[step.tool] += size * known.in_context[plan.name, step.n + 1]
            largest[step.tool] = max(largest[step.tool], size)
            sessions[step.tool].add(plan.name)
    share = pytest.approx
    expected = [
        (tool, len(sessions[tool]), results[tool], tokens[tool],
         share(tokens[tool] / sum(tokens.values()), abs=0.001), largest[tool], inside[tool])
        for tool in sorted(tokens, key=lambda tool: (-tokens[tool], tool))
    ]  # fmt: skip
    assert [tuple(row.values()) for row in known.rows("tools_by_use")] == expected
