"""The Qwen Code format: session files under `~/.qwen/projects/<folder>/chats/<session>.jsonl`.

Pipeline: `store/jsonl.py` -> `QwenReader.feed` -> `Transcript`. A row is Claude Code's envelope around a Gemini
content. A compression is a row with the whole history that replaces what came before it. The reading follows what Qwen
Code 0.24.4 sends when it resumes the sessions of `fixtures/truth-qwen-code`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
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
UNSENT = "excluded"
"""The reason why a message that Qwen Code does not send is never in the context."""
TIMEOUT = "(request timeout)"
"""A provider's text in place of a response."""
_ROLES = {"user": "user", "assistant": "assistant", "tool_result": "tool"}
"""Types of rows that hold a message, and its role."""
_INNER = {"model": "assistant", "function": "tool"}
_ASIDE = frozenset({
    "session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot",
    "managed_session_header_v1", "managed_session_event_v1", "managed_session_commit_v1",
})  # fmt: skip
"""Subtypes of system rows outside the tree: they have no children and are never the last row."""
_NO_RAW = msgspec.Raw(b"")


class QwenRow(Row, gc=False):
    """One row. `message` is a Gemini content."""

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


class _Command(msgspec.Struct, gc=False):
    """The fields of a `slash_command` row."""

    phase: Any = None
    rawCommand: Any = None
    sentToModel: Any = None
    outputHistoryItems: Any = None


class _Link(msgspec.Struct, gc=False):
    """A row as a link of the tree: the messages that it opened, and the place of a compression."""

    parent: str
    opened: list[int]
    cut: tuple[int, int] | None = None
    """Row and line of a compression; None for any other row."""
    asked: str | None = None
    """The text of a user row that holds only one text."""
    answered: str | None = None
    """The command that Qwen Code itself answered in this row."""
    command: bool = False
    """Whether this row records a command, answered by Qwen Code or not."""
    unsent: bool = False
    """Whether the row's message is never sent."""


class QwenReader(RowReader):
    """A Reader (formats/base.py). Memory: light messages, a link for each row."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._links: list[_Link] = []
        self._index: dict[str, int] = {}
        self._leaf = -1
        self._invalid: set[int] = set()
        """Responses with an empty part: Qwen Code sends no response of a run that has one."""
        self._without: set[int] = set()
        """Messages without any part, with the same effect."""
        self._timeouts: set[int] = set()
        """Responses that only report the provider's timeout."""

    def finish(self) -> Transcript:
        """The transcript so far. The view is computed anew from the last row."""
        order: list[int] = []
        cuts: list[tuple[tuple[int, int], list[int]]] = []
        kept: list[int] = []
        unsent: set[int] = set()
        asked: _Link | None = None
        for link in reversed(self._path()):
            if link.cut is not None:
                unsent |= self._void([n for n in kept if n not in unsent])
                cuts.append((link.cut, kept))
                kept, asked = [], None
            if link.command:
                if asked is not None and asked.asked is not None and link.answered == asked.asked:
                    unsent.update(asked.opened)
                asked = None
            elif link.opened and not link.unsent and link.cut is None:
                asked = link
            unsent.update(link.opened if link.unsent else ())
            order += link.opened
            kept = kept + link.opened
        unsent |= self._void([n for n in kept if n not in unsent])
        order = [n for n in order if n not in unsent]
        made = [
            ProgramCut(row, out, f"compacted by Qwen Code at line {line}")
            for (row, line), found in cuts
            if (out := [n for n in found if n not in unsent])
        ]
        branch = sorted(set(range(1, len(self._messages) + 1)).difference(order, unsent))
        away = dict.fromkeys(sorted(unsent), UNSENT) | dict.fromkeys(branch, "branch")
        return msgspec.structs.replace(super().finish(), view=View(order, away, made, self._model))

    def _path(self) -> list[_Link]:
        """The rows from the last one up to the root."""
        path: list[_Link] = []
        seen: set[int] = set()
        at = self._leaf
        while at >= 0 and at not in seen:
            seen.add(at)
            path.append(self._links[at])
            at = self._index.get(self._links[at].parent, -1)
        return path

    def _void(self, sent: list[int]) -> set[int]:
        """The responses that Qwen Code does not send: timeouts, and runs of which one is empty."""
        found = {n for n in sent if n in self._timeouts}
        for answers, run in groupby(sent, key=lambda n: self._messages[n - 1].role == "assistant"):
            numbers = list(run)
            if answers and any(n in self._invalid or n in self._without for n in numbers):
                found.update(numbers)
        return found

    def _take(self, row: QwenRow, block: Block, i: int) -> None:
        """Read a row: it continues the message with its id, or is a link that opens messages."""
        span = block.offsets[i], block.sizes[i]
        key = row.uuid if isinstance(row.uuid, str) else ""
        earlier = self._links[self._index[key]] if key in self._index else None
        role = _ROLES.get(row.type) if isinstance(row.type, str) else None
        if role is not None and earlier is not None and len(earlier.opened) == 1:
            message = self._messages[earlier.opened[0] - 1]
            message.more += (span,)
            self._link(message, row.message)
            earlier.asked = None
            self._leaf = self._index[key]
            return
        link = _Link(row.parentUuid if isinstance(row.parentUuid, str) else "", [])
        if role is not None and bytes(row.message).startswith(b"{"):
            message = self._open(role, span, row, row.message, key)
            link.opened = [message.n]
            link.unsent = row.subtype == "realtime_message"
            link.asked = _words(row.message) if role == "user" and row.subtype is None else None
            if isinstance(row.model, str):
                self._model = row.model
        elif row.type == "system" and row.subtype == "slash_command":
            link.command = True
            link.answered = _answered(row.systemPayload)
        elif row.type == "system" and row.subtype == "chat_compression":
            raw = block.raw(i)
            listed = partial_decode.head(row.systemPayload, _Payload).compressedHistory
            if bytes(listed).startswith(b"["):
                link.cut = self._rows, block.lines[i]
                for at, one in items(listed, raw, "compressedHistory"):
                    inner = partial_decode.head(one, _Content).role
                    speaker = _INNER.get(inner, inner) if isinstance(inner, str) else "user"
                    link.opened.append(self._open(speaker, (span[0] + at, len(one)), row, one, "").n)
        if role is None and (row.type != "system" or row.subtype in _ASIDE):
            return  # not in the tree
        if key:
            self._index.setdefault(key, len(self._links))
        self._leaf = len(self._links)
        self._links.append(link)

    def _open(self, role: str, span: Span, row: QwenRow, content: Any, key: str) -> Message:
        message = self._opened(role, span, row.timestamp, key)
        self._without.add(message.n)
        self._link(message, content)
        message.opens = role == "user" and not message.results
        return message

    def _link(self, message: Message, content: Any) -> None:
        """Add the calls and results of a message; a call without an id gets one."""
        listed = partial_decode.value(partial_decode.head(content, _Content).parts)
        for part in parts_of(listed, body=True):
            if isinstance(part, Call):
                message.calls += (part.id or f"ctxkit-{message.n}-{len(message.calls) + 1}",)
                message.tools += (part.name,)
            elif isinstance(part, Result):
                message.results += (part.id,)
        if isinstance(listed, list) and listed:
            self._without.discard(message.n)
            if any(map(_is_empty, listed)):
                self._invalid.add(message.n)
            if _says_timeout(listed):
                self._timeouts.add(message.n)
            else:
                self._timeouts.discard(message.n)


