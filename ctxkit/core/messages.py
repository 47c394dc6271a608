"""Messages: the light records that replay and selection work on, and the full content that is printed.

Pipeline: `formats/*` make `Message`s while a log is read; `replay` and `select` see only these. A `Content` is read
from the file again when it is printed. Invariant: `messages[n - 1].n == n`.
"""

from __future__ import annotations

from typing import Any

import msgspec

Span = tuple[int, int]
"""Offset and size in bytes of one row in the log's source."""


class Message(msgspec.Struct, gc=False):
    """One message of the log without its content.

    `n` is its number (1-based, file order). `offset`, `size`: the row that opened it, in bytes;
    `more`: the further rows of the same message. `ts` is the time as written (ISO text, epoch number,
    None). `key` is its own id where the format gives one, else "". `calls`, `tools`: ids and names of
    the tool calls it makes, side by side; `results`: ids of the calls it answers. `opens`: it starts an exchange.
    """

    n: int
    offset: int
    size: int
    role: str
    ts: Any = None
    agent: str | None = None
    thread: str | None = None
    key: str = ""
    calls: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    more: tuple[Span, ...] = ()
    opens: bool = False

    @property
    def bytes(self) -> int:
        """The size of all its rows."""
        return self.size + sum(size for _, size in self.more)


class Text(msgspec.Struct, tag="text"):
    """Plain text."""

    text: str


class Thinking(msgspec.Struct, tag="thinking"):
    """A model's thinking. `raw` is the part as the provider wrote it, signature included: never changed."""

    text: str
    raw: dict[str, Any]


SIGNATURES = ("signature", "thinkingSignature", "data", "encrypted_content")
"""Keys of `Thinking.raw` under which providers sign thinking, or encrypt it."""


class Call(msgspec.Struct, tag="call"):
    """A tool call. `arguments` is an object, or a text if it is not JSON."""

    id: str
    name: str
    arguments: Any
    raw: dict[str, Any] | None = None


class Result(msgspec.Struct, tag="result"):
    """The answer to a tool call. `content` is text or a list of parts."""

    id: str
    content: str | list[Part]
    is_error: bool = False
    raw: dict[str, Any] | None = None


class Image(msgspec.Struct, tag="image"):
    """A picture: base64 `data` with its `media_type`, or a `url`."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    raw: dict[str, Any] | None = None


class Other(msgspec.Struct, tag="other"):
    """A part of a kind that ctxkit carries without reading it."""

    kind: str
    raw: dict[str, Any]


Part = Text | Thinking | Call | Result | Image | Other


class Content(msgspec.Struct):
    """A message in full. `rows` are the JSON objects it was read from, as they are in the log."""

    role: str
    parts: list[Part]
    name: str | None = None
    rows: list[dict[str, Any]] = []


SHORT = 8
"""Characters of an id that is missing: enough to find it by."""


class Damage(msgspec.Struct, frozen=True):
    """One damaged place: `line` is 1-based, `offset` in bytes from the start of the log; `code` is stable.

    `note`: worth knowing, and no fault (`Finding`). `file`: the path of the file in which both count, where that is
    another one, in which the history begins; "" for the log itself.
    """

    line: int
    offset: int
    code: str
    text: str
    note: bool = False
    file: str = ""

    @property
    def place(self) -> str:
        """`line 7`, with the file before it if it is not the log."""
        return f"{self.file} line {self.line}" if self.file else f"line {self.line}"


def missing_parent(line: int, offset: int, parent: str) -> Damage:
    """The damage of a record whose `parent` is not in the log."""
    short = parent if len(parent) <= SHORT else f"{parent[:SHORT]}…"
    return Damage(line, offset, "missing-parent", f"a record before it is missing (its parent, {short})")


class Repairs(msgspec.Struct):
    """What was changed to make an output valid; printed on stderr, never silent.

    `made`: results added for calls without one. `dropped`: results without a call. `left_out`: anything else that the
    program or provider would not be sent, counted by kind ("thinking of another model", ...). `added`: what else had to
    be added, counted by kind. `thinking`: blocks of thinking, counted by the reason ("left out: message 7 changed",
    ...). `secrets`: taken out of texts.
    """

    made: int = 0
    dropped: int = 0
    left_out: dict[str, int] = {}
    added: dict[str, int] = {}
    thinking: dict[str, int] = {}
    secrets: int = 0

    def leave_out(self, kind: str, count: int = 1) -> None:
        """Count `count` things of `kind` that are not sent."""
        self.left_out[kind] = self.left_out.get(kind, 0) + count

    def put_in(self, kind: str, count: int = 1) -> None:
        """Count `count` things of `kind` that are sent although the log does not have them."""
        self.added[kind] = self.added.get(kind, 0) + count

    def tell_of_thinking(self, what: str, count: int = 1) -> None:
        """Count `count` blocks of thinking, for which `what` is printed."""
        self.thinking[what] = self.thinking.get(what, 0) + count
