"""Codex rows: heads of whatever shape."""

from __future__ import annotations

import msgspec
import pytest

from ctxkit.formats.codex.rows import items, payload_head, pieces


@pytest.mark.parametrize("raw", [b"", b"null", b"3", b'"x"', b"[1]", b"{broken"])
def test_nothing_to_read(raw: bytes) -> None:
    """Empty fields, never an error."""
    assert payload_head(msgspec.Raw(raw)).type is None
    assert [p for p in pieces(msgspec.Raw(raw)) if p.text and p.text != "x"] == []
    assert items(msgspec.Raw(raw)) == []


def test_fields_of_other_types() -> None:
    """A lone surrogate, which strict decoding refuses, still gives the head."""
    head = payload_head(
        msgspec.Raw(b'{"type":"message","role":"user","content":[{"type":"input_text","text":"\\ud83d"}]}')
    )
    assert (head.type, head.role) == ("message", "user")
    assert [p.text for p in pieces(head.content)] == ["\ud83d"]