def _words(content: Any) -> str | None:
    """The text of a content that is one text and nothing else."""
    listed = partial_decode.value(partial_decode.head(content, _Content).parts)
    match listed:
        case [{"text": str() as words, **rest}] if not rest:
            return words
    return None


def _answered(payload: Any) -> str | None:
    """The command of a row if Qwen Code itself answered it and no model saw it."""
    command = partial_decode.head(payload, _Command)
    output = command.outputHistoryItems
    if command.phase != "result" or command.sentToModel is True or not isinstance(output, list) or not output:
        return None
    by_qwen = all(isinstance(one, dict) and one.get("type") == "assistant" for one in output)
    return command.rawCommand if by_qwen and isinstance(command.rawCommand, str) else None


def _is_empty(part: Any) -> bool:
    """Whether a part holds neither text nor a thought nor a call."""
    if not isinstance(part, dict) or not part:
        return True
    return part.get("text") == "" and not (part.get("thought") or part.get("thoughtSignature")) and (
        part.get("functionCall") is None
    )  # fmt: skip


def _says_timeout(parts: list[Any]) -> bool:
    """Whether a response only reports the provider's timeout."""
    found = [part for part in parts if isinstance(part, dict)]
    if any("functionCall" in part or not (part.get("thought") or "text" in part) for part in found):
        return False
    return "".join(str(part.get("text", "")) for part in found if not part.get("thought")).strip() == TIMEOUT


class QwenCode(Format):
    """A Format (formats/base.py)."""

    name: str = NAME
    native: bool = False
    row: type[Row] = QwenRow
    leaves: frozenset[str] = frozenset({"no-call", "other-session"})

    def detect(self, head: Sequence[Json]) -> bool:
        """Recognizes Claude Code's envelope around Gemini's parts."""
        return dialect(head) == NAME

    def reader(self) -> QwenReader:
        """A new reader."""
        return QwenReader()

    def links(self, record: Json) -> RecordLinks | None:
        """The parent's uuid and the session's id. A message of several rows repeats its own uuid."""
        return RecordLinks.of(None, record.get("parentUuid"), record.get("sessionId"))

    def title(self, holding: Callable[[bytes], Iterator[Json]]) -> str:
        """The last name that the user or the program gave it."""
        for row in holding(b'"custom_title"'):
            payload = row.get("systemPayload")
            if row.get("subtype") == "custom_title" and isinstance(payload, dict):
                return found if isinstance(found := payload.get("customTitle"), str) else ""
        return ""

    def content(self, message: Message, rows: list[Json]) -> Content:
        """The message in full, with the ids that the reader assigned."""
        parts: list[Part] = []
        for row in rows:
            inner = row.get("message", row)
            parts += parts_of(inner.get("parts"), body=True) if isinstance(inner, dict) else []
        return Content(message.role, with_ids(parts, message), rows=rows)


FORMAT = QwenCode()
