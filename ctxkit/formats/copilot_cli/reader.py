"""Reads Copilot CLI events into numbered messages, and applies its compactions and rewinds.

Pipeline: `store/jsonl.py` -> `CopilotReader.feed` -> `Transcript` -> `core/replay.py`. Each event with content is a
message. A repeated system prompt is the earlier message (replay 25); another prompt replaces it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

from ctxkit.core.derive.usage import SHUTDOWN
from ctxkit.core.messages import Message, Span
from ctxkit.core.op_lines import OpCollector
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.transcript import ProgramCut, Transcript, View
from ctxkit.formats.base import Block
from ctxkit.formats.copilot_cli.rows import CopilotRow, EventHead, RequestHead

NAME = "copilot-cli"
ROLES = {
    "system.message": "system",
    "user.message": "user",
    "system.notification": "user",
    "assistant.message": "assistant",
    "tool.execution_complete": "tool",
}
"""Events that are messages. `tool.execution_start` only repeats what the assistant's message holds."""
EVENTS = {SHUTDOWN, "session.start", "session.model_change", "session.compaction_complete", "session.snapshot_rewind"}
"""Other events whose data is read."""
COUNTS = EVENTS.union(ROLES)
NO_DATA = EventHead()


class _UndoableCut(NamedTuple):
    """A cut, and what undoes it: how many messages it kept, those that it removed, the system prompt before it."""

    cut: ProgramCut
    kept: int
    here: list[int]
    prompt: int


class CopilotReader:
    """A Reader (formats/base.py). Memory: light messages, and the rows of events by id."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._row_with: dict[str, int] = {}
        self._prompts: dict[int, int] = {}
        """Hash of a system prompt -> its message."""
        self._prompt = 0
        self._here: list[int] = []
        """The messages that Copilot CLI would send, without the system prompt."""
        self._aside: list[int] = []
        """The messages of subagents."""
        self._cuts: list[_UndoableCut] = []
        self._counts: dict[int, Span] = {}
        """Message -> the row that says how large the context is up to it."""
        self._model = ""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i, row in enumerate(block.rows):
            if row.ctxkit is not None and isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            if type(row.id) is str:
                self._row_with[row.id] = self._rows
            if type(row.type) is str and row.type in COUNTS:
                data = row.data if type(row.data) is EventHead else NO_DATA
                self._take(row, data, (block.offsets[i], block.sizes[i]), block.lines[i])
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far."""
        messages = list(self._messages)
        sides: dict[str, list[int]] = {}
        for message in messages:
            if message.thread is not None:
                sides.setdefault(message.thread, []).append(message.n)
        threads = {name: View(numbers, {}) for name, numbers in sides.items()}
        inactive = {message.n: "sidechain" for message in messages if message.thread is not None}
        first = [self._prompt] if self._prompt else []
        order = first + [m.n for m in messages if m.n != self._prompt and m.n not in inactive]
        view = View(order, inactive, [taken.cut for taken in self._cuts], threads=threads)
        row_of = array("q", self._row_of)
        ops, counts = list(self._ops.ops), dict(self._counts)
        return Transcript(NAME, messages, row_of, self._rows, ops, [], view, self._model, counts)

    def _take(self, row: CopilotRow, data: EventHead, span: Span, line: int) -> None:
        """Read one event that counts."""
        side = None
        for key in (row.agentId, data.parentToolCallId):
            if side is None and isinstance(key, str) and key:
                side = key
        kind = row.type
        if kind in ROLES and (kind != "system.message" or side is not None):
            self._message(row, data, span, side)
        elif kind == "system.message":
            self._system(row, data, span, line)
        elif kind == "session.compaction_complete":
            if data.success is True and isinstance(data.summaryContent, str) and side is None:
                message = self._open("user", row, span)
                self._cut(self._here, f"compacted by Copilot CLI at line {line}", 0, self._prompt)
                self._here.append(message.n)
        elif kind == SHUTDOWN:
            self._set_model(data)
            if self._here:
                self._counts[self._here[-1]] = span
        elif kind == "session.snapshot_rewind":
            if isinstance(data.upToEventId, str) and data.upToEventId in self._row_with:
                self._rewind(self._row_with[data.upToEventId], line)
        else:
            self._set_model(data)

    def _set_model(self, data: EventHead) -> None:
        for model in (data.newModel, data.selectedModel, data.model, data.currentModel):
            if isinstance(model, str):
                self._model = model
                return

    def _system(self, row: CopilotRow, data: EventHead, span: Span, line: int) -> None:
        """Read the system prompt: the current one, an earlier one, or a new one."""
        digest = hash(bytes(data.content))
        n = self._prompts.get(digest, 0)
        if n and n == self._prompt:
            return
        if n:
            self._bring_back(n)
        else:
            n = self._prompts[digest] = self._open("system", row, span).n
        if self._prompt:
            self._cut([self._prompt], f"replaced by Copilot CLI at line {line}", len(self._here), n)
        self._prompt = n

    def _bring_back(self, n: int) -> None:
        """Take prompt n, which is used again, out of the cut that removed it."""
        for at in range(len(self._cuts) - 1, -1, -1):
            cut = self._cuts[at].cut
            if n in cut.out:
                without = ProgramCut(cut.row, Ranges.of(cut.out) - Ranges.of([n]), cut.label)
                self._cuts[at] = self._cuts[at]._replace(cut=without)
                break

    def _message(self, row: CopilotRow, data: EventHead, span: Span, side: str | None) -> None:
        kind = row.type
        message = self._open(ROLES[kind], row, span)
        message.thread = side
        message.opens = kind == "user.message"
        if kind == "assistant.message":
            if type(data.toolRequests) is list:
                calls = [
                    one for one in data.toolRequests if type(one) is RequestHead and isinstance(one.toolCallId, str)
                ]
                message.calls = tuple([one.toolCallId for one in calls])
                message.tools = tuple([one.name if isinstance(one.name, str) else "" for one in calls])
            if side is None:
                self._set_model(data)
        elif kind == "tool.execution_complete" and isinstance(data.toolCallId, str):
            message.results = (data.toolCallId,)
        if side is None:
            self._here.append(message.n)
        else:
            self._aside.append(message.n)

    def _open(self, role: str, row: CopilotRow, span: Span) -> Message:
        """Open a message."""
        key = row.id if type(row.id) is str else ""
        message = Message(len(self._messages) + 1, span[0], span[1], role, row.timestamp, None, None, key)
        self._messages.append(message)
        self._row_of.append(self._rows)
        return message

    def _cut(self, out: Iterable[int], label: str, kept: int, prompt: int) -> None:
        """Record that `out` are removed.

        Of the current messages only the first `kept` stay; `prompt` is the new system prompt.
        """
        self._cuts.append(
            _UndoableCut(ProgramCut(self._rows, Ranges.of(out), label), kept, self._here[kept:], self._prompt)
        )
        del self._here[kept:]
        self._prompt = prompt

    def _rewind(self, to: int, line: int) -> None:
        """Remove the event at row `to` and all after it; cuts since then are undone."""
        while self._cuts and self._cuts[-1].cut.row >= to:
            taken = self._cuts.pop()
            self._here[taken.kept :] = taken.here
            self._prompt = taken.prompt
        first = bisect_left(self._row_of, to) + 1
        aside = Ranges.of(self._aside[bisect_left(self._aside, first) :])
        gone = Ranges.span(first, len(self._messages)) - aside
        prompt = self._prompt if self._prompt < first else 0
        self._cut(gone, f"rewound by Copilot CLI at line {line}", bisect_left(self._here, first), prompt)
