"""The words of a message as they were recorded, string by string; what a search looks through.

Not the words that are shown: no labels, no JSON around arguments, nothing that ctxkit puts around an attachment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking


class RecordedText(NamedTuple):
    """One text of a message. `part`: text, thinking, call, result, image or other; `label`: a tool, an argument."""

    part: str
    text: str
    label: str = ""


def texts(content: Content) -> Iterator[RecordedText]:
    """All texts of a message, in order. Base64 of pictures is left out."""
    attached = [row for row in content.rows if row.get("type") == "attachment" and not isinstance(row.get("role"), str)]
    for row in attached:
        yield from _leaves("text", row.get("rendered") or row.get("attachment"), "")
    if not attached:
        yield from _parts(content.parts)


def _parts(parts: Iterable[Part]) -> Iterator[RecordedText]:
    for part in parts:
        match part:
            case Text(text=text):
                yield RecordedText("text", text)
            case Thinking(text=text):
                yield RecordedText("thinking", text)
            case Call(name=name, arguments=arguments):
                yield RecordedText("call", name)
                yield from _leaves("call", arguments, name)
            case Result(content=str() as text):
                yield RecordedText("result", text)
            case Result(content=list() as inner):
                yield from (RecordedText("result", words.text, words.label) for words in _parts(inner))
            case Image(url=url):
                if url:
                    yield RecordedText("image", url)
            case Other(kind=kind, raw=raw):
                yield from _leaves("other", raw, kind)


def _leaves(part: str, value: Any, label: str) -> Iterator[RecordedText]:
    """Every string and number, in order, each labelled with its key; a stack, as agents nest deeply."""
    left = [(label, value)]
    while left:
        name, value = left.pop()
        match value:
            case str():
                yield RecordedText(part, value, name)
            case bool():
                pass
            case int():
                yield RecordedText(part, str(value), name)
            case float():
                if math.isfinite(value):
                    yield RecordedText(part, repr(value), name)
            case dict():
                kept = [(f"{label} {key}".strip(), inner) for key, inner in value.items() if key != "type"]
                left.extend(reversed(kept))
            case list():
                left.extend((name, inner) for inner in reversed(value))
