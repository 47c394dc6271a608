"""filter_context on a log: previews, applies, retries, and what is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import filter_context, filter_context_tool
from ctxkit.errors import Usage
from ctxkit.log import Log
from tests.cli.runner import call, lines, message

TALK = lines(
    message("system", "You are brief.", 0),
    message("user", "Which database schema do we use?", 1),
    message("assistant", "I look.", 2, tool_calls=[call("Read", "c1", path="schema.sql")]),
    message("tool", "create table users", 3, tool_call_id="c1"),
    message("assistant", "Two tables.", 4),
    message("user", "And the colour of the buttons?", 5),
    message("assistant", "Blue.", 6),
    message("user", "Forget what we said of the database schema.", 7),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A talk whose last words are the request."""
    found = tmp_path / "chat.jsonl"
    found.write_bytes(TALK)
    return found


@pytest.fixture
def log(path: Path) -> Log:
    """The same, opened."""
    return Log.open(path)


def test_preview(log: Log, path: Path) -> None:
    """What would leave, steps whole, without the request itself; nothing is appended."""
    found = filter_context(log, {"action": "preview", "mode": "forget", "criteria": "database schema"})
    assert list(found) == [
        "matching_messages", "message_count", "token_estimate", "counter", "planning_conversation_ids"
    ]  # fmt: skip
    assert found["matching_messages"] == [
        {"id": "2", "role": "user", "preview": "Which database schema do we use?", "score": 100}
    ]
    assert (found["message_count"], found["planning_conversation_ids"]) == (1, ["8-"])
    assert 0 < found["token_estimate"] < 30
    assert path.read_bytes() == TALK


def test_a_preview_takes_steps_whole(log: Log) -> None:
    """And says so."""
    found = filter_context(log, {"action": "preview", "mode": "forget", "tool_name": "Re*", "role": "tool"})
    assert [(one["id"], one["role"]) for one in found["matching_messages"]] == [("3", "assistant"), ("4", "tool")]
    assert found["notes"] == ["taken along, a step is never split: 3"]


def test_a_preview_of_a_remember(log: Log) -> None:
    """What would stay, and how many would not."""
    found = filter_context(log, {"action": "preview", "mode": "remember", "criteria": "buttons colour"})
    assert [one["id"] for one in found["matching_messages"]] == ["6"]
    assert found["notes"] == ["everything else (6 messages) would be forgotten"]


def test_a_preview_of_nothing(log: Log) -> None:
    """Is an answer."""
    found = filter_context(log, {"action": "preview", "mode": "forget", "criteria": "kubernetes"})
    assert (found["matching_messages"], found["message_count"], found["token_estimate"]) == ([], 0, 0)
    assert found["notes"] == ["no message is about 'kubernetes'"]


def test_a_long_preview(tmp_path: Path) -> None:
    """Is cut, and names all of them in ranges; long messages are cut, too."""
    path = tmp_path / "long.jsonl"
    path.write_bytes(lines(*(message("user", f"{'word ' * 99}{i}", i) for i in range(300))))
    found = filter_context(Log.open(path), {"action": "preview", "mode": "forget", "last": "250"})
    assert (found["message_count"], len(found["matching_messages"])) == (250, 200)
    assert "all of them: 50-299" in found["notes"][-1]  # the last is the request
    assert {len(one["preview"]) for one in found["matching_messages"]} == {120}


def test_apply(log: Log, path: Path) -> None:
    """One op, with the planning conversation; what was before and after, by a named counter."""
    asked = {"action": "apply", "mode": "forget", "message_ids": ["2", 4], "planning_conversation_ids": ["8-"]}
    found = filter_context(log, asked | {"criteria": "database schema"})
    assert list(found) == ["filter_event_id", "messages_filtered", "context_before", "context_after", "notes"]
    assert found["messages_filtered"] == 4
    assert found["context_before"]["messages"] == 8 and found["context_after"]["messages"] == 4
    assert found["context_before"]["tokens"] > found["context_after"]["tokens"] and found["context_after"]["counter"]
    [op] = [json.loads(line) for line in path.read_bytes().splitlines()[8:]]
    assert (op["ctxkit"], op["id"], op["ids"]) == ("forget", found["filter_event_id"], "2-4")
    assert (op["planning"], op["criteria"], op["after"]) == ("8", "database schema", found["context_after"])
    assert [*Log.open(path).names()] == [1, 5, 6, 7]


def test_apply_of_a_remember(log: Log, path: Path) -> None:
    """Only these stay, and the system's."""
    found = filter_context(log, {"action": "apply", "mode": "remember", "message_ids": ["6-7"]})
    assert found["messages_filtered"] == 5
    assert [*Log.open(path).names()] == [1, 6, 7]
    Log.open(path).undo()
    assert [*Log.open(path).names()] == [1, 2, 3, 4, 5, 6, 7, 8]


