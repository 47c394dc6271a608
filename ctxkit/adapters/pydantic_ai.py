"""A rolling context as a history processor of pydantic-ai: `Agent(…, capabilities=[ProcessHistory(processor)])`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

from pydantic_ai import messages as ai

from ctxkit.adapters.message_list import MessageList
from ctxkit.adapters.pydantic_ai_messages import made, rows_of
from ctxkit.api.rolling import RollingContext


def history_processor(context: RollingContext) -> Callable[[list[ai.ModelMessage]], list[ai.ModelMessage]]:
    """A function that takes the history and returns what fits of it: the same parts, shortened ones as copies."""
    held = MessageList[Any](context, rows_of)  # of responses, and of the parts of requests

    def processor(messages: list[ai.ModelMessage]) -> list[ai.ModelMessage]:
        asks = [one for one in messages if isinstance(one, ai.ModelRequest)]
        held.follow([one for each in messages for one in (each.parts if isinstance(each, ai.ModelRequest) else [each])])
        context.fit()
        owner = {id(part): one for one in asks for part in one.parts}
        found: list[ai.ModelMessage] = []
        for responses, pieces in groupby(held.kept(made), key=lambda one: isinstance(one, ai.ModelResponse)):
            parts = list(pieces)
            if not responses:
                last = next((owner[id(one)] for one in reversed(parts) if id(one) in owner), ai.ModelRequest(parts=[]))
                parts = [last if list(last.parts) == parts else replace(last, parts=parts)]
            found += parts
        return found

    return processor
