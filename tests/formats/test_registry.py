"""A log's format is told by its content, and one that is none is named."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.errors import UnknownFormat, Usage
from ctxkit.formats import registry

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
    "a bare role": ([{"role": "user"}], "chat"),
    "odd first record": ([{"note": 1}, {"role": "user", "content": "x"}], "chat"),
    "a key that is not an op": ([{"ctxkit": 3, "role": "user"}], "chat"),
    "claude code": ([CLAUDE], "claude-code"),
    "items": ([REASONING], "responses"),
    "items after an easy one": ([{"role": "user", "content": "x"}, REASONING], "responses"),
    "messages with a type": ([{"role": "user", "content": "x", "type": "message"}], "chat"),
    "contents": ([{"role": "user", "parts": [{"text": "x"}]}], "gemini"),
}


@pytest.mark.parametrize(("head", "name"), HEADS.values(), ids=HEADS.keys())
def test_detect(head: list[dict[str, Any]], name: str) -> None:
    """By the first records, ops left out."""
    assert registry.detect(head).name == name


@pytest.mark.parametrize("record", [{"messages_display": "user: hi"}, {"a": 1, "b": 2}, {}, {"role": 3}])
def test_what_is_no_format_is_refused_with_what_was_seen(record: dict[str, Any]) -> None:
    """The error names the keys of the first record."""
    with pytest.raises(UnknownFormat) as error:
        registry.detect([record])
    assert all(key in error.value.message for key in record)


def test_a_checkpoint_is_told_as_one() -> None:
    """Its file holds no messages; the hint says what to do with it."""
    with pytest.raises(UnknownFormat, match="a checkpoint") as error:
        registry.detect([{"v": 1, "kind": "checkpoint", "prefix": "ab"}])
    assert "restore LOG FILE" in error.value.hint


def test_only_the_first_fifty_records_count() -> None:
    """A role far below does not make a log of anything a chat."""
    odd: list[dict[str, Any]] = [{"note": i} for i in range(registry.HEAD)]
    assert registry.detect([*odd[:-1], {"role": "user"}]).name == "chat"
    with pytest.raises(UnknownFormat):
        registry.detect([*odd, {"role": "user"}])


def test_every_name_in_the_registry_is_that_format() -> None:
    """And an unknown one is a usage error."""
    for name in registry.REGISTRY:
        assert registry.by_name(name).name == name
    with pytest.raises(Usage):
        registry.by_name("nonsense")


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
    assert registry.chosen(asked, [head]).name == name


@pytest.mark.parametrize(
    ("asked", "head", "seen"),
    [("openai", CLAUDE, "claude-code"), ("anthropic", REASONING, "responses"), ("openai", {"abc": 1}, "abc")],
)
def test_what_is_of_no_provider(asked: str, head: dict[str, Any], seen: str) -> None:
    """Is refused, with what was seen."""
    with pytest.raises(UnknownFormat, match=seen):
        registry.chosen(asked, [head])


@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [
        ("auto", "messages", True), ("messages", "messages", True), ("openai", "responses", True),
        ("anthropic", "messages", True), ("anthropic", "responses", False), ("chat", "messages", False),
    ],
)  # fmt: skip
def test_fits(asked: str, found: str, expected: bool) -> None:
    """A container's format against the one that was asked for."""
    assert registry.fits(asked, found) is expected
