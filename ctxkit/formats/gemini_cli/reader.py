"""Reads Gemini CLI records into numbered messages, and applies its updates and rewinds.

Pipeline: `store/jsonl.py` -> `GeminiReader.feed` -> `Transcript` -> `core/replay.py`. The first record with an id gives
the message its number, the newest one its content (replay 25). Notices open no message. The program writes a result
twice: in its call, and as a record of the user's, which is a message without a question.
"""

from __future__ import annotations

from array import array

import msgspec

from ctxkit.core.messages import Message, Span
from ctxkit.core.op_lines import OpCollector
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.gemini_cli.history import GeminiHistory
from ctxkit.formats.gemini_cli.rows import CallHead, GeminiRow, Update, answers, calls, listed_messages, record, words

NAME = "gemini-cli"
ROLES = {"user": "user", "gemini": "assistant"}
"""Types of records that are messages."""


class GeminiReader:
    """A Reader (formats/base.py). Memory: light messages, and their ids."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._row_of = array("q")
        self._rows = 0
        self._ops = OpCollector()
        self._history = GeminiHistory()
        self._numbers: dict[str, int] = {}
        self._commands: set[int] = set()
        """Messages that are commands to the program (`/help`, `?`), which are not sent."""
        self._listed = False
        """The file is a `.json` laid out as lines: its messages are a list, in which an id may repeat."""
        self._model = ""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i, row in enumerate(block.rows):
            if row.ctxkit is not None and isinstance(row.ctxkit, str):
                self._ops.add(block, i, self._rows, len(self._messages))
                continue
            if row.rewind_to is not None and isinstance(row.rewind_to, str):
                self._history.rewind(self._rows, block.lines[i], row.rewind_to)
            elif type(row.type) is str:
                self._history.put(*self._record(row, (block.offsets[i], block.sizes[i])))
            elif row.document is True:
                self._listed = True
            elif type(row.set_) is Update:
                self._replace(row.set_.messages, block.raw(i), block.offsets[i], block.lines[i])
            elif row.set_ is None and row.messages:
                self._replace(row.messages, block.raw(i), block.offsets[i], block.lines[i])
            self._rows += 1

    def finish(self) -> Transcript:
        """The transcript so far."""
        messages = list(self._messages)
        view = self._history.view(len(messages), self._commands)
        ops = list(self._ops.ops)
        row_of = array("q", self._row_of)
        return Transcript(NAME, messages, row_of, self._rows, ops, [], view=view, model=self._model)

    def _replace(self, messages: msgspec.Raw, raw: bytes, offset: int, line: int) -> None:
        """Apply the message list of an update or of a header: it replaces all messages."""
        found = listed_messages(messages, raw)
        if found is not None:
            records = [(record(one), (offset + at, len(one))) for at, one in found]
            put = [self._record(one, span) for one, span in records if isinstance(one.type, str)]
            self._history.replace(self._rows, line, put)

    def _record(self, row: GeminiRow, span: Span) -> tuple[str, int]:
        """Read a record; returns its id and number: 0 for a notice.

        A record with a known id replaces the earlier one and keeps its number.
        """
        own = row.id if type(row.id) is str else ""
        key = own if own and not (self._listed and own in self._numbers) else f"\0{self._rows} {span[0]}"
        n = self._numbers.get(key, 0)
        role = ROLES.get(row.type)
        if n:
            message = msgspec.structs.replace(self._messages[n - 1], offset=span[0], size=span[1])
            message.role = role or message.role
            self._messages[n - 1] = message
        elif role is None:
            return key, 0
        else:
            n = len(self._messages) + 1
            message = Message(n, span[0], span[1], role, row.timestamp, None, None, own)
            self._numbers[key] = n
            self._row_of.append(self._rows)
            self._messages.append(message)
        made = calls(row)
        if made or message.calls:
            ids = [call_id(head.id, n, k) for k, head in enumerate(made, 1)]
            message.calls = tuple(ids)
            message.tools = tuple([head.name if isinstance(head.name, str) else "" for head in made])
            message.results = tuple([key for key, head in zip(ids, made, strict=True) if _answered(head)])
        given, more = answers(row) if row.type == "user" else ((), False)
        if given or not made:
            message.results = given
        command = row.type == "user" and words(row.content).lstrip().startswith(("/", "?"))
        if command or role is None:
            self._commands.add(n)
        else:
            self._commands.discard(n)
        message.opens = role == "user" and not command and (more or not given)
        if isinstance(row.model, str):
            self._model = row.model
        return key, n


def _answered(head: CallHead) -> bool:
    size = len(head.result)  # a result may be long: it is not copied
    return size > len(b"null") or (size > 0 and bytes(head.result) != b"null")


def call_id(value: object, n: int, k: int) -> str:
    """The id of call k of message n, from 1; one made by ctxkit if the record gives none."""
    return value if isinstance(value, str) and value else f"ctxkit-{n}-{k}"
