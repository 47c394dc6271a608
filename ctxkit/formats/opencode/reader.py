"""Reads opencode messages into numbers, and what compactions and a revert did to them.

Pipeline: `store/jsonl.py` -> `OpencodeReader.feed` -> `Transcript` -> `core/replay.py`. Each message is one. A call and
its result stand in one part; ids may repeat (exports are redacted), so nothing goes by an id alone.
"""

from __future__ import annotations

from array import array

from ctxkit.core.messages import Message, Span
from ctxkit.core.op_lines import OpCollector
from ctxkit.core.transcript import ProgramCut, Transcript, View
from ctxkit.formats.base import Block
from ctxkit.formats.opencode.rows import InfoHead, OpencodeRow, PartHead, StateHead, TimeHead

NAME = "opencode"
FAILED = "excluded"
"""Why a response that ended with an error is not in the context."""
DONE = ("completed", "error")
NO_INFO = InfoHead()


class OpencodeReader:
    """A Reader (formats/base.py). Memory: light messages."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._ids: set[str] = set()
        self._asked: dict[str, int] = {}
        """Id of a user message that asks for a compaction -> its number, the newest."""
        self._begins = 1
        """The first message that opencode would send."""
        self._cuts: list[ProgramCut] = []
        self._failed: set[int] = set()
        self._reverted = ""
        self._model = ""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i, row in enumerate(block.rows):
            if row.ctxkit is not None and isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            info = row.info if type(row.info) is InfoHead else NO_INFO
            self._take(row, info, (block.offsets[i], block.sizes[i]))
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far."""
        messages = list(self._messages)
        cuts = list(self._cuts)
        first = next((m.n for m in messages if self._reverted and m.key == self._reverted), 0)
        if first:
            out = list(range(max(first, self._begins), len(messages) + 1))
            cuts.append(ProgramCut(self._rows - 1, out, "reverted by opencode"))
        order = [m.n for m in messages if m.n not in self._failed]
        view = View(order, dict.fromkeys(sorted(self._failed), FAILED), cuts)
        row_of = array("q", self._row_of)
        return Transcript(NAME, messages, row_of, self._rows, list(self._ops.ops), [], view=view, model=self._model)

    def _take(self, row: OpencodeRow, info: InfoHead, span: Span) -> None:
        """A message; or the session, which says what was reverted."""
        if not isinstance(info.role, str):
            revert = info.revert if row.document is True and isinstance(info.revert, dict) else {}
            if isinstance(revert.get("messageID"), str):
                self._reverted = revert["messageID"]
            return
        n = len(self._messages) + 1
        key = info.id if isinstance(info.id, str) else ""
        created = info.time.created if type(info.time) is TimeHead else None
        message = Message(n, span[0], span[1], info.role, created, None, None, key)
        message.opens = info.role == "user"
        self._messages.append(message)
        self._row_of.append(self._rows)
        parts = [one for one in row.parts if type(one) is PartHead] if type(row.parts) is list else []
        tools = [part for part in parts if part.type == "tool"]
        if tools:
            self._link(message, tools)
        if isinstance(info.modelID, str):
            self._model = info.modelID
        if info.error is not None:
            said = any(part.type in ("text", "tool") for part in parts)
            if not (said and _aborted(info.error)):
                self._failed.add(n)
        if info.role == "user" and any(part.type == "compaction" for part in parts):
            self._asked[key] = n
        elif info.summary and bytes(info.summary) == b"true" and info.finish and isinstance(info.parentID, str):
            self._compacted(self._asked.get(info.parentID, 0))

    def _link(self, message: Message, parts: list[PartHead]) -> None:
        """The calls of a message and their results; an id that is missing, or was there before, is made anew."""
        calls: list[str] = []
        for k, part in enumerate(parts, 1):
            known = isinstance(part.callID, str) and part.callID and part.callID not in self._ids
            calls.append(part.callID if known else f"ctxkit-{message.n}-{k}")
            self._ids.add(calls[-1])
        message.calls = tuple(calls)
        message.tools = tuple([part.tool if isinstance(part.tool, str) else "" for part in parts])
        message.results = tuple([key for key, part in zip(calls, parts, strict=True) if _ended(part)])

    def _compacted(self, asked: int) -> None:
        """A summary that is complete: the context begins with the message that asked for it."""
        out = list(range(self._begins, asked))
        if out:
            self._cuts.append(ProgramCut(self._rows, out, f"compacted by opencode at message {asked}"))
            self._begins = asked


def _ended(part: PartHead) -> bool:
    return type(part.state) is StateHead and part.state.status in DONE


def _aborted(error: object) -> bool:
    return isinstance(error, dict) and error.get("name") == "MessageAbortedError"
