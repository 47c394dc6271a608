"""Reads Copilot CLI events into numbered messages, and what its compactions and rewinds did to them.

Pipeline: `store/jsonl.py` -> `CopilotReader.feed` -> `Transcript` -> `core/replay.py`. Each event that says something
is a message. A system prompt that is told again is the one before (REPLAY 25); another one takes its place.
"""

from __future__ import annotations

from array import array
from typing import Any

from ctxkit.core.messages import Message, Span
from ctxkit.core.oplines import OpCollector
from ctxkit.core.transcript import Cut, Transcript, View
from ctxkit.formats.base import Block
from ctxkit.formats.copilot_cli.rows import CopilotRow, EventHead, RequestHead
from ctxkit.formats.heads import head, listed

NAME = "copilot-cli"
ROLES = {
    "system.message": "system",
    "user.message": "user",
    "system.notification": "user",
    "assistant.message": "assistant",
    "tool.execution_complete": "tool",
}
"""Events that are messages. `tool.execution_start` says again what the assistant's message holds."""
EVENTS = {"session.start", "session.model_change", "session.compaction_complete", "session.snapshot_rewind"}
"""Other events whose data counts."""


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
        """The messages that Copilot CLI would send, but for the system prompt."""
        self._cuts: list[tuple[Cut, list[int], int]] = []
        """Each cut with what was there before it, and the system prompt of then."""
        self._model = ""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i, row in enumerate(block.rows):
            if isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            if isinstance(row.id, str):
                self._row_with[row.id] = self._rows
            if row.type in ROLES or row.type in EVENTS:
                self._take(row, head(row.data, EventHead), (block.offsets[i], block.sizes[i]), block.lines[i])
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far."""
        messages = list(self._messages)
        threads: dict[str, View] = {}
        for message in messages:
            if message.thread is not None:
                threads.setdefault(message.thread, View([], {})).order.append(message.n)
        inactive = {message.n: "sidechain" for message in messages if message.thread is not None}
        first = [self._prompt] if self._prompt else []
        order = first + [m.n for m in messages if m.n != self._prompt and m.n not in inactive]
        view = View(order, inactive, [cut for cut, _, _ in self._cuts], threads=threads)
        row_of = array("q", self._row_of)
        return Transcript(NAME, messages, row_of, self._rows, list(self._ops.ops), [], view=view, model=self._model)

    def _take(self, row: CopilotRow, data: EventHead, span: Span, line: int) -> None:
        """One event that counts."""
        side = next((key for key in (row.agentId, data.parentToolCallId) if isinstance(key, str) and key), None)
        match row.type:
            case "session.start" | "session.model_change":
                self._speaks(data)
            case "session.compaction_complete":
                if data.success is True and isinstance(data.summaryContent, str) and side is None:
                    n = self._open("user", row, span)
                    self._cut(self._here, f"compacted by Copilot CLI at line {line}", [n], self._prompt)
            case "session.snapshot_rewind":
                if isinstance(data.upToEventId, str) and data.upToEventId in self._row_with:
                    self._rewind(self._row_with[data.upToEventId], line)
            case "system.message" if side is None:
                self._system(row, data, span, line)
            case _:
                self._message(row, data, span, side)

    def _speaks(self, data: EventHead) -> None:
        for model in (data.newModel, data.selectedModel, data.model):
            if isinstance(model, str):
                self._model = model
                return

    def _system(self, row: CopilotRow, data: EventHead, span: Span, line: int) -> None:
        """The system prompt: the one that is known, or a new one in the place of the one before."""
        known = hash(bytes(data.content))
        n = self._prompts.get(known) or self._open("system", row, span)
        if n == self._prompt:
            return
        self._prompts[known] = n
        if self._prompt:
            self._cut([self._prompt], f"replaced by Copilot CLI at line {line}", self._here, n)
        self._cuts = [(_without(cut, n), here, prompt) for cut, here, prompt in self._cuts]
        self._prompt = n

    def _message(self, row: CopilotRow, data: EventHead, span: Span, side: str | None) -> None:
        n = self._open(ROLES[row.type], row, span)
        message = self._messages[n - 1]
        message.thread = side
        message.opens = row.type == "user.message"
        if row.type == "assistant.message":
            calls = [head(one, RequestHead) for one in listed(data.toolRequests)]
            calls = [one for one in calls if isinstance(one.toolCallId, str)]
            message.calls = tuple(one.toolCallId for one in calls)
            message.tools = tuple(one.name if isinstance(one.name, str) else "" for one in calls)
            if side is None:
                self._speaks(data)
        elif row.type == "tool.execution_complete" and isinstance(data.toolCallId, str):
            message.results = (data.toolCallId,)
        if side is None:
            self._here.append(n)

    def _open(self, role: str, row: CopilotRow, span: Span) -> int:
        """A new message; its number."""
        n = len(self._messages) + 1
        key: Any = row.id
        self._messages.append(Message(n, *span, role, row.timestamp, key=key if isinstance(key, str) else ""))
        self._row_of.append(self._rows)
        return n

    def _cut(self, out: list[int], label: str, here: list[int], prompt: int) -> None:
        self._cuts.append((Cut(self._rows, list(out), label), self._here, self._prompt))
        self._here, self._prompt = list(here), prompt

    def _rewind(self, to: int, line: int) -> None:
        """The event at row `to` and all after it are gone; cuts since then are undone."""
        while self._cuts and self._cuts[-1][0].row >= to:
            _, self._here, self._prompt = self._cuts.pop()
        gone = [m.n for m in self._messages if self._row_of[m.n - 1] >= to and m.thread is None]
        here = [n for n in self._here if self._row_of[n - 1] < to]
        prompt = self._prompt if self._prompt and self._row_of[self._prompt - 1] < to else 0
        self._cut(gone, f"rewound by Copilot CLI at line {line}", here, prompt)


def _without(cut: Cut, n: int) -> Cut:
    """The same cut without message n, which came back."""
    return Cut(cut.row, [one for one in cut.out if one != n], cut.label)
