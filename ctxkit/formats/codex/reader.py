"""Reads Codex rows into numbered messages, and applies its compactions and rollbacks.

Pipeline: `store/jsonl.py` -> `CodexReader.feed` -> `Transcript` -> `core/replay.py`. Consecutive response items of the
model (reasoning, text, calls) are one message, at the first row; messages of other roles and outputs are one each.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

from ctxkit.core.derive.synthetic_messages import begins
from ctxkit.core.messages import Message, Span
from ctxkit.core.op_lines import OpCollector
from ctxkit.core.transcript import Transcript
from ctxkit.formats import response_kinds
from ctxkit.formats.base import Block
from ctxkit.formats.codex.fragments import SUMMARY, goes_with_turn, is_own, is_summary
from ctxkit.formats.codex.history import CodexHistory
from ctxkit.formats.codex.inherited import PAGINATED
from ctxkit.formats.codex.rows import CodexItem, PayloadHead, items, pieces
from ctxkit.formats.partial_decode import head as read_head
from ctxkit.formats.partial_decode import value

NAME = "codex"
CALLS = frozenset(name for name in response_kinds.CALLS if response_kinds.KINDS[name].codex)
_MODEL_ITEMS = frozenset(name for name, kind in response_kinds.KINDS.items() if kind.codex and kind.side == "model")
MODEL = CALLS | _MODEL_ITEMS | {"context_compaction", "compaction_summary"}
"""Items that the model's side makes. Items in no table open no message, as Codex sends none (ghost_snapshot)."""
ROLES = {"agent_message": "user", "additional_tools": "developer"}
"""Items that are messages of their own: from another agent, or tools added later."""
MARKS = {
    "task_started": "started", "turn_started": "started", "turn_aborted": "ended", "task_complete": "ended",
    "turn_complete": "ended", "user_message": "asked",
}  # fmt: skip
EVENTS = frozenset({"thread_rolled_back", *MARKS})
"""Events that change the history."""
COUNT = "token_count"
"""The event in which Codex records the provider's token count."""
NO_HEAD = PayloadHead()


class HistoryList(NamedTuple):
    """A compaction's row and the items that it lists: offset and size in bytes, and the message of each."""

    offset: int
    size: int
    items: list[tuple[int, int, int]]


