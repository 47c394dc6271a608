"""Keeps the text segments of messages, so that messages are decoded once, and segments can be read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from ctxkit.core.derive.files import FileTouch
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.messages import Content
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment, each_piece
from ctxkit.store.spool import Spooled

HELD = 8_000_000
"""So many characters are held in memory: to write and read them four times takes a tenth of a compact's time."""


def spooled(messages: Iterable[tuple[Name, Content]]) -> Sequence[TextSegment]:
    """The segments of these messages, in order; of many in a spool. Raises WriteFailed."""
    segments, held, size = each_piece(messages), list[TextSegment](), 0
    for piece in segments:
        held.append(piece)
        size += len(piece.text)
        if size > HELD:
            return Spooled(chain(held, segments), _piece)
    return held


def _piece(value: list[Any]) -> TextSegment:
    name, kind, text, tool, key, failed, touches, call, file = value
    of = name if isinstance(name, int) else ItemName(*name)
    return TextSegment(
        of, SegmentKind(kind), text, tool, key, failed, tuple(FileTouch(*touch) for touch in touches), call, file
    )
