"""What makes messages of two logs the same: their role and what they say, not how or when it was written.

Used by `contexts`. Ids of calls count as pairs only: a result is told by where its call stands before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from ctxkit.core.messages import Call, Content, Image, Part, Result, Text, Thinking
from ctxkit.core.text.utf8 import utf8

SIZE = 16
"""Bytes of a digest."""

Link = tuple[int, int]
"""A call, seen from its result: how many messages with open calls lie between, and its place in its message."""

UNPAIRED: Link = (-1, -1)

_encode = msgspec.json.Encoder(order="sorted").encode


def links(messages: Iterable[tuple[int, Sequence[str], Sequence[str]]]) -> Iterator[tuple[int, list[Link]]]:
    """For each message that answers calls: where these calls are.

    `messages`: place, ids of the calls made, ids of the calls answered; in order.
    """
    calls: dict[str, Link] = {}
    waiting: list[list[int]] = []  # [place, how many of its calls are open], oldest first
    for place, made, answered in messages:
        if answered:
            yield place, [_answer(call, calls, waiting) for call in answered]
        if made:
            calls.update((call, (place, k)) for k, call in enumerate(made))
            waiting.append([place, len(made)])


def _answer(call: str, calls: dict[str, Link], waiting: list[list[int]]) -> Link:
    place, k = calls.pop(call, UNPAIRED)
    for between, one in enumerate(reversed(waiting)):
        if one[0] == place:
            one[1] -= 1
            if not one[1]:
                waiting.remove(one)
            return between, k
    return UNPAIRED


def likeness(content: Content, found: Sequence[Link] = ()) -> bytes:
    """A digest of SIZE bytes. `found`: the links of its results, in their order."""
    waiting = iter(found)
    told = [_told(part, waiting) for part in content.parts]
    answers = bool(told) and all(isinstance(part, Result) for part in content.parts)
    value = ["tool" if answers else content.role, content.name, told]
    try:
        raw = _encode(value)
    except (UnicodeEncodeError, msgspec.MsgspecError, OverflowError, RecursionError):
        raw = utf8(json.dumps(value, sort_keys=True, default=repr))  # half a surrogate, a number of many digits
    return blake2b(raw, digest_size=SIZE).digest()


def _told(part: Part, waiting: Iterator[Link]) -> list[Any]:
    match part:
        case Text(text=text):
            return ["text", text]
        case Thinking(text=text, raw=raw):
            return ["thinking", text, raw.get("signature"), raw.get("data")]
        case Call(name=name, arguments=arguments):
            return ["call", name, arguments]
        case Result(content=inner, is_error=is_error):
            link = next(waiting, UNPAIRED)
            if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], Text):
                inner = inner[0].text
            said = inner if isinstance(inner, str) else [_told(one, waiting) for one in inner]
            return ["result", link, is_error, said]
        case Image(media_type=kind, data=data, url=url):
            return ["image", kind, data, url]
        case _:
            return ["other", part.kind, part.raw]
