"""Keeps the text segments of messages in a spool, so that messages are decoded once, and segments can be read again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxkit.core.derive.files import FileTouch
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.messages import Content
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment, each_piece
from ctxkit.store.spool import Spooled


def spooled(messages: Iterable[tuple[Name, Content]]) -> Spooled[TextSegment]:
    """The segments of these messages, in order. Raises WriteFailed."""
    return Spooled(each_piece(messages), _piece)


def _piece(value: list[Any]) -> TextSegment:
    name, kind, text, tool, key, failed, touches, call, file = value
    of = name if isinstance(name, int) else ItemName(*name)
    return TextSegment(
        of, SegmentKind(kind), text, tool, key, failed, tuple(FileTouch(*touch) for touch in touches), call, file
    )
