"""Reads Claude Code rows into numbered messages, and the tree they hang in.

Pipeline: `store/jsonl.py` -> `ClaudeReader.feed` -> `Transcript` -> `core/replay.py`. Every row that opens a message
gets a number in file order, abandoned branches, sidechains and compacted history included (REPLAY 25); a number
never depends on a later row, so that an op fits wherever it was appended.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import msgspec

from ctxkit.core.messages import Message, Span
from ctxkit.core.oplines import OpCollector
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.claude_code.attachments import is_sent
from ctxkit.formats.claude_code.chain import UNKNOWN, Chain, Kind, Link, Preserved
from ctxkit.formats.claude_code.rows import BlockHead, ClaudeRow, MessageHead, message_head, text, value
from ctxkit.formats.claude_code.sidechains import Sidechains, views
from ctxkit.formats.claude_code.view import Groups, view_of

NAME = "claude-code"
_CHAIN = {
    "user": Kind.USER, "assistant": Kind.ASSISTANT, "system": Kind.SYSTEM, "attachment": Kind.ATTACHMENT,
    "progress": Kind.PROGRESS,
}  # fmt: skip
_USER, _RESULT, _ASSISTANT, _PROGRESS = Kind.USER, Kind.RESULT, Kind.ASSISTANT, Kind.PROGRESS
_STEPS = 1000
"""How far a row of a known response looks upwards for that response before file order decides."""
_ROWS = 1000
"""More rows than this are not one response, whatever their ids say (redacted logs)."""
NO_BLOCKS: Sequence[BlockHead] = ()
_NOT_PROMPTS = ("<local-command-", "<bash-", "[Request interrupted by user")
"""Starts of user rows that nobody typed for the model."""


class ClaudeReader:
    """A Reader (formats/base.py). Memory: one `Link` per chain row, no content."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._links: list[Link] = []
        self._spans: list[Span] = []
        self._index: dict[str, int] = {}
        self._preserved: dict[int, Preserved] = {}
        self._groups = Groups({}, {}, {})
        self._models: dict[int, str] = {}
        self._prompt: dict[str | None, int] = {}
        self._main = False
        self._unique = True
        """Whether no uuid has come twice."""
        self._sidechains = Sidechains()
        self._sides: set[str] = set()

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i, row in enumerate(block.rows):
            if isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            kind = _CHAIN.get(row.type) if type(row.type) is str else None
            if kind is not None:
                self._take(row, kind, (block.offsets[i], block.sizes[i]), block.lines[i])
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far. The view is computed anew from the last row (rule 2)."""
        chain = self.tree
        view, partial = view_of(chain, self._groups, self._messages)
        if len(self._sides) > 1 or (self._sides and self._main):
            view.threads, some = views(chain, self._groups, self._messages)
            partial = {**some, **partial}
            for thread in view.threads.values():
                view.inactive.update((n, why) for n, why in thread.inactive.items() if n in view.inactive)
        messages = list(self._messages)
        for n, rows in partial.items():
            first, *more = [self._spans[i] for i in rows]
            messages[n - 1] = msgspec.structs.replace(messages[n - 1], offset=first[0], size=first[1], more=tuple(more))
        for one in (view, *view.threads.values()):
            one.model = next((self._models[n] for n in reversed(one.order) if n in self._models), "")
        return Transcript(
            NAME, messages, array("q", self._row_of), self._rows, list(self._ops.ops), [], view=view, model=view.model
        )

    @property
    def tree(self) -> Chain:
        """The chain of the rows so far."""
        return Chain(self._links, self._index, self._preserved, side=not self._main, unique=self._unique)

    @property
    def spans(self) -> list[Span]:
        """Where each row of the chain stands."""
        return self._spans

    @property
    def messages(self) -> list[Message]:
        """The messages so far."""
        return self._messages

    @property
    def groups(self) -> Groups:
        """The rows so far by what they belong to."""
        return self._groups

    @property
    def responses(self) -> dict[int, str]:
        """Message number -> the id of the response it is of."""
        return self._groups.response

    def _take(self, row: ClaudeRow, kind: Kind, span: Span, line: int) -> None:
        """One chain row: its message, if it makes one, and its link. A third of all rows is progress: no more work."""
        links, index = self._links, self._index
        side = row.isSidechain is True
        uuid, parent = row.uuid, row.parentUuid
        if type(uuid) is not str:
            uuid = ""
        above, up = -1, -1
        if type(parent) is not str or not parent:
            parent = None
        else:
            above = up = index.get(parent, UNKNOWN)
            if up >= 0 and links[up].kind is _PROGRESS:
                above = links[up].above
        same = index.get(uuid, -1) if uuid else -1
        link = Link(kind, uuid, parent, row.timestamp, 0, self._rows, line, side, same, "", above)
        older = None
        if same >= 0:
            self._unique = False
            older = links[same]
        thread = None
        if side:
            thread = link.thread = self._sidechains.name(text(row.agentId), link, links[up] if up >= 0 else None, older)
            self._sides.add(thread)
        if kind is not _PROGRESS:
            before = older.n if older is not None else 0
            if kind is _ASSISTANT:
                self._assistant(row, link, span, thread, before)
            elif kind is _USER:
                self._user(row, link, span, thread, before)
            else:
                self._other(row, link, span, thread, before)
            if link.kind <= _ASSISTANT and not side:
                self._main = True
        if uuid:
            index[uuid] = len(links)
        links.append(link)
        self._spans.append(span)

    def _other(self, row: ClaudeRow, link: Link, span: Span, thread: str | None, before: int) -> None:
        """An attachment or a system row: what is sent of them is a message."""
        if link.kind is Kind.ATTACHMENT:
            if is_sent(row):
                link.n = self._message(row, span, thread, before, NO_BLOCKS)
        elif row.subtype == "local_command":
            link.n = self._message(row, span, thread, before, NO_BLOCKS)
        elif row.subtype == "compact_boundary":
            link.kind = Kind.BOUNDARY
            self._boundary(row)

    def _user(self, row: ClaudeRow, link: Link, span: Span, thread: str | None, before: int) -> None:
        head = message_head(row.message)
        blocks = head.content if type(head.content) is list else NO_BLOCKS
        for block in blocks:
            if block.type == "tool_result":
                link.kind = _RESULT
        link.n = self._message(row, span, thread, before, blocks)
        if link.kind is _USER:
            self._prompt[thread] = len(self._links)
            if not before:
                self._messages[link.n - 1].opens = _is_prompt(row, head)

    def _assistant(self, row: ClaudeRow, link: Link, span: Span, thread: str | None, before: int) -> None:
        head = message_head(row.message)
        groups, known, response = self._groups, before, ""
        if type(head.id) is str and head.id:
            response = head.id if thread is None else f"{thread}\0{head.id}"
            numbers = groups.numbers.setdefault(response, [])
            if numbers and not before:
                known = self._same(link, response, numbers, thread)
        n = link.n = self._message(row, span, thread, known, head.content if type(head.content) is list else NO_BLOCKS)
        groups.links.setdefault(n, []).append(len(self._links))
        if response and n not in groups.response:
            groups.numbers[response].append(n)
            groups.response[n] = response
        if type(head.model) is str and head.model != "<synthetic>":
            self._models[n] = head.model

    def _same(self, link: Link, response: str, numbers: list[int], thread: str | None) -> int:
        """The message of this response that the row continues, 0 for none: a user's words between end it (p113)."""
        if not numbers or len(self._groups.links[numbers[-1]]) >= _ROWS:
            return 0
        if link.above >= 0 and self._links[link.above].n == numbers[-1]:
            return numbers[-1]
        up = self._index.get(link.parent or "", -1)
        for _ in range(_STEPS):
            if up < 0:
                break
            above = self._links[up]
            if above.n and self._groups.response.get(above.n) == response:
                return above.n
            if above.kind is Kind.USER:
                return 0
            up = self._index.get(above.parent or "", -1)
        newest = self._groups.links[numbers[-1]][-1]
        return numbers[-1] if self._prompt.get(thread, -1) < newest else 0

    def _message(self, row: ClaudeRow, span: Span, thread: str | None, known: int, blocks: Sequence[BlockHead]) -> int:
        """Open a message with this row, or add the row to message `known`. Its number."""
        if known:
            message = self._messages[known - 1]
            message.more += (span,)
        else:
            role = "assistant" if row.type == "assistant" else "user"
            key = row.uuid if type(row.uuid) is str else ""
            agent = text(row.agentId) or None
            message = Message(len(self._messages) + 1, span[0], span[1], role, row.timestamp, agent, thread, key)
            self._messages.append(message)
            self._row_of.append(self._rows)
        for block in blocks:
            if block.type == "tool_use" and type(block.id) is str and block.id not in message.calls:
                message.calls += (block.id,)
                message.tools += (text(block.name),)
            elif (
                block.type == "tool_result"
                and type(block.tool_use_id) is str
                and block.tool_use_id not in message.results
            ):
                message.results += (block.tool_use_id,)
        return message.n

    def _boundary(self, row: ClaudeRow) -> None:
        """Remember what a compaction says that it preserved."""
        meta = value(row.compactMetadata)
        if not isinstance(meta, dict):
            return
        listed, segment = _dict(meta.get("preservedMessages")), _dict(meta.get("preservedSegment"))
        uuids = [u for u in listed.get("uuids") or () if isinstance(u, str)]
        anchor = text((listed if uuids else segment).get("anchorUuid"))
        if anchor:
            head, tail = text(segment.get("headUuid")), text(segment.get("tailUuid"))
            self._preserved[len(self._links)] = Preserved(anchor, uuids, head, tail)


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _is_prompt(row: ClaudeRow, head: MessageHead) -> bool:
    """Whether a user row is what a person asked."""
    if (
        row.isMeta is True
        or row.isCompactSummary is True
        or _dict(value(row.origin)).get("kind") == "task-notification"
    ):
        return False
    first = head.content
    if isinstance(first, list):
        words = [b for b in first if b.type == "text"] or [BlockHead()]
        first = words[0].text
    return not (isinstance(first, str) and first.startswith(_NOT_PROMPTS))
