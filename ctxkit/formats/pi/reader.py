"""Reads pi entries into numbered messages, the tree they hang in, and labels as marks.

Pipeline: `store/jsonl.py` -> `PiReader.feed` -> `Transcript` -> `core/replay.py`. Every entry that holds a message has
a number in file order, abandoned branches too (replay 25).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import Any

import msgspec

from ctxkit.core.messages import Message, Span
from ctxkit.core.op_lines import OpCollector
from ctxkit.core.ops import checksum
from ctxkit.core.text.json_structs import NoObject, shaped
from ctxkit.core.text.json_text import loads
from ctxkit.core.transcript import OpLine, Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.pi.rows import BlockHead, MessageHead, PiRow
from ctxkit.formats.pi.tree import TreeEntry, number, view_of

NAME = "pi"
OWN = {"user", "assistant", "system", "developer", "tool"}
"""Roles that are called so here too; any other but `toolResult` speaks as the user, as pi sends it."""
SUMMARIES = {"compaction", "branch_summary", "custom_message"}
"""Entries that are sent as a message of the user."""
NO_HEAD = MessageHead()
_ROW = attrgetter("row")
_head = msgspec.json.Decoder(MessageHead | NoObject).decode


class PiReader:
    """A Reader (formats/base.py). Memory: one `TreeEntry` per row, no content."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._labels: list[OpLine] = []
        self._labelled: dict[str, str] = {}
        """Target entry -> id of the label that it has."""
        self.entries: list[TreeEntry] = []
        self._index: dict[str, int] = {}
        self._edits: dict[int, tuple[int, Span, dict[str, str]]] = {}
        """Entry that is a context edit with other content -> the entry that it changes, its bytes, its calls."""
        self._fixed: set[int] = set()
        """Entries whose content no edit changes: summaries, commands of the user."""
        self._model = ""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        offsets, sizes, lines = block.offsets, block.sizes, block.lines
        for i, row in enumerate(block.rows):
            if row.ctxkit is not None and isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            if type(row.type) is str and row.type != "session":
                self._take(row, (offsets[i], sizes[i]), lines[i])
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far. The view is computed anew from the last entry."""
        view, path = view_of(self.entries, len(self._messages))
        messages = list(self._messages)
        for at in path:
            if at in self._edits:
                target, span, calls = self._edits[at]
                n = self.entries[target].n
                if n:
                    message = msgspec.structs.replace(messages[n - 1], more=(*messages[n - 1].more, span))
                    if message.role == "assistant":
                        message.calls, message.tools = tuple(calls), tuple(calls.values())
                    messages[n - 1] = message
        ops = [*self._labels, *self._ops.ops]
        ops.sort(key=lambda op: op.line)
        return Transcript(NAME, messages, array("q", self._row_of), self._rows, ops, [], view=view, model=self._model)

    def _take(self, row: PiRow, span: Span, line: int) -> None:
        """One entry: its message, if it holds one, and its place in the tree."""
        at = len(self.entries)
        kind, key = row.type, row.id
        if type(key) is not str:
            key = ""
        parent = -1 if key else at - 1
        if type(row.parentId) is str:
            parent = self._index.get(row.parentId, -1)
        entry = TreeEntry(0, self._rows, line, parent)
        if kind == "message":
            self._message(row, entry, span, key)
        elif kind in SUMMARIES:
            entry.n = self._open("user", span, row.timestamp, key).n
            if kind != "custom_message":
                self._fixed.add(at)
            if kind == "compaction":
                entry.kept = self._first_kept(row)
        elif kind == "model_change":
            if isinstance(row.modelId, str):
                self._model = row.modelId
        elif isinstance(row.targetId, str):
            if kind == "context_edit":
                entry.target = self._index.get(row.targetId, -1)
                entry.removes = bytes(row.replacement) == b"null"
                if entry.target >= 0 and not entry.removes and entry.target not in self._fixed:
                    self._edits[at] = entry.target, span, _calls(_said(row.replacement))
            elif kind == "label":
                self._label(row, key, line)
        if key:
            self._index[key] = at
        self.entries.append(entry)

    def _message(self, row: PiRow, entry: TreeEntry, span: Span, key: str) -> None:
        head = row.message
        if type(head) is not MessageHead:
            head = NO_HEAD
        role = head.role if type(head.role) is str else "user"
        if role == "toolResult":
            message = self._open("tool", span, row.timestamp, key)
            if isinstance(head.toolCallId, str):
                message.results = (head.toolCallId,)
        elif role == "assistant":
            message = self._open("assistant", span, row.timestamp, key)
            if calls := _calls(head):
                message.calls, message.tools = tuple(calls), tuple(calls.values())
            if isinstance(head.model, str):
                self._model = head.model
        else:
            message = self._open(role if role in OWN else "user", span, row.timestamp, key)
            message.opens = role == "user"
            if role != "user":
                self._fixed.add(len(self.entries))
        entry.n = message.n
        if head.excludeFromContext is True:
            entry.hidden = "excluded"

    def _open(self, role: str, span: Span, stamp: Any, key: str) -> Message:
        message = Message(len(self._messages) + 1, span[0], span[1], role, stamp, None, None, key)
        self._messages.append(message)
        self._row_of.append(self._rows)
        return message

    def _first_kept(self, row: PiRow) -> int:
        """Index of the first entry that a compaction keeps; -2 where it keeps none. Version 1 counts rows from 0."""
        if isinstance(row.firstKeptEntryId, str):
            return self._index.get(row.firstKeptEntryId, -2)
        kept = number(row.firstKeptEntryIndex)
        at = bisect_left(self.entries, kept, key=_ROW)
        return at if at < len(self.entries) and self.entries[at].row == kept else -2

    def _label(self, row: PiRow, key: str, line: int) -> None:
        """A label is a mark at its entry; one without words takes the label of that entry away."""
        target = row.targetId
        older = self._labelled.pop(target, None)
        if isinstance(row.label, str) and row.label and key:
            at = self._index.get(target, -1)
            if at < 0:
                return
            position = bisect_right(self._row_of, self.entries[at].row)
            self._op({"ctxkit": "mark", "v": 1, "id": key, "at": {"messages": position}, "label": row.label}, row, line)
            self._labelled[target] = key
        elif older is not None and key:
            self._op(
                {"ctxkit": "undo", "v": 1, "id": key, "at": {"messages": len(self._messages)}, "op": older}, row, line
            )

    def _op(self, body: dict[str, Any], row: PiRow, line: int) -> None:
        if isinstance(row.timestamp, str):
            body["ts"] = row.timestamp
        body["sum"] = checksum(body)
        self._labels.append(OpLine(body, self._rows, len(self._messages), line))


def _calls(head: MessageHead) -> dict[str, str]:
    """The ids of calls, with the names of their tools."""
    if type(head.content) is not list:
        return {}
    return {
        block.id: block.name if isinstance(block.name, str) else ""
        for block in head.content
        if type(block) is BlockHead and block.type == "toolCall" and isinstance(block.id, str)
    }


def _said(replacement: msgspec.Raw) -> MessageHead:
    """What an edit puts in the place of content: it stands in an object, as in a message."""
    found: Any
    try:
        found = _head(replacement)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = loads(bytes(replacement)) if replacement else None
        found = shaped(found, MessageHead) if isinstance(found, dict) else None
    return found if isinstance(found, MessageHead) else NO_HEAD