def applied(identity: str, *ids: str) -> dict[str, Any]:
    """An apply as Anthropic gives it."""
    asked = {"action": "apply", "mode": "forget", "message_ids": list(ids)}
    return {"type": "tool_use", "id": identity, "name": "filter_context", "input": asked}


def test_a_call_that_is_sent_again(path: Path) -> None:
    """Is executed once, and answered the same; another call is another."""
    first = filter_context(Log.open(path), applied("t1", "2"))
    again = filter_context(Log.open(path), applied("t1", "2"))
    assert again.pop("notes") == ["this call was executed before: nothing was done again"]
    assert again == first and first["messages_filtered"] == 1
    other = filter_context(Log.open(path), applied("t1", "6"))  # ids like `call_0` come again in every answer
    assert other["filter_event_id"] != first["filter_event_id"]
    assert len(path.read_bytes().splitlines()) == 10


def test_a_call_that_was_undone_is_not_executed_again(path: Path) -> None:
    """It says so: a person took it back."""
    filter_context(Log.open(path), applied("t1", "2"))
    Log.open(path).undo()
    found = filter_context(Log.open(path), applied("t1", "2"))
    assert found["notes"] == ["this call was executed before, and undone since: nothing was done again"]
    assert [*Log.open(path).names()] == [*range(1, 9)]


IDS = st.lists(st.sampled_from(["1", "2", "3-4", "5", "6", "7-8", "8-", "9", "0", "5.1", "x", "1-8"]), max_size=3)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["forget", "remember"]), IDS, IDS), max_size=3))
def test_whatever_is_applied(calls: list[tuple[str, list[str], list[str]]]) -> None:
    """The system's and protected messages stay, no step is split, and undo brings all back."""
    log = Log.open(io.BytesIO(TALK))
    log.protect("6")
    done = 0
    for mode, ids, planning in calls:
        asked = {"action": "apply", "mode": mode, "message_ids": ids, "planning_conversation_ids": planning}
        done += "filter_event_id" in filter_context(log, asked)
        names = log.names()
        assert {1, 6} <= set(names) and (3 in names) == (4 in names)
    for _ in range(done):
        log.undo()
    assert [*log.names()] == [*range(1, 9)]


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (applied("t", "99"), "unknown_id", "no message 99"),
        (applied("t", "0"), "unknown_id", "no message 0"),
        (applied("t", "2", "7.1"), "unknown_id", "no item 7.1"),
        (applied("t", "1"), "protected", "protected: 1"),
        (applied("t", "1-8"), "protected", "protected: 1"),
        (applied("t", "5-2"), "bad_argument", "backwards"),
        (applied("t", "x; rm -rf"), "bad_argument", "not a message number"),
        (applied("t", "9" * 99), "bad_argument", "not a message number"),
        ({"action": "preview", "mode": "forget", "criteria": "??"}, "bad_argument", "no words"),
        ({"action": "preview", "mode": "forget", "last": "many"}, "bad_argument", "many"),
        ({"action": "preview", "mode": "forget", "message_ids": ["99"]}, "unknown_id", "99"),
        ({"action": "nuke", "mode": "forget"}, "unknown_action", "nuke"),
        ("no json", "not_json", "not JSON"),
        (b"\xff", "not_json", "not JSON"),
    ],
)
def test_errors(log: Log, path: Path, asked: Any, code: str, said: str) -> None:
    """An answer with what to do, and nothing appended."""
    error = filter_context(log, asked)["error"]
    assert error["code"] == code and said in error["message"] and error["hint"]
    assert path.read_bytes() == TALK


def test_what_is_out_already(path: Path) -> None:
    """Changes nothing."""
    filter_context(Log.open(path), applied("t1", "2"))
    before = path.read_bytes()
    assert filter_context(Log.open(path), applied("t2", "2"))["error"]["code"] == "nothing_changes"
    assert path.read_bytes() == before


def test_planning_is_the_request_and_what_came_of_it(path: Path) -> None:
    """Where the log has neither the request as its last words nor a call of this tool, none is named."""
    asked = {"action": "preview", "mode": "forget", "criteria": "buttons"}
    planned = message("assistant", None, 8, tool_calls=[call("filter_context", "f1", **asked)])
    path.write_bytes(TALK + lines(planned))
    assert filter_context(Log.open(path), asked)["planning_conversation_ids"] == ["8-"]
    path.write_bytes(TALK + lines(message("assistant", "Done.", 8)))
    assert "planning_conversation_ids" not in filter_context(Log.open(path), asked)
    path.write_bytes(TALK[: TALK.index(b"\n") + 1])
    assert filter_context(Log.open(path), asked)["message_count"] == 0


def test_definitions() -> None:
    """For three providers."""
    assert filter_context_tool("anthropic")["name"] == "filter_context"
    with pytest.raises(Usage, match="no provider 'x'"):
        filter_context_tool("x")
