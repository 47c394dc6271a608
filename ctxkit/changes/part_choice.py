"""Chooses parts of messages to leave out: pictures, and parts larger than a size.

Pipeline: messages of a log -> `parts.shown` -> `chosen` by kind and size -> `changes/forget.py`, which makes the op.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.changes.forget import MessagePart as PartOf
from ctxkit.content.parts import is_image, may_hold_images, shown
from ctxkit.core.context import entry
from ctxkit.core.derive.synthetic_messages import SyntheticKind, kind
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import canonical, finite
from ctxkit.core.text.utf8 import exact
from ctxkit.errors import Usage
from ctxkit.formats.bodies import kind_of
from ctxkit.measure.count import Counting
from ctxkit.settings.keys import amount

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog

_BYTES = {"b": 1, "kb": 1000, "mb": 1000_000, "gb": 1000_000_000}


class PartSize(msgspec.Struct, frozen=True):
    """A size that parts must exceed: in tokens, or in bytes."""

    number: int
    bytes: bool

    @classmethod
    def of(cls, given: int | str) -> PartSize:
        """Tokens as `5000` or `5k`, bytes as `500 kB` or `2MB`. Raises Usage."""
        found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?) ?([kmg]?b)", str(given).strip(), re.IGNORECASE | re.ASCII)
        if found is not None:
            return cls(int(float(found[1]) * _BYTES[found[2].lower()]), True)
        tokens = amount(str(given).strip())
        if isinstance(tokens, str) or tokens < 0:
            hint = "tokens as 5000 or 5k; bytes as 500kB or 2MB"
            raise Usage(f"{given!r} is not a size: nothing was changed", hint)
        return cls(tokens, False)


class PartChoice(msgspec.Struct):
    """The parts that were chosen. `summaries`: messages that summarise others and would have lost a part; they lose
    none.
    """

    parts: list[PartOf] = []
    summaries: list[Name] = []


def chosen(log: OpenLog, names: Iterable[Name], *, images: bool, larger: PartSize | None) -> PartChoice:
    """The parts of these messages that are pictures (`images`; else of any kind) and larger than `larger`.

    Calls, thinking and the model's text are never among them, nor are parts of a summary, because it is all that is
    left of the messages that it stands for.
    """
    counting, found = Counting(log), PartChoice()
    for name, part, one in _possible(log, names, images=images):
        if larger is None or _exceeds(counting, entry(log.state(), name).role, part, larger):
            if not is_summary(log, name):
                found.parts.append(one)
            elif name not in found.summaries:
                found.summaries.append(name)
    return found


def largest(log: OpenLog, names: Iterable[Name], *, images: bool) -> tuple[Name, int] | None:
    """The message with the largest part that `chosen` could take of these, and the tokens of that part."""
    counting, tokens = Counting(log), dict[Name, int]()
    for name, part, _ in _possible(log, names, images=images):
        if not is_summary(log, name):
            tokens[name] = max(tokens.get(name, 0), _tokens(counting, entry(log.state(), name).role, part))
    return max(tokens.items(), key=lambda one: one[1], default=None)


def is_summary(log: OpenLog, name: Name) -> bool:
    """Whether a message summarises others: one that the log's program wrote, or an op."""
    if isinstance(name, ItemName):
        item = log.state().board.items.get(name)
        return item is not None and item.summary
    if entry(log.state(), name).role != "user":
        return False
    content = log.original(name)
    row: dict[str, Any] = content.rows[0] if content.rows else {}
    return row.get("isCompactSummary") is True or kind(content) is SyntheticKind.SUMMARY


def _possible(log: OpenLog, names: Iterable[Name], *, images: bool) -> Iterator[tuple[Name, Part, PartOf]]:
    """Each part of these messages that may leave, of any size."""
    for name in names:
        if images and not may_hold_images(log, name):
            continue
        role = entry(log.state(), name).role
        for place, part in shown(log, name):
            picture = is_image(part)
            may = not isinstance(part, Call | Thinking) and (role != "assistant" or isinstance(part, Result))
            if picture or (may and not images):
                yield name, part, PartOf(name, place, "image" if picture else kind_of(part))


def _exceeds(counting: Counting, role: str, part: Part, larger: PartSize) -> bool:
    size = _size(part)
    if larger.bytes:
        return size > larger.number
    may = isinstance(part, Image) or size > larger.number  # a token has a byte or more: what is small is not counted
    return may and _tokens(counting, role, part) > larger.number


def _tokens(counting: Counting, role: str, part: Part) -> int:
    if isinstance(part, Image):
        return counting.counter.tokens(counting.picture(part))
    return counting.of_contents([Content(role, [part])])[0]


def _size(part: Part) -> int:
    """Bytes of a picture's data, of a text, or of the record of any other part."""
    match part:
        case Image(data=data):
            return len(data) * 3 // 4
        case Text(text=text) | Result(content=str() as text):
            return len(exact(text))
        case Result(content=list(inner)):
            return sum(_size(one) for one in inner)
        case Other(raw=raw):
            return len(canonical(finite(raw)))
    return 0
