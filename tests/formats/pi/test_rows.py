"""pi rows: decoded whatever shape they have."""

from __future__ import annotations

import msgspec
import pytest

from ctxkit.core.text.json_structs import shaped
from ctxkit.core.text.json_text import loads
from ctxkit.formats.pi.rows import BlockHead, MessageHead, PiRow


def row(message: bytes) -> PiRow:
    """The row of an entry with this message; recovery makes the same of it."""
    line = b'{"type":"message","message":' + message + b"}"
    found = msgspec.json.decode(line, type=PiRow)
    assert shaped(loads(line), PiRow).message == found.message
    return found


@pytest.mark.parametrize("raw", [b"null", b"3", b'"x"', b"[1]", b"1.5", b"true"])
def test_no_message(raw: bytes) -> None:
    """Whatever stands there, the entry is read."""
    assert (row(raw).type, isinstance(row(raw).message, MessageHead)) == ("message", False)


@pytest.mark.parametrize("content", [b'"hi"', b"3", b"{}", b"null", b"[]", b'[[],3,"x",null]'])
def test_other_contents(content: bytes) -> None:
    """The same of a content."""
    found = row(b'{"role":7,"content":' + content + b"}").message
    assert isinstance(found, MessageHead)
    assert (found.role, found.content) == (7, loads(content))


def test_blocks() -> None:
    """Heads of blocks, and what is none."""
    blocks = b'{"type":"toolCall","id":"c","name":"x"},3,{"type":"text","text":"words"}'
    found = row(b'{"role":"assistant","content":[' + blocks + b"]}").message
    assert isinstance(found, MessageHead)
    assert found.content == [BlockHead("toolCall", "c", "x"), 3, BlockHead("text")]


def test_words_that_strict_decoding_refuses() -> None:
    """A lone surrogate does no harm."""
    found = shaped({"message": {"role": "user", "content": [{"type": "text", "text": "\ud83d"}]}}, PiRow).message
    assert found == MessageHead("user", content=[BlockHead("text")])
