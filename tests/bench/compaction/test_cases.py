"""Cases: sizes, splits between steps, halves that share no session, branches and compactions of a session file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.core.steps import Steps
from tests.bench.compaction import cases, made, sessions
from tests.bench.compaction.cases import borders, contents, numbered, pieces, read, split, tokens
from tests.bench.compaction.ready import make_ready
from tests.formats.codex import logs

SESSION = made.session(1, "harbour")


def test_made_sessions_are_the_same_every_time(tmp_path: Path) -> None:
    """Byte for byte, each another, and large enough."""
    first = [path.read_bytes() for path in made.write(tmp_path)]
    assert first == [path.read_bytes() for path in made.write(tmp_path)]
    assert len(set(first)) == len(made.PROJECTS)
    assert len(SESSION) >= cases.FEWEST and sum(tokens(contents(read(SESSION)))) >= cases.LEAST


def ids(records: list[dict[str, Any]]) -> tuple[set[str], set[str]]:
    """Calls, and what is answered."""
    made_ = {call["id"] for record in records for call in record.get("tool_calls") or ()}
    return made_, {record["tool_call_id"] for record in records if "tool_call_id" in record}


def test_a_split_is_between_steps_at_60_percent() -> None:
    """Both sides have their pairs whole."""
    prefix, suffix = split(SESSION)
    assert [*prefix, *suffix] == SESSION
    for side in (prefix, suffix):
        calls, answers = ids(side)
        assert calls == answers
    size = sum(len(json.dumps(one)) for one in prefix) / sum(len(json.dumps(one)) for one in SESSION)
    assert 0.57 < size < 0.63


def test_borders_of_parallel_calls() -> None:
    """No border between calls side by side and the last of their results."""
    calls = [{"id": name, "type": "function", "function": {"name": "Read", "arguments": "{}"}} for name in "ab"]
    records: list[dict[str, Any]] = [
        {"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": "2"}, {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "assistant", "content": "done"},
    ]  # fmt: skip
    assert borders(read(records)) == [1, 4, 5]


def test_long_contexts_are_cut_into_equal_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few as hold the limit, of about the same size, no step cut; what is too small is no case."""
    whole = sum(tokens(contents(read(SESSION))))
    assert list(pieces(SESSION)) == [SESSION]
    monkeypatch.setattr(cases, "MOST", whole // 3 + 2000)
    monkeypatch.setattr(cases, "LEAST", 1000)
    found = list(pieces(SESSION))
    assert len(found) == 3 and [one for part in found for one in part] == SESSION
    for part in found:
        assert ids(part)[0] == ids(part)[1]
        assert abs(sum(tokens(contents(read(part)))) - whole / 3) < 2000
    monkeypatch.setattr(cases, "FEWEST", len(SESSION))
    assert list(pieces(SESSION)) == []


def test_halves_share_no_session_and_repositories_are_capped(tmp_path: Path) -> None:
    """Every case of a session is in its half; a repository with many sessions gives one of each before a second."""
    paths = made.write(tmp_path)
    case = split(SESSION)
    found = numbered([(paths[0], [case] * 9), (paths[0], []), (paths[1], [case] * 3), (paths[2], [case])])
    assert [len([c for c in found if c.session == n]) for n in (1, 2, 3)] == [9, 3, 1]
    for half in ("odd", "even"):
        assert {c.session % 2 for c in found if c.half == half} == {half == "odd"}
    assert len({c.name for c in found}) == len(found)
    one_place = tmp_path / "more.jsonl"
    one_place.write_bytes(paths[0].read_bytes())
    found = numbered([(paths[0], [case] * 20), (one_place, [case] * 3)])
    counted = [c for c in found if not c.beyond]
    assert [len([c for c in counted if c.session == n]) for n in (1, 2)] == [9, 3] and len(found) == 23
    assert len(counted) == cases.PER_REPOSITORY


def test_what_is_ready() -> None:
    """The steps hold every message once; what is needed stands in the prefix; names of prefix and suffix differ."""
    one = make_ready(cases.Case("made", 1, "harbour", True, False, *split(SESSION)))
    assert [n for step in one.steps for n in step] == list(range(len(one.contents)))
    assert len(one.steps) == len({Steps(read(SESSION).messages).leader(n + 1) for n in range(len(one.contents))})
    assert one.needed.items.keys() <= one.items and one.needed.items and one.needed.lines
    assert one.total == sum(one.tokens) and all(one.facts[name] for name in ("errors", "commands", "decisions", "user"))


def claude_code(*rows: dict[str, Any]) -> bytes:
    """A session of Claude Code, a row each."""
    base = {"sessionId": "s", "cwd": "/home/me/.worktrees/one", "version": "2.0.0", "isSidechain": False}
    return "".join(json.dumps(base | row) + "\n" for row in rows).encode()


def row(uuid: str, parent: str | None, said: str) -> dict[str, Any]:
    """A message of the user."""
    return {"type": "user", "uuid": uuid, "parentUuid": parent, "message": {"role": "user", "content": said}}


BOUNDARY = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None, "logicalParentUuid": "2"}
SUMMARY = row("s", "b", "This session is being continued from a previous conversation.") | {"isCompactSummary": True}


def test_a_session_is_read_at_its_compactions_and_branches() -> None:
    """Each context once, oldest first; what a branch shares with the others is in the first of them only."""
    raw = claude_code(row("1", None, "one"), row("2", "1", "two"), BOUNDARY, SUMMARY, row("3", "s", "three"))
    assert [[record["content"][:5] for record in one] for one in sessions.segments(raw)] == [
        ["one", "two"], ["This ", "three"],
    ]  # fmt: skip
    raw = claude_code(row("1", None, "one"), row("2", "1", "left"), row("3", "1", "three"))
    assert [[record["content"] for record in one] for one in sessions.segments(raw)] == [["one", "left"], ["three"]]
    assert list(sessions.segments(b"no session\n")) == []


def test_what_a_compaction_kept_is_there_again() -> None:
    """Codex brings messages of the user back: they stand in the context on both sides; a branch's trunk does not."""
    raw = logs.raw("meta | developer:rules | user:one | say:two | compact user:one,memory:x | user:three | say:four")
    assert [[record["content"] for record in one] for one in sessions.segments(raw)] == [
        ["one", "two"], ["one", "three", "four"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"cwd": "/home/me/rows"}, "rows"), ({"cwd": "D:\\Rows\\"}, "rows"), ({"cwd": "/a/rows/.worktrees/x"}, "rows"),
        ({"git": {"repository_url": "git@github.com:me/rows.git"}, "cwd": "/x"}, "rows"), ({}, "session"),
        ({"instance_id": "sql__rows-12", "cwd": "/testbed"}, "rows"),
    ],
)  # fmt: skip
def test_repository(row: dict[str, Any], name: str) -> None:
    """Of the remote, the task, the folder, or the file."""
    assert sessions.repository(Path("session.jsonl"), json.dumps(row).encode()) == name
