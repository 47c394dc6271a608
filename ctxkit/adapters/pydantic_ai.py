"""A rolling context as a history processor of pydantic-ai: `Agent(…, capabilities=[ProcessHistory(processor)])`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Any

from pydantic_ai import messages as ai

from ctxkit.adapters.message_list import MessageList, Row
from ctxkit.api.rolling import RollingContext, ShownMessage


def history_processor(context: RollingContext) -> Callable[[list[ai.ModelMessage]], list[ai.ModelMessage]]:
    """A function that takes the history and returns what fits of it: the same parts, shortened ones as copies."""
    held = MessageList[Any](context, _rows)  # of responses, and of the parts of requests

    def processor(messages: list[ai.ModelMessage]) -> list[ai.ModelMessage]:
        asks = [one for one in messages if isinstance(one, ai.ModelRequest)]
        held.follow([one for each in messages for one in (each.parts if isinstance(each, ai.ModelRequest) else [each])])
        context.fit()
        owner = {id(part): one for one in asks for part in one.parts}
        found: list[ai.ModelMessage] = []
        for responses, pieces in groupby(held.kept(_made), key=lambda one: isinstance(one, ai.ModelResponse)):
            parts = list(pieces)
            if not responses:
                last = next((owner[id(one)] for one in reversed(parts) if id(one) in owner), ai.ModelRequest(parts=[]))
                parts = [last if list(last.parts) == parts else replace(last, parts=parts)]
            found += parts
        return found

    return processor


def _rows(piece: Any) -> list[Row]:
    if isinstance(piece, ai.ModelResponse):
        row: Row = {"role": "assistant", "content": piece.text}
        if calls := piece.tool_calls:
            functions = [{"name": one.tool_name, "arguments": one.args_as_json_str()} for one in calls]
            ids = [{"id": one.tool_call_id, "type": "function"} for one in calls]
            row["tool_calls"] = [id | {"function": one} for id, one in zip(ids, functions, strict=True)]
        if piece.usage.input_tokens:
            row["usage"] = {key: getattr(piece.usage, key) for key in ("input_tokens", "output_tokens")}
        return [row]
    if getattr(piece, "tool_name", None):  # the result of a call, or what a model is told to call again
        text = piece.model_response_str() if isinstance(piece, ai.ToolReturnPart) else piece.model_response()
        return [{"role": "tool", "tool_call_id": piece.tool_call_id, "content": text}]
    role = "system" if isinstance(piece, ai.SystemPromptPart) else "user"
    return [{"role": role, "content": str(getattr(piece, "content", piece))}]


def _made(one: ShownMessage, piece: Any) -> Any:
    """A part for notes or a summary, or for a shortened message."""
    part = ai.SystemPromptPart if one.row["role"] == "system" else ai.UserPromptPart
    text = str(one.row.get("content"))
    return part(content=text) if piece is None else replace(piece, content=text)
