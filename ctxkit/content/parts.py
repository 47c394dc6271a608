"""Parts: what of a message can be left out alone, with the place of each, and which of it are pictures.

Pipeline: messages of a log -> `shown` parts -> `changes/part_choice.py`, `content/images.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctxkit.core.context import entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Image, Other, Part, Result
from ctxkit.core.ops import Index

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog

_PICTURED = ("image", "input_image")
"""Kinds of what is carried unread, and is a picture."""


def shown(log: OpenLog, name: Name) -> Iterator[tuple[Index, Part]]:
    """The parts of a message that are shown as they were written, each with its place; those inside results too."""
    one = entry(log.state(), name)
    now = log.full(one).parts
    was = now if one.stub is None else log.original(name).parts
    for place, part in enumerate(was):
        here = now[place] if place < len(now) else None
        if isinstance(part, Result) and isinstance(part.content, list):
            inside = here.content if isinstance(here, Result) and isinstance(here.content, list) else []
            for k, inner in enumerate(part.content[: len(inside)]):
                if inside[k] == inner:
                    yield (place, k), inner
        elif part == here:
            yield place, part


def is_image(part: Part) -> bool:
    """Whether a part is a picture, read or carried unread."""
    return isinstance(part, Image) or (isinstance(part, Other) and part.kind in _PICTURED)


def may_hold_images(log: OpenLog, name: Name) -> bool:
    """Whether a message may hold pictures: each format's record says so in a word. No record is decoded."""
    message = entry(log.state(), name).message
    if message is None:
        return True
    source = log.opening.laid_out
    spans = ((message.offset, message.size), *message.more)
    return any(b"image" in source.read(offset, size) for offset, size in spans)
