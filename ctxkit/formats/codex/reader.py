"""Reads Codex rows into numbered messages, and what its compactions and rollbacks did to them.

Pipeline: `store/jsonl.py` -> `CodexReader.feed` -> `Transcript` -> `core/replay.py`. A run of response items that the
model made (reasoning, words, calls) is one message, at its first row; messages of other roles and outputs are one each.
"""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

from ctxkit.core.messages import Message, Span
from ctxkit.core.oplines import OpCollector
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.codex.history import History
from ctxkit.formats.codex.rows import CodexRow, PayloadHead, items, payload_head, pieces

NAME = "codex"
CALLS = {"function_call", "custom_tool_call", "tool_search_call", "local_shell_call"}
MODEL = CALLS | {"reasoning", "web_search_call", "image_generation_call", "compaction", "context_compaction"}
"""Items that the model's side makes. What is in no table opens no message, as Codex sends none (ghost_snapshot)."""
SCAFFOLDING = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>",
    "<user_shell_command>", "<subagent_notification>", "<model_switch>", "<INSTRUCTIONS>",
)  # fmt: skip
"""Starts of user messages that nobody typed."""


class HistoryList(NamedTuple):
    """A compaction's row, and the items that it lists: offset and size in bytes, and the message that each is."""

    offset: int
    size: int
    items: list[tuple[int, int, int]]


class CodexReader:
    """A Reader (formats/base.py). Memory: light messages, and a hash per message with words."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._history = History()
        self._speaking = 0
        """The model's message that further items belong to; 0 after anything else."""
        self._known: dict[int, list[int]] = {}
        """Hash of role and words -> the messages that have them."""
        self._model = ""
        self.lists: list[HistoryList] = []
        """What each compaction lists."""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i, row in enumerate(block.rows):
            if isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            span = (block.offsets[i], block.sizes[i])
            match row.type:
                case "response_item":
                    self._item(payload_head(row.payload), span, row.timestamp)
                case "compacted":
                    self._compacted(block.raw(i), row, span, block.lines[i])
                case "event_msg":
                    self._event(payload_head(row.payload), block.lines[i])
                case "turn_context":
                    model = payload_head(row.payload).model
                    self._model = model if isinstance(model, str) else self._model
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far."""
        messages, row_of = list(self._messages), array("q", self._row_of)
        view = self._history.view(len(messages))
        return Transcript(NAME, messages, row_of, self._rows, list(self._ops.ops), [], view=view, model=self._model)

    def _item(self, head: PayloadHead, span: Span, stamp: Any) -> None:
        """A response item: a message of its own, or more of the one the model is at."""
        kind = head.type if isinstance(head.type, str) else ""
        role = head.role if isinstance(head.role, str) else "user"
        if kind in MODEL or (kind == "message" and role == "assistant"):
            if not self._speaking:
                self._speaking = self._open("assistant", span, stamp, head)
                self._history.add(self._speaking)
            else:
                self._messages[self._speaking - 1].more += (span,)
            self._call(self._messages[self._speaking - 1], kind, head)
            if kind == "message":
                self._remember(self._speaking, role, head)
        elif kind == "message":
            n = self._open(role, span, stamp, head)
            self._remember(n, role, head)
            if self._messages[n - 1].opens:
                self._history.turn(n, self._rows)
            self._history.add(n)
        elif kind.endswith("_output"):
            n = self._open("tool", span, stamp, head)
            if isinstance(head.call_id, str):
                self._messages[n - 1].results = (head.call_id,)
            self._history.add(n)

    def _open(self, role: str, span: Span, stamp: Any, head: PayloadHead) -> int:
        """A new message; its number."""
        self._speaking = 0
        n = len(self._messages) + 1
        key = head.call_id if isinstance(head.call_id, str) else ""
        message = Message(n, *span, role, stamp, key=key)
        message.opens = role == "user" and not _is_scaffolding(head)
        self._messages.append(message)
        self._row_of.append(self._rows)
        return n

    @staticmethod
    def _call(message: Message, kind: str, head: PayloadHead) -> None:
        if kind in CALLS and isinstance(head.call_id, str) and head.call_id not in message.calls:
            message.calls += (head.call_id,)
            message.tools += (head.name if isinstance(head.name, str) else kind.removesuffix("_call"),)

    def _remember(self, n: int, role: str, head: PayloadHead) -> None:
        """So that a `replacement_history` that holds this message again is a reference to it (REPLAY 25)."""
        self._known.setdefault(_print(role, head), []).append(n)

    def _compacted(self, line: bytes, row: CodexRow, span: Span, number: int) -> None:
        """Codex's own compaction: what it lists is the history from here on."""
        head = payload_head(row.payload)
        self._speaking = 0
        listed = items(head.replacement_history, line)
        kept: list[int] = []
        new: list[int] = []
        if not bytes(head.replacement_history):  # an old one: the user's messages, and the summary as one more
            kept = [n for n in self._history.numbers if self._messages[n - 1].opens]
            if isinstance(head.message, str) and head.message:
                new.append(self._open("user", span, row.timestamp, PayloadHead()))
                self._messages[new[0] - 1].opens = False
                kept.append(new[0])
        taken: set[int] = set()
        found = HistoryList(*span, [])
        self.lists.append(found)
        for at, item in listed:
            one = payload_head(item)
            role = one.role if isinstance(one.role, str) else "assistant"
            known = self._known.get(_print(role, one), ()) if one.type == "message" else ()
            n = next((n for n in reversed(known) if n not in taken), 0)
            if not n:
                n = self._open(role, (span[0] + at, len(item)), row.timestamp, one)
                self._messages[n - 1].opens = False
                new.append(n)
                if one.type == "message":
                    self._remember(n, role, one)
            taken.add(n)
            kept.append(n)
            found.items.append((span[0] + at, len(item), n))
        self._speaking = 0
        self._history.compact(self._rows, number, kept, new)

    def _event(self, head: PayloadHead, line: int) -> None:
        """Of the events, which mirror what was said, only rollbacks and turns count."""
        if head.type == "thread_rolled_back" and isinstance(head.num_turns, int):
            self._speaking = 0
            self._history.roll_back(self._rows, line, head.num_turns)
        elif head.type in ("task_started", "turn_aborted"):
            self._speaking = 0


def _is_scaffolding(head: PayloadHead) -> bool:
    words = pieces(head.content)[:1]
    return bool(words) and isinstance(words[0].text, str) and words[0].text.lstrip().startswith(SCAFFOLDING)


def _print(role: str, head: PayloadHead) -> int:
    """A hash of the role and the words, of whatever order the keys are in."""
    return hash((role, *((str(p.text), str(p.image_url)) for p in pieces(head.content))))
