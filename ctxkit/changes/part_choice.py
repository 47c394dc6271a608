"""Choosing parts of messages to leave out: pictures, and what is larger than a size.

Pipeline: messages of a log -> `parts.shown` -> `chosen` by kind and size -> `changes/forget.py`, which makes the op.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from ctxkit.changes.forget import MessagePart as PartOf
from ctxkit.content.parts import is_image, may_hold_images, shown
from ctxkit.core.context import entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import canonical, finite
from ctxkit.errors import Usage
from ctxkit.formats.bodies import kind_of
from ctxkit.measure.count import PER_IMAGE, Counting
from ctxkit.store.keys import amount

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


def chosen(log: OpenLog, names: Iterable[Name], *, images: bool, larger: PartSize | None) -> Iterator[PartOf]:
    """The parts of these messages that are pictures (`images`; else of any kind) and larger than `larger`.

    Calls, thinking and the model's text are never among them.
    """
    counting = Counting(log)
    for name in names:
        if images and not may_hold_images(log, name):
            continue
        role = entry(log.state(), name).role
        for place, part in shown(log, name):
            picture = is_image(part)
            said = not isinstance(part, Call | Thinking) and (role != "assistant" or isinstance(part, Result))
            if (picture or (said and not images)) and (larger is None or _exceeds(counting, role, part, larger)):
                yield PartOf(name, place, "image" if picture else kind_of(part))


def _exceeds(counting: Counting, role: str, part: Part, larger: PartSize) -> bool:
    size = _size(part)
    if larger.bytes:
        return size > larger.number
    if isinstance(part, Image):
        return larger.number < PER_IMAGE
    return size > larger.number and counting.of_contents([Content(role, [part])])[0] > larger.number


def _size(part: Part) -> int:
    """Bytes: of a picture's data, of a text, of the record of anything else."""
    match part:
        case Image(data=data):
            return len(data) * 3 // 4
        case Text(text=text) | Result(content=str() as text):
            return len(text.encode("utf-8", "surrogatepass"))
        case Result(content=list(inner)):
            return sum(_size(one) for one in inner)
        case Other(raw=raw):
            return len(canonical(finite(raw)))
    return 0
