"""Native logs: an OpenAI chat message per line, or any superset of it.

Pipeline: `store/jsonl.py` gives rows, `ChatReader` makes light messages of them, `ChatFormat.content` reads one in
full. A message is a record with a string `role`; other records count as rows only. Contract (REPLAY section 1): every
record with a role opens a message, so a change of that would misplace old ops.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import count
from operator import attrgetter
from types import NoneType
from typing import Any

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.core.messages import Call, Content, Message, Result
from ctxkit.core.oplines import OpCollector
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block, Row
from ctxkit.formats.chat_parts import RESULT_ROLES, parts_of
from ctxkit.formats.columns import Columns, Links

_ABSENT = msgspec.Raw(b"")
_LIST = ord("[")
_CTXKIT, _ROLE, _TS, _CONTENT = map(attrgetter, ("ctxkit", "role", "ts", "content"))
_AGENT, _THREAD, _MODEL = map(attrgetter, ("agent", "thread", "model"))


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
    """Reads chat rows. `feed` is the hot path of every command: it works on whole columns, not on rows."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._messages = Columns()
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._model = ""
        self._words: dict[str, str] = {}
        # the newest calls that were written without an id and have no answer yet: (made id, name), oldest first
        self._open: list[tuple[str, str]] = []

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        rows = block.rows
        done = 0
        if set(map(_CTXKIT, rows)) != {None} or set(map(type, map(_ROLE, rows))) != {str}:
            for i, row in enumerate(rows):
                if isinstance(row.ctxkit, str):
                    self._run(block, done, i)
                    self._ops.add(block, i, self._rows, len(self._messages))
                elif not isinstance(row.role, str):
                    self._run(block, done, i)
                    self._rows += 1
                else:
                    continue
                done = i + 1
        self._run(block, done, len(rows))

    def _run(self, block: Block, start: int, end: int) -> None:
        """Take the rows `start` to `end` of a block, all of which are messages."""
        if start == end:
            return
        rows = block.rows if end - start == len(block.rows) else block.rows[start:end]
        intern = self._words.setdefault
        roles = [intern(role, role) for role in map(_ROLE, rows)]
        first = len(self._messages) + 1
        self._messages.extend(roles, map(_TS, rows), block.offsets[start:end], block.sizes[start:end])
        self._row_of.extend(range(self._rows, self._rows + len(rows)))
        self._rows += len(rows)
        self._rare(rows, first)
        lists = [raw is not _ABSENT and memoryview(raw)[0] == _LIST for raw in map(_CONTENT, rows)]
        answering = not RESULT_ROLES.isdisjoint(roles)
        # in the order of the rows: an answer without an id is for the calls before it
        links = {
            n: self._links(row, n, not listed and row.function_call is _ABSENT)
            for n, row, listed in zip(count(first), rows, lists, strict=False)
            if listed
            or row.tool_calls is not _ABSENT
            or row.function_call is not _ABSENT
            or (answering and row.role in RESULT_ROLES and not (row.tool_call_id and isinstance(row.tool_call_id, str)))
        }
        if links:
            self._messages.link(links)
        if answering:
            plain = zip(count(first), rows, roles, strict=False)
            self._messages.answer(
                {n: row.tool_call_id for n, row, role in plain if role in RESULT_ROLES and n not in links}
            )

    def _rare(self, rows: Sequence[Any], first: int) -> None:
        """Agents, threads and models, where any row of the run has one."""
        for get in (_AGENT, _THREAD):
            if set(map(type, map(get, rows))) != {NoneType}:
                for n, row in enumerate(rows, first):
                    self._messages.assign(n, self._interned(row.agent), self._interned(row.thread))
                break
        if set(map(type, map(_MODEL, rows))) != {NoneType}:
            self._model = next((row.model for row in reversed(rows) if isinstance(row.model, str)), self._model)

    def _interned(self, word: object) -> object:
        return self._words.setdefault(word, word) if isinstance(word, str) else None

    def finish(self) -> Transcript:
        """The transcript of all that was fed; `damage` is left empty for the caller."""
        return Transcript(self._name, self._messages, self._row_of, self._rows, self._ops.ops, [], None, self._model)

    def _links(self, row: ChatRow, n: int, plain: bool) -> Links:
        """The calls a message makes and answers. `plain`: its content is no list, and it has no `function_call`."""
        if plain and row.role not in RESULT_ROLES:
            try:
                calls = _decode_calls(row.tool_calls) or ()
            except (msgspec.DecodeError, UnicodeDecodeError):
                return self._links_of_parts(row, n)
            ids = tuple([call.id for call in calls])
            if "" not in ids:
                return Links(ids, tuple([self._words.setdefault(c.function.name, c.function.name) for c in calls]))
        return self._links_of_parts(row, n)

    def _links_of_parts(self, row: ChatRow, n: int) -> Links:
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
        return Links(tuple(calls), tuple(tools), tuple(results))

    def _oldest_open(self, name: object) -> str:
        """The id of the call that an answer without an id is for; "" where none is open."""
        for place, (identity, called) in enumerate(self._open):
            if name is None or name == called:
                del self._open[place]
                return identity
        return ""
