"""Chains of compactions: what stays over many rounds, and that nothing changes where nothing is new."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.messages import Content
from ctxkit.errors import NothingChanges
from tests.bench.compaction import made
from tests.bench.compaction.cases import contents, read, tokens
from tests.bench.compaction.chains import ENVIRONMENT, SHARE, WAYS, Chain, by_ops, newest, of_itself, parts, size, table
from tests.bench.compaction.honest import facts, kept, said, whole
from tests.bench.compaction.sessions import Record

ROWS = [row for row in made.session(3, "quarry") if row["role"] != "system"]
ALL = sum((f for f in facts(said(contents(read(ROWS)))).values()), list[str]())


def facts_in(some: list[Content]) -> int:
    """Of all facts of the session."""
    return kept({"all": ALL}, whole(said(some)))["all"][0]


def test_parts() -> None:
    """All records in order, of about equal tokens, calls with their results."""
    for count in (1, 5, 20):
        some = parts(ROWS, count)
        assert len(some) == count and [row for part in some for row in part] == ROWS
        assert max(map(size, some)) < 2 * size(ROWS) / count
        for part in some:
            calls = {call["id"] for row in part for call in row.get("tool_calls", ())}
            assert calls == {row["tool_call_id"] for row in part if row["role"] == "tool"}


@pytest.mark.parametrize("rounds", [6])
def test_facts_are_kept_over_a_chain(rounds: int) -> None:
    """As many as after one compaction, give or take what lines of the same worth decide; a naive chain loses more."""
    once, many, naive = by_ops([ROWS]), by_ops(parts(ROWS, rounds)), of_itself(parts(ROWS, rounds))
    assert facts_in(many) >= 0.97 * facts_in(once) > 100
    assert facts_in(naive) < 0.9 * facts_in(many)
    for some in (once, many, naive, newest(parts(ROWS, rounds))):
        assert sum(tokens(some)) <= size(ROWS) * SHARE // 100


def test_nothing_new_changes_nothing(tmp_path: Path) -> None:
    """A second compaction to the same size says so and appends nothing; the context stays as it is."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="ascii")
    budget = size(ROWS) * SHARE // 100

    def compacted() -> tuple[bytes, list[Content]]:
        log = Log.open(path, env=ENVIRONMENT)
        with contextlib.suppress(NothingChanges):
            log.compact(budget=budget, strategy="extract")
        log = Log.open(path, env=ENVIRONMENT)
        return path.read_bytes(), [log.full(one) for one in log.entries()]

    first = compacted()
    assert compacted() == first == compacted()


def test_what_the_chain_says(tmp_path: Path) -> None:
    """A row for each way and half, with the cases."""
    found = [Chain("tuned", True, way, n, 0.5, 0.25, 0.2) for way in WAYS for n in (1, 5, 20)]
    rows = list(table(found))
    assert len(rows) == 2 + 2 * len(WAYS) and "| ctxkit extract | tuned (1 cases) | 50.0 (50 to 50) |" in rows[-3]


def test_an_empty_part() -> None:
    """Fewer parts than asked for, where there are no more steps."""
    few: list[Record] = [{"role": "user", "content": "One."}, {"role": "assistant", "content": "Two."}]
    assert len(parts(few, 20)) == 2
