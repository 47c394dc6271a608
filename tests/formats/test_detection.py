"""A log's format is told by its content, and one that is none is named."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import UnknownFormat
from ctxkit.formats import detection

CLAUDE = {
    "type": "user",
    "uuid": "u",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "content": "x"},
}

REASONING = {"type": "reasoning", "summary": []}

HEADS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "empty": ([], "chat"),
    "only ops": ([{"ctxkit": "mark"}], "chat"),
    "a message": ([{"role": "user", "content": "x"}], "chat"),
    "a bare role among messages": ([{"role": "user"}, {"role": "user", "content": None}], "chat"),
    "keys of the owner": ([{"role": "user", "content": "x", "persona": "frodo", "id": 3, "message": "hi"}], "chat"),
    "cursor": ([{"role": "user", "message": {"content": "x"}}, {"type": "turn_ended"}], "cursor"),
    "goose": ([{"working_dir": "/", "description": ""}, {"role": "user", "content": "x"}], "goose"),
    "goose without its header": ([{"role": "user", "content": [{"type": "toolRequest"}]}], "goose"),
    "qwen code": ([{"parentUuid": None, "uuid": "u", "sessionId": "s", "message": {"parts": []}}], "qwen-code"),
    "qwen code, first a note": ([{"parentUuid": None, "sessionId": "s", "systemPayload": {}}], "qwen-code"),
    "amp": ([{"role": "user", "content": [{"type": "tool_result", "toolUseID": "t", "run": {}}]}], "amp"),
    "continue": ([{"message": {"role": "user", "content": "x"}, "contextItems": []}], "continue"),
    "odd first record": ([{"note": 1}, {"role": "user", "content": "x"}], "chat"),
    "a key that is not an op": ([{"ctxkit": 3, "role": "user", "content": "x"}], "chat"),
    "claude code": ([CLAUDE], "claude-code"),
    "items": ([REASONING], "responses"),
    "items after an easy one": ([{"role": "user", "content": "x"}, REASONING], "responses"),
    "messages with a type": ([{"role": "user", "content": "x", "type": "message"}], "chat"),
    "contents": ([{"role": "user", "parts": [{"text": "x"}]}], "gemini"),
}


@pytest.mark.parametrize(("head", "name"), HEADS.values(), ids=HEADS.keys())
def test_detect(head: list[dict[str, Any]], name: str) -> None:
    """By the first records, ops left out."""
    assert detection.detect(head).name == name


@pytest.mark.parametrize(
    "record",
    [
        {"messages_display": "user: hi"},
        {"a": 1, "b": 2},
        {},
        {"role": 3},
        {"role": "user"},
        {"role": "user", "said": "x"},
    ],
)
def test_what_is_no_format_is_refused_with_what_was_seen(record: dict[str, Any]) -> None:
    """The error names the keys of the first record."""
    with pytest.raises(UnknownFormat) as error:
        detection.detect([record])
    assert all(key in error.value.message for key in record)


def test_a_checkpoint_is_told_as_one() -> None:
    """Its file holds no messages; the hint says what to do with it."""
    with pytest.raises(UnknownFormat, match="a checkpoint") as error:
        detection.detect([{"v": 1, "kind": "checkpoint", "prefix": "ab"}])
    assert "restore LOG FILE" in error.value.hint


def test_only_the_first_records_count() -> None:
    """A message far below does not make a log of anything a chat."""
    odd: list[dict[str, Any]] = [{"note": i} for i in range(detection.HEAD)]
    said = {"role": "user", "content": "x"}
    assert detection.detect([*odd[:-1], said]).name == "chat"
    with pytest.raises(UnknownFormat):
        detection.detect([*odd, said])


@pytest.mark.parametrize(
    "more",
    [
        {"uuid": "u", "parentUuid": None}, {"message": {"content": "y"}}, {"type": "event", "payload": {}},
    ],
)  # fmt: skip
@pytest.mark.parametrize("asked", ["auto", "chat", "openai"])
def test_a_chat_with_keys_of_another_program_is_not_native(asked: str, more: dict[str, Any]) -> None:
    """Be it the first record, a later one, or the last; its messages are read all the same."""
    plain = {"role": "user", "content": "x"}
    for head, tail in (([plain | more], []), ([plain, plain | more], []), ([plain], [plain | more])):
        found = detection.chosen(asked, head, tail)
        assert (found.name, found.native) == ("chat", False)
    assert detection.chosen(asked, [plain], [plain]).native


@pytest.mark.parametrize(
    ("asked", "head", "name"),
    [
        ("openai", {"role": "user", "content": "x"}, "chat"),
        ("openai", REASONING, "responses"),
        ("anthropic", {"role": "user", "content": "x"}, "chat"),
        ("pi", {"role": "user", "content": "x"}, "pi"),
        ("auto", REASONING, "responses"),
    ],
)
def test_chosen(asked: str, head: dict[str, Any], name: str) -> None:
    """A format that was asked for is that one; a provider's name stands for what its APIs take and give."""
    assert detection.chosen(asked, [head]).name == name


@pytest.mark.parametrize(
    ("asked", "head", "seen"),
    [("openai", CLAUDE, "claude-code"), ("anthropic", REASONING, "responses"), ("openai", {"abc": 1}, "abc")],
)
def test_what_is_of_no_provider(asked: str, head: dict[str, Any], seen: str) -> None:
    """Is refused, with what was seen."""
    with pytest.raises(UnknownFormat, match=seen):
        detection.chosen(asked, [head])
