"""The identity of a message: what an op's `at.last` is compared with, so that it is never applied to another log.

Its own id where the format gives one, else a digest of its role and first part. What is added to the
message later (further parts of a streamed response, its results) does not change it.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.messages import Call, Content, Image, Message, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import digest


def identity(message: Message, content: Content) -> str:
    """The message's own id, else 12 hex digits of SHA-256 over the canonical JSON of `[role, first part]`."""
    if message.key:
        return message.key
    return digest([message.role, _first(content.parts)])


def _first(parts: list[Part]) -> Any:
    """A text as it is, a call as [name, id]; the other kinds by what names them; nothing at all: null."""
    if not parts:
        return None
    match parts[0]:
        case Text(text=text) | Thinking(text=text):
            return text
        case Call(name=name, id=call):
            return [name, call]
        case Result(id=call):
            return ["result", call]
        case Image(media_type=kind):
            return ["image", kind]
        case Other(kind=kind):
            return [kind]
