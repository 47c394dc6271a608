"""A Gemini CLI session after ops: records that stay keep their bytes, updates and rewinds are carried out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.ops import Edit, Item, Trim
from tests.resume.edits import commit
from tests.shared import HERE

FIXTURES = HERE.parent / "fixtures/truth-gemini-cli"


def session(path: Path, *records: dict[str, Any]) -> Path:
    """A session of these records."""
    head = {"sessionId": "s1", "projectHash": "p", "startTime": "2026-02-12T15:00:00Z", "kind": "main", "odd": [1]}
    rows = [head, *({"timestamp": "2026-02-12T15:00:00Z", **one} for one in records)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answered(key: str, words: str) -> dict[str, Any]:
    """A call with its result."""
    response = [{"functionResponse": {"id": key, "name": "read", "response": {"output": words}}}]
    return {"id": key, "name": "read", "args": {"path": key}, "status": "success", "odd": 1, "result": response}


WORK = (
    {"id": "1", "type": "user", "content": [{"text": "look"}]},
    {"id": "2", "type": "gemini", "content": "so", "toolCalls": [answered("a", "one"), answered("b", "two")], "odd": 2},
    {"id": "3", "type": "info", "content": "a notice"},
    {"id": "4", "type": "gemini", "content": "done"},
)


def rows_of(log: Log, **options: Any) -> list[bytes]:
    """The lines of the session that is written of it."""
    return b"".join(log.session("gemini-cli", **options).pieces).splitlines()


def test_without_a_change_it_is_the_log(tmp_path: Path) -> None:
    """But for the id; with it to the last byte."""
    path = session(tmp_path / "s.jsonl", *WORK)
    assert b"\n".join(rows_of(Log.open(path), keep_id=True)) + b"\n" == path.read_bytes()
    before, after = path.read_bytes().splitlines(), rows_of(Log.open(path))
    assert before[1:] == after[1:] and json.loads(after[0]) | {"sessionId": "s1"} == json.loads(before[0])


def test_what_stays_keeps_its_bytes(tmp_path: Path) -> None:
    """A forgotten message leaves; notices, and what the header says beside its id, stay."""
    path = session(tmp_path / "s.jsonl", *WORK)
    Log.open(path).forget("1", include_protected=True)
    found = rows_of(Log.open(path))
    before = path.read_bytes().splitlines()
    assert found[1:] == before[2:]
    assert json.loads(found[0])["odd"] == [1]


def test_a_message_that_says_less(tmp_path: Path) -> None:
    """It keeps its id, and what else it holds."""
    path = session(tmp_path / "s.jsonl", *WORK)
    log = Log.open(path)
    found = rows_of(commit(log, Trim(at=log.here(), ids="", stubs={"3": "[less]"})))
    assert json.loads(found[-1]) == {**WORK[3], "timestamp": "2026-02-12T15:00:00Z", "content": "[less]"}


def test_another_order(tmp_path: Path) -> None:
    """Records stand as an edit has them, with their ids."""
    path = session(tmp_path / "s.jsonl", *WORK)
    log = Log.open(path)
    log = commit(log, Edit(at=log.here(), items=[Item(n=3), Item(n=1), Item(n=2)]))
    ids = [json.loads(line)["id"] for line in rows_of(log)[1:]]
    assert ids == ["4", "1", "2"]


def test_updates_and_rewinds_are_carried_out(tmp_path: Path) -> None:
    """They said what is in the session; the new one holds just that."""
    for name in ("jsonl-set.jsonl", "jsonl-rewind.jsonl"):
        path = tmp_path / name
        path.write_bytes((FIXTURES / name).read_bytes())
        Log.open(path).forget("2", include_protected=True)
        log = Log.open(path)
        rows = rows_of(log)
        assert not any(b"$set" in row or b"$rewindTo" in row for row in rows)
        assert len(rows) == 1 + len(list(log.entries()))


@pytest.mark.parametrize("inside", [False, True])
def test_a_shortened_copy_of_a_result_leaves_nothing_of_it(inside: bool, tmp_path: Path) -> None:
    """Its record goes: the result stands in its call, once, and shortened where it stood in the record alone."""
    path = tmp_path / "twice.jsonl"
    rows = [json.loads(row) for row in (FIXTURES / "results-twice.jsonl").read_bytes().splitlines()]
    if not inside:
        for call in rows[2]["toolCalls"]:
            del call["result"]
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    log = Log.open(path)
    commit(log, Trim(at=log.here(), ids="", stubs={"3": "[short]"}))
    written = b"".join(Log.open(path).session("gemini-cli").pieces)
    made = [json.loads(row) for row in written.splitlines()]
    assert [row["id"] for row in made[1:]] == ["m1", "m2", "m4"]
    held = [call["result"][0]["functionResponse"]["response"]["output"] for call in made[2]["toolCalls"]]
    assert held == (["OUT", "TWO"] if inside else ["[short]", "[short]"])