class CodexReader:
    """A Reader (formats/base.py). Memory: light messages, and a hash per message with text."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._history = CodexHistory()
        self._speaking: Message | None = None
        """The model's message that further items continue; None after anything else."""
        self._more: list[Span] = []
        """Its further rows."""
        self._calls: dict[str, str] = {}
        """Its calls: id -> tool."""
        self._known: dict[int, list[int]] = {}
        """Hash of role and text -> the messages with them."""
        self._mode: str | None = None
        """`history_mode` of the first `session_meta`, once it was read."""
        self._model = ""
        self._spoke = 0
        self._counts: dict[int, Span] = {}
        """Message of the model -> the row with its token count: the last one before the model's next message."""
        self.lists: list[HistoryList] = []
        """The list of each compaction that has one."""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        offsets, sizes = block.offsets, block.sizes
        for i, row in enumerate(block.rows):
            if row.ctxkit is not None and isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            kind, head = row.type, row.payload
            if type(head) is not PayloadHead:
                head = NO_HEAD
            if kind == "response_item":
                self._item(head, (offsets[i], sizes[i]), row.timestamp)
            elif kind == "event_msg":
                if head.type == COUNT:
                    if self._spoke:
                        self._counts[self._spoke] = offsets[i], sizes[i]
                elif head.type in EVENTS:
                    self._event(head, block.lines[i])
            elif kind == "compacted":
                self._compacted(block.raw(i), head, row.timestamp, (offsets[i], sizes[i]), block.lines[i])
            elif kind == "session_meta":
                self._begin(head, block.lines[i])
            elif kind == "turn_context":
                self._history.mark("ended", _id(head))
                if isinstance(head.model, str):
                    self._model = head.model
            elif kind == "inter_agent_communication":
                message = self._open("user", (offsets[i], sizes[i]), row.timestamp, NO_HEAD)
                self._history.asks(message.n)
                self._history.add(message.n)
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far."""
        self._settle()
        messages, row_of = list(self._messages), array("q", self._row_of)
        view = self._history.view(len(messages))
        ops, counts = list(self._ops.ops), dict(self._counts)
        return Transcript(NAME, messages, row_of, self._rows, ops, [], view=view, model=self._model, counts=counts)

    def _begin(self, head: PayloadHead, line: int) -> None:
        """Read the row that begins a file. A later one begins it anew, where the first says that it is paginated.

        Codex 0.171.0 itself writes one; a legacy fork has that of its parent too, without an effect.
        """
        if self._mode is None:
            self._mode = head.history_mode if isinstance(head.history_mode, str) else ""
        elif self._mode == PAGINATED:
            self._end_message()
            self._history.begin_anew(self._rows, line)

    def _item(self, head: PayloadHead, span: Span, stamp: Any) -> None:
        """Read a response item: a message of its own, or a continuation of the model's."""
        kind = head.type if type(head.type) is str else ""
        if kind in MODEL or (kind == "message" and head.role == "assistant"):
            if self._speaking is None:
                message = self._open("assistant", span, stamp, head)
                self._speaking = message
                self._spoke = message.n
                self._history.add(message.n)
            else:
                message = self._speaking
                self._more.append(span)
            if kind in CALLS:
                if isinstance(head.call_id, str):
                    tool = head.name if isinstance(head.name, str) else kind.removesuffix("_call")
                    self._calls.setdefault(head.call_id, tool)
            elif kind == "message":
                self._remember(message.n, _fingerprint("assistant", pieces(head.content)))
        elif kind == "message" or kind in ROLES:
            role = head.role if isinstance(head.role, str) else ROLES.get(kind, "user")
            message = self._open(role, span, stamp, head)
            parts = pieces(head.content)
            self._remember(message.n, _fingerprint(role, parts))
            self._classify(message.n, role, parts)
            message.opens = role == "user" and not _is_scaffolding(parts)
            self._history.add(message.n)
        elif kind.endswith("_output"):
            message = self._open("tool", span, stamp, head)
            if isinstance(head.call_id, str):
                message.results = (head.call_id,)
            self._history.add(message.n)

    def _open(self, role: str, span: Span, stamp: Any, head: PayloadHead) -> Message:
        """A new message."""
        self._end_message()
        key = head.call_id if isinstance(head.call_id, str) else ""
        message = Message(len(self._messages) + 1, span[0], span[1], role, stamp, None, None, key)
        self._messages.append(message)
        self._row_of.append(self._rows)
        return message

    def _settle(self) -> None:
        """Set what was collected for the model's message."""
        message = self._speaking
        if message is not None:
            message.more = tuple(self._more)
            message.calls, message.tools = tuple(self._calls), tuple(self._calls.values())

    def _end_message(self) -> None:
        """End the model's message: the next item begins another."""
        if self._speaking is not None:
            self._settle()
            self._speaking, self._more, self._calls = None, [], {}

    def _remember(self, n: int, words: int) -> None:
        """Record a message's hash: a `replacement_history` that lists it again refers to it (replay 25)."""
        self._known.setdefault(words, []).append(n)

    def _classify(self, n: int, role: str, parts: list[CodexItem]) -> None:
        """Record what message n is to a rollback: the begin of a user's turn, or an aside."""
        if role == "developer":
            if goes_with_turn(parts):
                self._history.aside(n)
        elif role == "user":
            if is_own(parts):
                self._history.aside(n)
                return
            self._history.asks(n)
            if is_summary(parts):
                self._history.summary(n)

    def _compacted(self, line: bytes, head: PayloadHead, stamp: Any, span: Span, number: int) -> None:
        """Read Codex's own compaction: its list is the history from here on.

        A token count that follows belongs to no reply.
        """
        self._end_message()
        self._spoke = 0
        if bytes(head.replacement_history) in (b"", b"null"):  # an old one: the user's messages, and the summary
            summary = value(head.message)
            if isinstance(summary, str):
                n = self._open("user", span, stamp, NO_HEAD).n
                self._history.asks(n)
                if summary.startswith(SUMMARY):
                    self._history.summary(n)
                self._history.compact(self._rows, number, None, [n])
            return
        listed = items(head.replacement_history, line)
        kept: list[int] = []
        new: list[int] = []
        taken: set[int] = set()
        same: dict[int, Iterator[int]] = {}
        """Hash -> the messages with it that were not compared yet, newest first."""
        found = HistoryList(*span, [])
        self.lists.append(found)
        for at, item in listed:
            one = read_head(item, PayloadHead)
            kind = one.type if isinstance(one.type, str) else ""
            if kind != "message" and kind not in MODEL and kind not in ROLES and not kind.endswith("_output"):
                continue
            role = one.role if isinstance(one.role, str) else ROLES.get(kind, "assistant")
            n, words, parts = 0, None, pieces(one.content)
            if kind == "message":
                words = _fingerprint(role, parts)
                if words not in same:
                    same[words] = reversed(self._known.get(words, ()))
                n = next((n for n in same[words] if n not in taken), 0)
            if not n:
                n = self._open(role, (span[0] + at, len(item)), stamp, one).n
                new.append(n)
                self._classify(n, role, parts)
                if words is not None:
                    self._remember(n, words)
            taken.add(n)
            kept.append(n)
            found.items.append((span[0] + at, len(item), n))
        self._history.compact(self._rows, number, kept, new)

    def _event(self, head: PayloadHead, line: int) -> None:
        """Read an event. Only rollbacks and turns count; other events mirror messages."""
        if head.type in MARKS:
            if head.type in ("task_started", "turn_started", "turn_aborted"):
                self._end_message()
            self._history.mark(MARKS[head.type], _id(head))
        elif isinstance(head.num_turns, int):
            self._end_message()
            self._history.roll_back(self._rows, line, head.num_turns)


def _id(head: PayloadHead) -> str:
    return head.turn_id if isinstance(head.turn_id, str) else ""


def _is_scaffolding(parts: list[CodexItem]) -> bool:
    return bool(parts) and isinstance(parts[0].text, str) and begins(parts[0].text)


def _fingerprint(role: str, parts: list[CodexItem]) -> int:
    """A hash of the role and the text, in whatever order the keys are."""
    return hash((role, *((str(p.text), str(p.image_url)) for p in parts)))
