"""Rows of odd shapes: what the light view of a line makes of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ctxkit.core.messages import Text
from ctxkit.formats.claude_code.rows import ClaudeRow, attachment_head, filled, value
from tests.formats.claude_code.logs import assistant, boundary, call, content, log, read, user

ODD: list[Any] = [None, 7, "", "x", [], {}, [None], {"id": []}, [[1]], True]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("kind", ["user", "assistant", "attachment", "system", ["user"]], ids=str)
def test_odd_fields_never_make_a_row_unreadable(kind: Any, odd: Any) -> None:
    """Whatever type a field has, the row is read, and so is its content."""
    base = {"type": kind, "uuid": "u", "parentUuid": None, "timestamp": "2026-01-01T00:00:00Z"}
    names = [
        "uuid",
        "parentUuid",
        "timestamp",
        "message",
        "attachment",
        "rendered",
        "subtype",
        "isSidechain",
        "agentId",
    ]
    rows = [{**base, "uuid": name, name: odd} for name in [*names, "compactMetadata", "origin", "type"]]
    rows += [{**base, "uuid": f"m{i}", "message": {"id": odd, "model": odd, "content": odd}} for i in range(2)]
    rows += [{**base, "uuid": "c", "message": {"content": [odd, {"type": odd}, {"type": "tool_use", "id": odd}]}}]
    rows += [boundary("b", preservedMessages=odd, preservedSegment={"anchorUuid": odd})]
    raw = log(*rows)
    transcript = read(raw)
    assert transcript.rows == len(rows)
    for message in transcript.messages:
        assert content(raw, message).role == message.role


def test_a_lone_surrogate_is_read() -> None:
    """JSON that only the tolerant decoder takes still gives ids and content (reliability J01 to J13)."""
    raw = log(user("q", None, "q"), assistant("a", "q", [{"type": "text", "text": "\ud83d"}, call("A")]))
    messages = read(raw).messages
    assert messages[1].calls == ("A",)
    assert content(raw, messages[1]).parts[0] == Text("\ud83d")


def test_the_head_of_a_decoded_attachment() -> None:
    """A row that went through recovery may hold a value where clean ones hold bytes."""
    assert attachment_head({"type": "file", "content": 1}).type == "file"


def test_blocks_of_odd_shapes_stand_beside_others() -> None:
    """Heads are read as far as they can be; what is none is skipped."""
    said = [None, "words", call("A"), {"type": ["tool_use"], "id": "B"}, {"type": "tool_use", "id": 7}, [call("C")]]
    assert [m.calls for m in read(log(assistant("a", None, said))).messages] == [("A",)]


@pytest.mark.parametrize(
    ("raw", "there"),
    [(b"", False), (b'""', False), (b"null", False), (b"[]", False), (b"[0]", True), ([], False), (["x"], True)],
    ids=repr,
)
def test_filled(raw: Any, there: bool) -> None:
    """Empty in JSON is empty, decoded or not."""
    assert filled(raw) is there


def test_value_of_what_is_no_json() -> None:
    """A field that cannot be decoded counts as missing."""
    assert value(msgspec.Raw(b"{")) is None
    assert value(ClaudeRow().message) is None
