"""A Codex message in full."""

from __future__ import annotations

from ctxkit.core.messages import Call, Message, Text
from ctxkit.formats.codex.content import content_of, item_of

SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def test_a_message_is_the_items_of_its_rows() -> None:
    """Lines of the file, or items that a compaction lists."""
    rows = [{"type": "response_item", "payload": SAID}, CALL]
    content = content_of(Message(1, 0, 0, "assistant"), rows)
    assert content.parts == [Text("a"), Call("c", "f", {}, CALL)]
    assert content.rows == rows


def test_the_summary_of_an_old_compaction() -> None:
    """It is what the user says."""
    item = item_of({"type": "compacted", "payload": {"message": "so far"}})
    assert item == {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "so far"}]}
