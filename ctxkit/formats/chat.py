"""Native logs: an OpenAI chat message per line, or any superset of it.

Pipeline: `store/jsonl.py` gives rows, `ChatReader` makes light messages of them, `ChatFormat.content` reads one in
full. A message is a record with a string `role`; other records count as rows only. Contract (REPLAY section 1): every
record with a role opens a message, so a change of that would misplace old ops.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.core.messages import Call, Content, Message, Result
from ctxkit.core.oplines import OpCollector
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block, Row
from ctxkit.formats.chat_parts import RESULT_ROLES, parts_of

_Links = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_ABSENT = msgspec.Raw(b"")
_LIST = ord("[")


class ChatRow(Row, gc=False):
    """One line. `content` and the calls stay undecoded until they are needed."""

    role: Any = None
    content: msgspec.Raw = _ABSENT
    ts: Any = None
    agent: Any = None
    thread: Any = None
    model: Any = None
    tool_calls: msgspec.Raw = _ABSENT
    tool_call_id: Any = None
    function_call: msgspec.Raw = _ABSENT
    name: Any = None


class ChatFormat:
    """Chat messages, a record each. Not `native` where they were taken out of a container (`formats/containers.py`)."""

    row: type[Row] = ChatRow

    def __init__(self, name: str = "chat", native: bool = True) -> None:
        self.name = name
        self.native = native

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether one of the records has a string `role`. An empty log, and one of ops only, is native too."""
        return not head or any(isinstance(record.get("role"), str) for record in head)

    def reader(self) -> ChatReader:
        """A new reader."""
        return ChatReader(self.name)

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full; `rows` holds its one record."""
        return content_of(rows[0], message.calls, message.results)


def content_of(record: dict[str, Any], calls: Sequence[str] = (), results: Sequence[str] = ()) -> Content:
    """One chat record in full: `calls` and `results` are the ids that reading gave it. No role counts as user."""
    role, name = record.get("role"), record.get("name")
    return Content(
        role if isinstance(role, str) else "user",
        parts_of(record, calls, results),
        name if isinstance(name, str) else None,
        [record],
    )


FORMAT = ChatFormat()


class _Function(msgspec.Struct, gc=False):
    name: str


class _Call(msgspec.Struct, gc=False):
    """A tool call as OpenAI writes it; one that is written otherwise fails to decode and is read the slow way."""

    id: str
    function: _Function


_decode_calls = msgspec.json.Decoder(list[_Call] | None).decode


class ChatReader:
    """Reads chat rows. The loop of `feed` is the hot path of every command: a plain message costs about 1 us."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._model = ""
        self._words: dict[str, str] = {}
        # the newest calls that were written without an id and have no answer yet: (made id, name), oldest first
        self._open: list[tuple[str, str]] = []

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        messages, row_of, intern = self._messages, self._row_of.append, self._words.setdefault
        append = messages.append
        n, rows = len(messages), self._rows
        skipped = -rows  # i of a row = rows + skipped: block rows seen so far, ops included
        for row, offset, size in zip(block.rows, block.offsets, block.sizes, strict=True):
            if row.ctxkit is not None and isinstance(row.ctxkit, str):
                self._ops.add(block, rows + skipped, rows, n)
                skipped += 1
                continue
            role = row.role
            if role.__class__ is str:
                n += 1
                role = intern(role, role)
                agent, thread = row.agent, row.thread
                if agent is not None:
                    agent = intern(agent, agent) if isinstance(agent, str) else None
                if thread is not None:
                    thread = intern(thread, thread) if isinstance(thread, str) else None
                if row.model is not None and isinstance(row.model, str):
                    self._model = row.model
                content = row.content
                plain = row.function_call is _ABSENT and (content is _ABSENT or memoryview(content)[0] != _LIST)
                if plain and row.tool_calls is _ABSENT and role not in RESULT_ROLES:
                    append(Message(n, offset, size, role, row.ts, agent, thread, "", (), (), (), (), role == "user"))
                else:
                    calls, tools, results = self._links(row, n, plain)
                    opens = role == "user" and not results
                    append(Message(n, offset, size, role, row.ts, agent, thread, "", calls, tools, results, (), opens))
                row_of(rows)
            rows += 1
        self._rows = rows

    def finish(self) -> Transcript:
        """The transcript of all that was fed; `damage` is left empty for the caller."""
        return Transcript(self._name, self._messages, self._row_of, self._rows, self._ops.ops, [], None, self._model)

    def _links(self, row: ChatRow, n: int, plain: bool) -> _Links:
        """The calls a message makes, their tools, and the calls it answers. `plain`: no parts, no `function_call`."""
        if plain and row.role in RESULT_ROLES:
            identity = row.tool_call_id
            if identity and isinstance(identity, str):
                return (), (), (identity,)
        elif plain:
            try:
                calls = _decode_calls(row.tool_calls) or ()
            except (msgspec.DecodeError, UnicodeDecodeError):
                return self._links_of_parts(row, n)
            ids = tuple([call.id for call in calls])
            if "" not in ids:
                return (
                    ids,
                    tuple([self._words.setdefault(call.function.name, call.function.name) for call in calls]),
                    (),
                )
        return self._links_of_parts(row, n)

    def _links_of_parts(self, row: ChatRow, n: int) -> _Links:
        """The same from the parts, as `content` reads them; calls without an id are given one here.

        An answer without an id goes to the first call of the newest message with such calls (of its name, where it
        has one) that has none yet.
        """
        record = {"role": row.role, "tool_call_id": row.tool_call_id}
        for key in ("content", "tool_calls", "function_call"):
            if raw := bytes(getattr(row, key)):
                try:
                    record[key] = loads(raw)
                except ValueError:
                    continue  # nested too deeply: the message still counts, and reading it in full says why it cannot
        calls: list[str] = []
        tools: list[str] = []
        results: list[str] = []
        for part in parts_of(record):
            if isinstance(part, Call):
                if not part.id:
                    if not any(identity.startswith(f"ctxkit-{n}-") for identity in calls):
                        self._open.clear()
                    part.id = f"ctxkit-{n}-{len(calls) + 1}"
                    self._open.append((part.id, part.name))
                calls.append(part.id)
                tools.append(part.name)
            elif isinstance(part, Result):
                results.append(part.id or self._oldest_open(row.name))
        return tuple(calls), tuple(tools), tuple(results)

    def _oldest_open(self, name: object) -> str:
        """The id of the call that an answer without an id is for; "" where none is open."""
        for place, (identity, called) in enumerate(self._open):
            if name is None or name == called:
                del self._open[place]
                return identity
        return ""
