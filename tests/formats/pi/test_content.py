"""A pi message in full."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Content, Image, Message, Other, Result, Text, Thinking
from ctxkit.formats.pi.content import content_of, recorded_of

MESSAGE = Message(1, 0, 0, "user")


def read(entry: dict[str, Any]) -> Content:
    """The content of an entry."""
    return content_of(MESSAGE, [entry])


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"type": "branch_summary", "summary": "X"}, "came back from:\n\n<summary>\nX</summary>"),
        ({"type": "compaction", "summary": "X"}, "following summary:\n\n<summary>\nX\n</summary>"),
        ({"type": "custom_message", "content": "X"}, "X"),
        ({"type": "message", "message": {"role": "user", "content": "X"}}, "X"),
        ({"type": "message", "message": {"role": "branchSummary", "summary": "X"}}, "<summary>\nX</summary>"),
        ({"type": "message", "message": {"role": "compactionSummary", "summary": "X"}}, "<summary>\nX\n</summary>"),
    ],
)
def test_words(entry: dict[str, Any], text: str) -> None:
    """Summaries and notes are texts, in pi's own words."""
    part = read(entry).parts[0]
    assert isinstance(part, Text) and part.text.endswith(text)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"output": "a\n", "exitCode": 0}, "Ran `ls`\n```\na\n\n```"),
        ({"output": "", "exitCode": 0}, "Ran `ls`\n(no output)"),
        ({"output": "a", "exitCode": 2}, "Ran `ls`\n```\na\n```\n\nCommand exited with code 2"),
        ({"output": "a", "cancelled": True}, "Ran `ls`\n```\na\n```\n\n(command cancelled)"),
        (
            {"output": "a", "truncated": True, "fullOutputPath": "/t"},
            "Ran `ls`\n```\na\n```\n\n[Output truncated. Full output: /t]",
        ),
    ],
)
def test_commands(more: dict[str, Any], text: str) -> None:
    """What the user ran, what came out, and how it ended."""
    assert read({"type": "message", "message": {"role": "bashExecution", "command": "ls", **more}}).parts == [
        Text(text)
    ]


def test_blocks() -> None:
    """Texts, thinking, calls and images; a kind that is not known is carried."""
    thinking = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"a": 1}}
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    blocks = [{"type": "text", "text": "a"}, thinking, call, image, {"type": "odd"}, 3]
    assert read({"type": "message", "message": {"role": "assistant", "content": blocks}}).parts == [
        Text("a"), Thinking("hm", thinking), Call("c", "bash", {"a": 1}, call),
        Image("image/png", "iVBORw0KGgo=", raw=image),
        Other("odd", {"type": "odd"}),
    ]  # fmt: skip


def test_results() -> None:
    """One text is the result's text; more parts are parts; errors say so."""
    one = {"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "a"}], "isError": True}
    assert read({"type": "message", "message": one}).parts == [Result("c", "a", True, one)]
    two = {"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "a"}] * 2}
    assert read({"type": "message", "message": two}).parts == [Result("c", [Text("a"), Text("a")], False, two)]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"type": "branch_summary", "summary": "X"}, ["X"]),
        ({"type": "message", "message": {"role": "compactionSummary", "summary": "X"}}, ["X"]),
        ({"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "a"}}, ["ls", "a"]),
        ({"type": "message", "message": {"role": "user", "content": "X", "summary": "Y"}}, ["Y", "X"]),
        ({"type": "custom_message", "content": "X"}, ["X"]),
    ],
)
def test_recorded(entry: dict[str, Any], words: list[str]) -> None:
    """What is searched: the words of the file without pi's around them, and those of every edit."""
    assert recorded_of(MESSAGE, [entry]).parts == [Text(text) for text in words]
    edits = [{"replacement": "one"}, {"replacement": "two"}]
    assert recorded_of(MESSAGE, [entry, *edits]).parts == [Text(text) for text in [*words, "one", "two"]]
