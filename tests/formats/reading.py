"""Feeds bytes to a format's reader without the store, so that formats are tested alone."""

from __future__ import annotations

from typing import Any

import msgspec

from ctxkit.core.messages import Content, Message
from ctxkit.core.text.json_text import loads
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block, Format


def blocks(fmt: Format, data: bytes, lines_in_block: int = 3) -> list[Block]:
    """The whole records of `data`, which must be undamaged JSONL, a few in a block so that borders are met."""
    decode = msgspec.json.Decoder(fmt.row).decode
    rows: list[Any] = []
    offsets: list[int] = []
    sizes: list[int] = []
    numbers: list[int] = []
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            rows.append(decode(line))
            offsets.append(offset)
            sizes.append(len(line))
            numbers.append(number)
        offset += len(line) + 1
    k = lines_in_block
    return [
        Block(rows[i : i + k], offsets[i : i + k], sizes[i : i + k], numbers[i : i + k], data, 0)
        for i in range(0, len(rows), k)
    ]


def read(fmt: Format, data: bytes, lines_in_block: int = 3) -> Transcript:
    """The transcript of undamaged JSONL."""
    reader = fmt.reader()
    for block in blocks(fmt, data, lines_in_block):
        reader.feed(block)
    return reader.finish()


def content(fmt: Format, data: bytes, message: Message) -> Content:
    """One message in full."""
    spans = [(message.offset, message.size), *message.more]
    return fmt.content(message, [loads(data[offset : offset + size]) for offset, size in spans])


def contents(fmt: Format, data: bytes) -> list[Content]:
    """All messages in full."""
    return [content(fmt, data, message) for message in read(fmt, data).messages]
