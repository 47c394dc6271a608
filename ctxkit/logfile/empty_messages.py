"""Counts the messages without content in a log's format: if there are many, the log is probably of another format.

Pipeline: `logfile/read.py` asks once for each log that is opened. A few messages at either end are read, so that a log
of a gigabyte takes as long as a small one; all are read before a log is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ctxkit.core.messages import Content, Message, Other, Text

LARGE = 200
"""Bytes of rows from which on a message should have content: only a log that has one is refused for having none."""
AT_EITHER_END = 64
_AT_FIRST = 8
KNOWN = frozenset({"role", "content", "ts", "name", "agent", "thread", "model", "tool_call_id"})
"""Keys of a native message; only `content` has text in it."""

Read = Callable[[Message], Content | None]
"""Gives a message in full; None for one that cannot be read."""


class EmptyMessages(NamedTuple):
    """`silent` of the `seen` messages at either end have no content; `whole`: no message of the log has any, and one of
    them is large.
    """

    silent: int
    seen: int
    whole: bool


def silence(messages: Sequence[Message], read: Read) -> EmptyMessages | None:
    """The empty messages, if at least half of the messages at either end are; else None."""
    count = len(messages)
    ends = range(count) if count <= 2 * AT_EITHER_END else [*range(AT_EITHER_END), *range(count - AT_EITHER_END, count)]
    seen = [messages[at] for at in ends]
    first = seen[:: max(len(seen) // _AT_FIRST, 1)]
    if sum(not _says(one, read) for one in first) * 2 < max(len(first), 1):
        return None
    silent = sum(not _says(one, read) for one in seen)
    whole = silent == len(seen) and any(one.bytes > LARGE for one in messages) and not _any(messages, read)
    return EmptyMessages(silent, len(seen), whole) if silent * 2 >= max(len(seen), 1) else None


def _any(messages: Iterable[Message], read: Read) -> bool:
    return any(_says(one, read) for one in messages)


def _says(message: Message, read: Read) -> bool:
    """Whether a message has text, thinking, calls, results, or something else that is known to be content."""
    if message.calls or message.results:
        return True
    content = read(message)
    if content is None or _is_blank(content):
        return True
    return any(
        bool(part.text.strip()) if isinstance(part, Text) else not (isinstance(part, Other) and part.kind == "unknown")
        for part in content.parts
    )


def _is_blank(content: Content) -> bool:
    """Whether all keys of a message are known and it has no text, so that no content is overlooked."""
    if any("role" not in row for row in content.rows):  # a row of a program's own shape, read by its reader
        return any(isinstance(part, Text) for part in content.parts)
    return any(row.keys() <= KNOWN and _is_text(row.get("content")) for row in content.rows)


def _is_text(value: object) -> bool:
    """Whether a message's content is a text, a list of texts, or null: nothing that could be read differently."""
    if isinstance(value, list):
        return all(isinstance(part, dict) and part.keys() == {"type", "text"} for part in value)
    return value is None or isinstance(value, str)
