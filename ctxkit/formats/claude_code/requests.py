"""What Claude Code 2.1.329 records of its own requests: the messages that it sent, by their hashes.

Pipeline: the log's rows are read once more -> `Records` (requests, blobs, the tree) -> `proofs.py`. The rows that it
writes: agents, Claude Code 13.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ctxkit.core.messages import Span
from ctxkit.core.text.json_text import loads
from ctxkit.formats.base import Block
from ctxkit.formats.claude_code.hashing import message_hash, value_hash
from ctxkit.formats.claude_code.reader import ClaudeReader, on_chain
from ctxkit.formats.claude_code.rows import ClaudeRow, text, value

MARK = b'"api-request"'
"""Bytes that are in every file with such rows."""
_STEP = 1 << 20


class ProofRow(ClaudeRow):
    """A row with the fields that record a request."""

    id: Any = None
    base: Any = None
    keep: Any = None
    tail: msgspec.Raw = msgspec.Raw(b"")
    params: msgspec.Raw = msgspec.Raw(b"")
    hash: Any = None
    shapeHash: Any = None
    requestRef: Any = None
    cut: msgspec.Raw = msgspec.Raw(b"")


class NotedRequest(msgspec.Struct):
    """A request as recorded. `links`: number of chain rows before it; `answer`: index of its answer's first, or -1.

    `base`: the request whose first `keep` messages it begins with, "" for none. `cut`: what was sent was shortened.
    `shape`: the hash of its system prompt and tools; `span`: its row.
    """

    id: str
    line: int
    links: int
    base: str
    keep: int
    tail: list[str]
    model: str
    cut: bool
    answer: int = -1
    fault: str = ""
    shape: str = ""
    span: Span = (0, 0)


class RequestMatch(msgspec.Struct):
    """A blob or a shape: its line and place, and its recorded hash."""

    line: int
    hash: str
    span: Span
    field: str


class Records:
    """The requests of a log in file order, its blobs by hash, and its tree."""

    def __init__(self, blocks: Iterable[Block], read: Callable[[int, int], bytes]) -> None:
        self.read = read
        self.reader = ClaudeReader()
        self.spans: list[Span] = []
        """Offset and size of each row of the chain."""
        self.requests: list[NotedRequest] = []
        self.kept: list[RequestMatch] = []
        self.blobs: dict[str, Span] = {}
        self.links_of: dict[int, list[int]] = {}
        self.answered: dict[str, int] = {}
        """Id of a call -> the first chain row with its result."""
        answers: dict[str, int] = {}
        names: dict[str, str] = {}
        for block in blocks:
            self._take(block, answers, names)
        for index, n in enumerate(self.reader.links.numbers):
            if n:
                self.links_of.setdefault(n, []).append(index)
        for message in self.reader.messages:
            for call in message.results:
                self.answered.setdefault(call, self.links_of[message.n][0])
        for request in self.requests:
            request.answer = answers.get(request.id, -1)

    def _take(self, block: Block, answers: dict[str, int], names: dict[str, str]) -> None:
        """Read the rows of one block, feeding the reader a run at a time: recorded requests are in between."""
        start = 0
        for i, row in enumerate(block.rows):
            kind = row.type
            if type(kind) is not str or isinstance(row.ctxkit, str):
                continue
            if kind == "assistant" and type(row.requestRef) is str:
                self._feed(block, start, i)
                start = i
                answers.setdefault(row.requestRef, len(self.reader.links))
            elif kind == "api-request":
                self._feed(block, start, i)
                start = i
                self.requests.append(_request(row, block.lines[i], len(self.reader.links), names))
                self.requests[-1].span = block.offsets[i], block.sizes[i]
            elif kind in ("api-request-blob", "api-request-shape"):
                field, named = ("message", row.hash) if kind == "api-request-blob" else ("shape", row.shapeHash)
                span = block.offsets[i], block.sizes[i]
                self.kept.append(RequestMatch(block.lines[i], text(named), span, field))
                if field == "message" and text(named):
                    self.blobs.setdefault(named, span)
        self._feed(block, start, len(block.rows))

    def _feed(self, block: Block, start: int, stop: int) -> None:
        if start < stop:
            part = slice(start, stop)
            rows, offsets, sizes, lines = block.rows[part], block.offsets[part], block.sizes[part], block.lines[part]
            self.reader.feed(Block(rows, offsets, sizes, lines, block.data, block.base))
            self.spans += [
                (offset, size) for row, offset, size in zip(rows, offsets, sizes, strict=True) if on_chain(row)
            ]

    def damaged(self) -> list[RequestMatch]:
        """The blobs and shapes whose content does not have its recorded hash."""
        return [kept for kept in self.kept if self._hash(kept) != kept.hash]

    def blob(self, hash: str) -> dict[str, Any] | None:
        """The message of the blob with this hash, if its content has that hash."""
        span = self.blobs.get(hash)
        message = self._row(span).get("message") if span is not None else None
        return message if isinstance(message, dict) and message_hash(message) == hash else None

    def shape(self, hash: str | None) -> dict[str, Any] | None:
        """System prompt and tools with this hash; None: the newest that are recorded."""
        named = [kept for kept in self.kept if kept.field == "shape" and hash in (None, kept.hash)]
        found = self._row(named[-1].span).get("shape") if named else None
        return found if isinstance(found, dict) else None

    def row(self, link: int) -> dict[str, Any]:
        """A row of the chain in full."""
        return self._row(self.spans[link])

    def _hash(self, kept: RequestMatch) -> str:
        content = self._row(kept.span).get(kept.field)
        if kept.field == "message":
            return message_hash(content) if isinstance(content, dict) else ""
        return value_hash(content)

    def _row(self, span: Span) -> dict[str, Any]:
        try:
            row = loads(self.read(*span))
        except ValueError:
            return {}
        return row if isinstance(row, dict) else {}


def noted(read: Callable[[int, int], bytes], size: int) -> bool:
    """Whether a file of `size` bytes may hold requests: its bytes are searched, nothing is decoded."""
    return any(MARK in read(at, min(_STEP + len(MARK), size - at)) for at in range(0, size, _STEP))


def _request(row: ProofRow, line: int, links: int, names: dict[str, str]) -> NotedRequest:
    """A request; `fault` says what is wrong with its row. `names`: one shared copy of each hash."""
    tail, params = value(row.tail), value(row.params)
    found = NotedRequest(
        text(row.id), line, links, text(row.base), row.keep if type(row.keep) is int else 0, [],
        text(params.get("model")) if isinstance(params, dict) else "", bool(value(row.cut)), shape=text(row.shapeHash),
    )  # fmt: skip
    if not isinstance(tail, list) or not all(isinstance(one, str) for one in tail):
        found.fault = "its row names no messages"
    elif type(row.keep) is not int or row.keep < 0:
        found.fault = "its row does not say how many messages it shares with its base"
    else:
        found.tail = [names.setdefault(one, one) for one in tail]
    return found
