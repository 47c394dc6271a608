"""What a format is: how its rows are recognised, read into messages, and given back in full.

Pipeline: `store/jsonl.py` turns bytes into `Block`s of a format's `Row`; the format's `Reader` makes a
`Transcript` of them. A format is one file (or folder) and one line in `formats/registry.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from ctxkit.core.messages import Content, Message, Repairs
from ctxkit.core.transcript import Transcript


class Row(msgspec.Struct, gc=False):
    """One line, decoded as far as reading needs. Every format's row derives from this.

    Fields are `Any` (or `msgspec.Raw`, default `msgspec.Raw(b"")`), never narrower: a field of an
    unexpected type must not make a whole record unreadable. A string `ctxkit` makes the line an op.
    """

    ctxkit: Any = None


class Block(msgspec.Struct):
    """A run of whole records: `rows[i]` stands at `offsets[i]` (bytes in the log), `sizes[i]` long, on line `lines[i]`.

    `data` holds the bytes from `base` on, so that a record can be decoded in full while it is at hand.
    """

    rows: Sequence[Any]
    offsets: Sequence[int]
    sizes: Sequence[int]
    lines: Sequence[int]
    data: bytes
    base: int

    def raw(self, i: int) -> bytes:
        """The bytes of record i."""
        start = self.offsets[i] - self.base
        return self.data[start : start + self.sizes[i]]


class Reader(Protocol):
    """Takes a log's rows in order. Stateful: `finish` may be called again after more was fed (a log that grew)."""

    def feed(self, block: Block) -> None:
        """Take the next rows."""

    def finish(self) -> Transcript:
        """The transcript of all that was fed; `damage` is left empty for the caller."""


class Format(Protocol):
    """One shape of transcript."""

    name: str
    native: bool
    """True where ctxkit itself may append messages and ops to the file."""
    row: type[Row]

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether the first records of a file (ops left out, at most 50) look like this format."""

    def reader(self) -> Reader:
        """A new reader."""

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full, from the JSON objects of its rows (the opening one first)."""

    def recorded(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The same for a search: the words that the rows hold, and no others, also those that are not shown."""

    def sent(
        self, contents: list[Content], answered: frozenset[str], model: str
    ) -> tuple[list[Content], Repairs] | None:
        """What the log's own program would send of a context; None where no program of its own stands behind it.

        `answered`: ids of calls whose result stands anywhere in the log; `model`: of the request, "" for the log's.
        """
