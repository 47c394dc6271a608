"""opencode rows: the light view of a message and of its parts, decoded only as far as reading needs.

Pipeline: `store/jsonl.py` decodes lines into `OpencodeRow`; `reader.py` asks for the heads of what stands in them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ctxkit.formats.base import Row

NO_RAW = msgspec.Raw(b"")


class OpencodeRow(Row):
    """One line: a message, or (`document`) the session itself."""

    info: msgspec.Raw = NO_RAW
    parts: msgspec.Raw = NO_RAW
    document: Any = None


class InfoHead(msgspec.Struct, gc=False):
    """What a message, or the session, says of itself."""

    id: Any = None
    role: Any = None
    parentID: Any = None
    modelID: Any = None
    summary: Any = None
    finish: Any = None
    error: Any = None
    time: Any = None
    revert: Any = None


class StateHead(msgspec.Struct, gc=False):
    """How far a tool call is."""

    status: Any = None


class PartHead(msgspec.Struct, gc=False):
    """A part without its content."""

    type: Any = None
    tool: Any = None
    callID: Any = None
    state: msgspec.Raw = NO_RAW
