"""Reads pi entries into numbered messages, the tree they hang in, and labels as marks.

Pipeline: `store/jsonl.py` -> `PiReader.feed` -> `Transcript` -> `core/replay.py`. Every entry that holds a message has
a number in file order, abandoned branches too (REPLAY 25).
"""

from __future__ import annotations

from array import array
from typing import Any

import msgspec

from ctxkit.core.messages import Message, Span
from ctxkit.core.oplines import OpCollector
from ctxkit.core.ops import checksum
from ctxkit.core.transcript import OpLine, Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.pi.rows import BlockHead, MessageHead, PiRow, message_head
from ctxkit.formats.pi.tree import Entry, number, view_of

NAME = "pi"
ROLES = {"toolResult": "tool"}
"""How pi's roles are called here; what is neither here nor a role of ours speaks as the user, as pi sends it."""
OWN = {"user", "assistant", "system", "developer", "tool"}
SUMMARIES = {"compaction", "branch_summary", "custom_message"}
"""Entries that are sent as a message of the user."""


class PiReader:
    """A Reader (formats/base.py). Memory: one `Entry` per row, no content."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._labels: list[OpLine] = []
        self._labelled: dict[str, str] = {}
        """Target entry -> id of the label that it has."""
        self.entries: list[Entry] = []
        self._upto = array("q")
        """For each entry, how many messages there were with it."""
        self._index: dict[str, int] = {}
        self._edits: dict[int, tuple[int, Span]] = {}
        """Entry that is a context edit with other content -> the entry that it changes, and its own bytes."""
        self._by_row: dict[int, int] = {}
        self._model = ""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i, row in enumerate(block.rows):
            if isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            if isinstance(row.type, str) and row.type != "session":
                self._take(row, (block.offsets[i], block.sizes[i]), block.lines[i])
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far. The view is computed anew from the last entry."""
        view, path = view_of(self.entries, len(self._messages))
        messages = list(self._messages)
        for at in path:
            if at in self._edits:
                target, span = self._edits[at]
                n = self.entries[target].n
                if n:
                    messages[n - 1] = msgspec.structs.replace(messages[n - 1], more=(*messages[n - 1].more, span))
        ops = [*self._labels, *self._ops.ops]
        ops.sort(key=lambda op: op.line)
        return Transcript(NAME, messages, array("q", self._row_of), self._rows, ops, [], view=view, model=self._model)

    def _take(self, row: PiRow, span: Span, line: int) -> None:
        """One entry: its message, if it holds one, and its place in the tree."""
        at = len(self.entries)
        key = row.id if isinstance(row.id, str) else ""
        linear = at - 1 if not key else -1
        parent = self._index.get(row.parentId, -1) if isinstance(row.parentId, str) else linear
        entry = Entry(0, self._rows, line, parent)
        match row.type:
            case "message":
                self._message(row, entry, span, key)
            case kind if kind in SUMMARIES:
                entry.n = self._open("user", span, row.timestamp, key)
                if kind == "compaction":
                    entry.kept = self._first_kept(row)
            case "context_edit" if isinstance(row.targetId, str):
                entry.target = self._index.get(row.targetId, -1)
                entry.removes = bytes(row.replacement) == b"null"
                if entry.target >= 0 and not entry.removes:
                    self._edits[at] = entry.target, span
            case "label" if isinstance(row.targetId, str):
                self._label(row, key, line)
            case "model_change" if isinstance(row.modelId, str):
                self._model = row.modelId
        if key:
            self._index[key] = at
        self._by_row[self._rows] = at
        self.entries.append(entry)
        self._upto.append(len(self._messages))

    def _message(self, row: PiRow, entry: Entry, span: Span, key: str) -> None:
        head = message_head(row.message)
        role = head.role if isinstance(head.role, str) else "user"
        entry.n = self._open(ROLES.get(role, role if role in OWN else "user"), span, row.timestamp, key)
        message = self._messages[entry.n - 1]
        message.opens = role == "user"
        if head.excludeFromContext is True:
            entry.hidden = "excluded"
        if role == "toolResult" and isinstance(head.toolCallId, str):
            message.results = (head.toolCallId,)
        elif role == "assistant":
            calls = {b.id: b.name for b in _blocks(head) if b.type == "toolCall" and isinstance(b.id, str)}
            message.calls = tuple(calls)
            message.tools = tuple(name if isinstance(name, str) else "" for name in calls.values())
            if isinstance(head.model, str):
                self._model = head.model

    def _open(self, role: str, span: Span, stamp: Any, key: str) -> int:
        n = len(self._messages) + 1
        self._messages.append(Message(n, *span, role, stamp, key=key))
        self._row_of.append(self._rows)
        return n

    def _first_kept(self, row: PiRow) -> int:
        """Index of the first entry that a compaction keeps; -2 where it keeps none. Version 1 counts rows from 0."""
        if isinstance(row.firstKeptEntryId, str):
            return self._index.get(row.firstKeptEntryId, -2)
        return self._by_row.get(number(row.firstKeptEntryIndex), -2)

    def _label(self, row: PiRow, key: str, line: int) -> None:
        """A label is a mark at its entry; one without words takes the label of that entry away."""
        target = row.targetId
        older = self._labelled.pop(target, None)
        if isinstance(row.label, str) and row.label and key:
            at = self._index.get(target, -1)
            if at < 0:
                return
            position = self._upto[at]
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


def _blocks(head: MessageHead) -> list[BlockHead]:
    return head.content if isinstance(head.content, list) else []
