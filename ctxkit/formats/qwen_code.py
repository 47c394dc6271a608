"""The Qwen Code format: session files under `~/.qwen/projects/<folder>/chats/<session>.jsonl`.

Pipeline: `store/jsonl.py` -> `QwenReader.feed` -> `Transcript`. A row is Claude Code's envelope around a content of
Gemini's. A compression is a row that holds the whole history that takes the place of what came before it. The reading
follows Qwen Code's published source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from ctxkit.core.messages import Call, Content, Message, Part, Result, Span
from ctxkit.core.transcript import ProgramCut, Transcript, View
from ctxkit.formats import partial_decode
from ctxkit.formats.base import Block, Format, RecordLinks, Row
from ctxkit.formats.embedded_messages import items
from ctxkit.formats.foreign_keys import Json, dialect
from ctxkit.formats.gemini_parts import parts_of, with_ids
from ctxkit.formats.rowwise import RowReader

NAME = "qwen-code"
_ROLES = {"user": "user", "assistant": "assistant", "tool_result": "tool"}
"""Types of rows that hold a message, and whose it is."""
_INNER = {"model": "assistant", "function": "tool"}
_NO_RAW = msgspec.Raw(b"")


class QwenRow(Row, gc=False):
    """One row. `message` is a content of Gemini's."""

    uuid: Any = None
    parentUuid: Any = None
    type: Any = None
    subtype: Any = None
    timestamp: Any = None
    model: Any = None
    message: msgspec.Raw = _NO_RAW
    systemPayload: msgspec.Raw = _NO_RAW


class _Content(msgspec.Struct, gc=False):
    role: Any = None
    parts: msgspec.Raw = _NO_RAW


class _Payload(msgspec.Struct, gc=False):
    compressedHistory: msgspec.Raw = _NO_RAW


class _Link(msgspec.Struct, gc=False):
    """A row as a link of the tree: the messages that it opened, and where a compression stands."""

    parent: int
    opened: list[int]
    cut: tuple[int, int] | None = None
    """Row and line of a compression; None for any other row."""


class QwenReader(RowReader):
    """A Reader (formats/base.py). Memory: light messages, a link for each row."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._links: list[_Link] = []
        self._index: dict[str, int] = {}

    def finish(self) -> Transcript:
        """The transcript so far. The view is computed anew from the last row."""
        path: list[_Link] = []
        at = len(self._links) - 1
        while at >= 0:
            path.append(self._links[at])
            above = self._links[at].parent
            at = above if above < at else -1  # nothing hangs on what comes later
        order: list[int] = []
        cuts: list[ProgramCut] = []
        visibility: list[int] = []
        for link in reversed(path):
            if link.cut is not None:
                row, line = link.cut
                cuts.append(ProgramCut(row, visibility, f"compacted by Qwen Code at line {line}"))
                visibility = []
            order += link.opened
            visibility = visibility + link.opened
        out = dict.fromkeys(sorted(set(range(1, len(self._messages) + 1)).difference(order)), "branch")
        return msgspec.structs.replace(super().finish(), view=View(order, out, cuts, self._model))

    def _take(self, row: QwenRow, block: Block, i: int) -> None:
        """A row: one more of a message whose id it has, or a link that opens messages."""
        span = block.offsets[i], block.sizes[i]
        key = row.uuid if isinstance(row.uuid, str) else ""
        known = self._links[self._index[key]] if key in self._index else None
        role = _ROLES.get(row.type) if isinstance(row.type, str) else None
        if role is not None and known is not None and len(known.opened) == 1:
            message = self._messages[known.opened[0] - 1]
            message.more += (span,)
            self._link(message, row.message)
            return
        parent = row.parentUuid
        link = _Link(self._index.get(parent, -1) if isinstance(parent, str) else -1, [])
        if role is not None and bytes(row.message).startswith(b"{"):
            link.opened = [self._open(role, span, row, row.message, key).n]
            if isinstance(row.model, str):
                self._model = row.model
        elif row.type == "system" and row.subtype == "chat_compression":
            raw = block.raw(i)
            listed = partial_decode.head(row.systemPayload, _Payload).compressedHistory
            for at, one in items(listed, raw, "compressedHistory") if bytes(listed).startswith(b"[") else ():
                said = partial_decode.head(one, _Content).role
                whose = _INNER.get(said, said) if isinstance(said, str) else "user"
                link.opened.append(self._open(whose, (span[0] + at, len(one)), row, one, "").n)
            if link.opened:
                link.cut = self._rows, block.lines[i]
        if key:
            self._index[key] = len(self._links)
        self._links.append(link)

    def _open(self, role: str, span: Span, row: QwenRow, content: Any, key: str) -> Message:
        message = self._opened(role, span, row.timestamp, key)
        self._link(message, content)
        message.opens = role == "user" and not message.results
        return message

    def _link(self, message: Message, content: Any) -> None:
        """The calls that a message makes, and those that it answers; one that has no id is given one."""
        for part in parts_of(partial_decode.value(partial_decode.head(content, _Content).parts), body=True):
            if isinstance(part, Call):
                message.calls += (part.id or f"ctxkit-{message.n}-{len(message.calls) + 1}",)
                message.tools += (part.name,)
            elif isinstance(part, Result):
                message.results += (part.id,)


class QwenCode(Format):
    """A Format (formats/base.py). What Qwen Code repairs when it sends a session is not known."""

    name: str = NAME
    native: bool = False
    row: type[Row] = QwenRow

    def detect(self, head: Sequence[Json]) -> bool:
        """Claude Code's envelope around parts of Gemini's."""
        return dialect(head) == NAME

    def reader(self) -> QwenReader:
        """A new reader."""
        return QwenReader()

    def ties(self, record: Json) -> RecordLinks | None:
        """Rows hang on one another by uuid, which a message of several rows repeats."""
        return RecordLinks.of(None, record.get("parentUuid"), record.get("sessionId"))

    def title(self, holding: Callable[[bytes], Iterator[Json]]) -> str:
        """The name that the user or the program gave it last."""
        for row in holding(b'"custom_title"'):
            told = row.get("systemPayload")
            if row.get("subtype") == "custom_title" and isinstance(told, dict):
                return found if isinstance(found := told.get("customTitle"), str) else ""
        return ""

    def content(self, message: Message, rows: list[Json]) -> Content:
        """The message in full, with the ids that reading gave."""
        said: list[Part] = []
        for row in rows:
            inner = row.get("message", row)
            said += parts_of(inner.get("parts"), body=True) if isinstance(inner, dict) else []
        return Content(message.role, with_ids(said, message), rows=rows)


FORMAT = QwenCode()
