"""A message in full: parts, and which rows count."""

from __future__ import annotations

from ctxkit.core.messages import Call, Image, Other, Result, Text, Thinking
from ctxkit.formats.claude_code.content import blocks_of, part_of, unique_rows
from tests.formats.claude_code.logs import call, content, log, other, read, result, user


def test_parts_of_a_message() -> None:
    """Known blocks become parts with their block, others are carried unread."""
    blocks = [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        {"type": "image", "source": {"type": "url", "url": "http://x"}},
        {"type": "fallback", "from": "a", "to": "b"},
        {"type": "tool_use", "name": "no id"},
    ]
    raw = log(user("q", None, blocks))
    assert content(raw, read(raw).messages[0]).parts == [
        Thinking("", blocks[0]),
        Image("image/png", "AA", raw=blocks[1]),
        Image(url="http://x", raw=blocks[2]),
        Other("fallback", blocks[3]),
        Other("tool_use", blocks[4]),
    ]


def test_calls_and_results_keep_their_blocks() -> None:
    """What the provider wrote can be sent again as it is; lists inside a result are parts themselves."""
    answer = {
        **result("A", [{"type": "text", "text": "x"}, {"type": "tool_reference", "tool_name": "T"}]),
        "is_error": True,
    }
    inner = [Text("x"), Other("tool_reference", {"type": "tool_reference", "tool_name": "T"})]
    assert part_of(answer) == Result("A", inner, True, answer)
    assert part_of(call("A")) == Call("A", "Bash", {"command": "true"}, call("A"))


def test_rows_without_blocks() -> None:
    """A string, a local command and an attachment are one text; anything else is nothing."""
    command = other("system", "l", None, subtype="local_command", content="out")
    assert blocks_of(user("q", None, "q")) == [{"type": "text", "text": "q"}]
    assert blocks_of(command) == [{"type": "text", "text": "out"}]
    assert blocks_of({"type": "user", "message": 7}) == []
    assert "later" in blocks_of({"type": "attachment", "attachment": {"type": "later"}})[0]["text"]


def test_the_last_row_of_a_uuid_counts() -> None:
    """It stands where the first stood; rows without a uuid are all kept."""
    first, second, third = {"uuid": "a", "k": 1}, {"uuid": "b"}, {"uuid": "a", "k": 2}
    assert unique_rows([first, second, third, {}, {}]) == [third, second, {}, {}]
