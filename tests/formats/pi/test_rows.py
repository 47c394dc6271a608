"""pi rows: heads of whatever shape."""

from __future__ import annotations

import msgspec
import pytest

from ctxkit.formats.pi.rows import BlockHead, message_head


@pytest.mark.parametrize("raw", [b"", b"null", b"3", b'"x"', b"[1]", b"{broken"])
def test_nothing_to_read(raw: bytes) -> None:
    """Empty fields, never an error."""
    assert message_head(msgspec.Raw(raw)).role is None


def test_blocks() -> None:
    """Heads of blocks; a block that is none has empty fields; text is not looked into."""
    head = message_head(msgspec.Raw(b'{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"x"},3]}'))
    assert head.content == [BlockHead("toolCall", "c", "x"), BlockHead()]
    assert message_head(msgspec.Raw(b'{"role":"user","content":"hi"}')).content == "hi"
    assert message_head(msgspec.Raw(b'{"role":"user","content":[{"type":"text","text":"\\ud83d"}]}')).role == "user"
