"""Copilot CLI rows: a light view of an event and of its data, decoded only as far as reading needs.

Pipeline: `store/jsonl.py` decodes lines into `CopilotRow` -> `reader.py`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ctxkit.core.text.json_structs import NoList, NoObject
from ctxkit.formats.base import Row

NO_RAW = msgspec.Raw(b"")


class RequestHead(msgspec.Struct, gc=False):
    """A tool call without its arguments."""

    toolCallId: Any = None
    name: Any = None


class EventHead(msgspec.Struct, gc=False):
    """The data of an event without what only printing needs."""

    content: msgspec.Raw = NO_RAW
    toolRequests: list[RequestHead | NoObject] | NoList = None
    toolCallId: Any = None
    parentToolCallId: Any = None
    model: Any = None
    newModel: Any = None
    selectedModel: Any = None
    currentModel: Any = None
    success: Any = None
    summaryContent: Any = None
    upToEventId: Any = None


class CopilotRow(Row):
    """One event. Events of a subagent have an `agentId`."""

    type: Any = None
    id: Any = None
    timestamp: Any = None
    agentId: Any = None
    data: EventHead | NoObject = None
