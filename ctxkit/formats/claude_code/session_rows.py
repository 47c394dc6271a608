"""The rows of a Claude Code session that is rewritten: their places, their tree, and changed values.

Pipeline: `rewriting.py` patches these rows in place, `chain_writing.py` puts them in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ctxkit.core.messages import Content, Repairs
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.text.splice import Path, spliced
from ctxkit.formats.base import Block, Edited
from ctxkit.formats.claude_code.chain import Chain
from ctxkit.formats.claude_code.reader import ClaudeReader, on_chain
from ctxkit.formats.claude_code.rows import ClaudeRow, text
from ctxkit.formats.claude_code.sessions import blocks_of

Changes = dict[Path, Any]
"""Path -> new value."""


class SessionRow(ClaudeRow):
    """A row with its further links."""

    sessionId: Any = None
    leafUuid: Any = None
    logicalParentUuid: Any = None


class SessionEntry(msgspec.Struct, gc=False):
    """A row of the file: its place and its links. `link`: its index in the chain, or -1; `op`: it is an op; `side`: it
    is in a sidechain.
    """

    offset: int
    size: int
    session: str
    leaf: str
    logical: str
    link: int
    op: bool = False
    side: bool = False


def entries_of(block: Block) -> Iterator[SessionEntry]:
    """The rows of a block."""
    for i, row in enumerate(block.rows):
        yield SessionEntry(block.offsets[i], block.sizes[i], text(row.sessionId), text(row.leafUuid),
                    text(row.logicalParentUuid), -1, isinstance(row.ctxkit, str), row.isSidechain is True)  # fmt: skip


class SessionEntries:
    """The rows of the log and their tree, read once more."""

    def __init__(self, edited: Edited) -> None:
        reader = ClaudeReader()
        self.entries: list[SessionEntry] = []
        self.of_link: list[SessionEntry] = []
        self.session, words = "", dict[str, str]()
        for block in edited.blocks(SessionRow):
            reader.feed(block)
            for row, entry in zip(block.rows, entries_of(block), strict=True):
                entry.session = words.setdefault(entry.session, entry.session)
                self.session = entry.session or self.session
                self.entries.append(entry)
                if on_chain(row):
                    entry.link = len(self.of_link)
                    self.of_link.append(entry)
        self.chain: Chain = reader.tree
        self.responses = reader.responses
        self.links_of: dict[int, list[int]] = {}
        for index, n in enumerate(self.chain.links.numbers):
            if n:
                self.links_of.setdefault(n, []).append(index)


def changed(raw: bytes, asked: Changes) -> bytes:
    """A row with changed values; its other bytes stay. A new key comes last."""
    try:
        return spliced(raw, {path: as_line(value) for path, value in asked.items()})
    except KeyError:
        row = loads(raw)
        for path, value in asked.items():
            inner = row
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = value
        return as_line(row)


def shortened(row: dict[str, Any], content: Content, repairs: Repairs) -> Changes:
    """The changes in the row of a shortened message; its other fields stay."""
    asked: Changes = {("message", "content"): blocks_of(content, repairs)}
    return asked | {("toolUseResult",): None} if "toolUseResult" in row else asked


def as_line(value: Any) -> bytes:
    """A row as bytes, without a line end."""
    return dumps(value).encode("ascii")
