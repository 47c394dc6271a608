"""How many messages of a log say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Content, Message, Other, Part, Text, Thinking
from ctxkit.logfile.empty_messages import AT_EITHER_END, EmptyMessages, silence

SAYS: list[Part] = [Text("x")]


def of(contents: list[list[Part] | None], size: int = 300) -> tuple[EmptyMessages | None, list[int]]:
    """What is silent, and which messages were read."""
    asked: list[int] = []

    def read(message: Message) -> Content | None:
        asked.append(message.n)
        parts = contents[message.n - 1]
        return None if parts is None else Content("user", parts)

    return silence([Message(n, 0, size, "user") for n in range(1, len(contents) + 1)], read), asked


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([], None),
        ([SAYS], None),
        ([[]], EmptyMessages(1, 1, True)),
        ([[Text(" \n")], [Other("unknown", {})]], EmptyMessages(2, 2, True)),
        ([[Thinking("", {})], [Other("document", {})]], None),
        ([SAYS, []], EmptyMessages(1, 2, False)),
        ([SAYS, SAYS, []], None),
        ([SAYS, [], []], EmptyMessages(2, 3, False)),
        ([None, None], None),
    ],
)
def test_silence(contents: list[list[Part] | None], expected: EmptyMessages | None) -> None:
    """At least half of them; all where no message says anything. What cannot be read may say something."""
    assert of(contents)[0] == expected


def test_small_rows_count_too() -> None:
    """But a log is not refused for them alone."""
    assert of([[]] * 9, size=20)[0] == EmptyMessages(9, 9, False)


def test_calls_are_not_read() -> None:
    """They say something."""
    assert silence([Message(1, 0, 300, "user", calls=("c",))], lambda _: Content("user", [])) is None


def test_a_few_messages_are_read() -> None:
    """Of a long log; all of them before it is said that none says anything."""
    assert len(of([SAYS] * 9000)[1]) < 10
    found, asked = of([[]] * 4000 + [SAYS] + [[]] * 4000)
    assert found == EmptyMessages(2 * AT_EITHER_END, 2 * AT_EITHER_END, False) and 4001 in asked


@pytest.mark.parametrize(
    ("record", "is_silent"),
    [
        ({"role": "user", "content": None, "agent": "x" * 300}, False),
        ({"role": "user", "content": " \n" * 300, "ts": "2026-02-01"}, False),
        ({"role": "user", "content": [{"type": "text", "text": " " * 300}]}, False),
        ({"role": "user", "message": {"content": "x" * 300}}, True),
        ({"role": "user", "content": [{"type": "odd", "words": "x" * 300}]}, True),
    ],
)
def test_a_message_that_is_read_to_its_last_key(record: dict[str, Any], is_silent: bool) -> None:
    """A native message without words hides none; one with another program's keys may."""
    message = Message(1, 0, 300, "user")
    assert (silence([message], lambda _: Content("user", [], None, [record])) is not None) == is_silent
