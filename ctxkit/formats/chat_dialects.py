"""Dialects: formats whose rows are chat messages with other keys; each row is translated into a chat message.

Pipeline: `store/jsonl.py` -> `DialectReader` (each row becomes a chat record) -> `formats/chat.py`. A dialect is a file
with a translation, a line in `formats/registry.py`, and its recognition in `formats/foreign_keys.py`. A row that is a
chat message already is left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from ctxkit.core.messages import Content, Message
from ctxkit.core.text.json_text import dumps, finite, loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.transcript import Transcript, View
from ctxkit.formats.base import Block, Format, Row
from ctxkit.formats.chat import ChatReader, ChatRow, content_of
from ctxkit.formats.foreign_keys import Json, dialect
from ctxkit.formats.partial_decode import objects

_row = msgspec.json.Decoder(ChatRow).decode
EXCLUDED = "excluded"
"""The reason why a message that the program does not send is not in the context."""
Hides = Callable[[Json], bool]
Put = Callable[[Json], Json | None]
"""Makes a chat message of a row; None if the row is no message."""


class Dialect(Format):
    """A Format (formats/base.py), where `was_chat` and `program` are explained. `hides`: whether the program does not
    send a row.
    """

    native: bool = False
    row: type[Row] = Row

    def __init__(
        self, name: str, put: Put, *, was_chat: bool = False, hides: Hides | None = None, program: str = ""
    ) -> None:  # fmt: skip
        self.name = name
        self.put = put
        self.hides = hides
        self.was_chat = was_chat
        self.program = program

    def detect(self, head: Sequence[Json]) -> bool:
        """Recognizes the program by the keys that it writes."""
        return dialect(head) == self.name

    def reader(self) -> DialectReader:
        """A new reader."""
        return DialectReader(self.name, self.put, self.hides)

    def content(self, message: Message, rows: list[Json]) -> Content:
        """The message in full, from the chat message made of its row."""
        return content_of(self.put(rows[0]) or {}, message.calls, message.results)

    def title(self, holding: Callable[[bytes], Iterator[Json]]) -> str:
        """The description or title in a row without a role."""
        for key in ("description", "title"):
            for row in holding(utf8(f'"{key}"')):
                if "role" not in row and isinstance(found := row.get(key), str) and found.strip():
                    return found
        return ""


class DialectReader(ChatReader):
    """A Reader (formats/base.py). Memory: that of `ChatReader`."""

    def __init__(self, name: str, put: Put, hides: Hides | None = None) -> None:
        super().__init__(name)
        self._put = put
        self._hides = hides
        self._hidden: list[int] = []
        """The messages that the program does not send."""

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        made: list[ChatRow] = []
        n = len(self._messages)
        for i, row in enumerate(block.rows):
            record = None if isinstance(row.ctxkit, str) else record_of(block.raw(i))
            made.append(self._chat(record) if record is not None else ChatRow(ctxkit=row.ctxkit))
            if isinstance(made[-1].role, str):
                n += 1
                if record is not None and self._hides is not None and self._hides(record):
                    self._hidden.append(n)
        super().feed(Block(made, block.offsets, block.sizes, block.lines, block.data, block.base))

    def finish(self) -> Transcript:
        """The transcript so far."""
        found = super().finish()
        if self._hidden:
            out = dict.fromkeys(self._hidden, EXCLUDED)
            found.view = View([message.n for message in found.messages if message.n not in out], out)
        return found

    def _chat(self, record: Json) -> ChatRow:
        try:
            found = self._put(record)
            return ChatRow() if found is None else _row(dumps(finite(found)))
        except (ValueError, RecursionError):  # nested too deeply: the row still counts
            return ChatRow()


def record_of(raw: bytes) -> Json | None:
    """The row decoded whole; None for one that is no object, or nested too deeply."""
    try:
        found: Any = loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def parts(value: Any) -> list[Json]:
    """The parts of a list of parts; a text is one part."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    return objects(value)
