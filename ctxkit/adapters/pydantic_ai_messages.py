"""Messages of pydantic-ai as rows of a log, and back, for `adapters/pydantic_ai.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_ai import messages as ai

from ctxkit.api.rolling import ShownMessage

Row = dict[str, Any]


def rows_of(piece: Any) -> list[Row]:
    """The row of a response, or of a part of a request."""
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
        return [{"role": "tool", "tool_call_id": piece.tool_call_id, "name": piece.tool_name, "content": text}]
    role = "system" if isinstance(piece, ai.SystemPromptPart) else "user"
    content = getattr(piece, "content", piece)
    many = isinstance(content, list | tuple) and not isinstance(piece, ai.RetryPromptPart)
    return [{"role": role, "content": [_block(one) for one in content] if many else str(content)}]


def _block(one: Any) -> Row:
    if isinstance(one, ai.ImageUrl) or (isinstance(one, ai.BinaryContent) and one.is_image):
        return {"type": "image_url", "image_url": {"url": one.url if isinstance(one, ai.ImageUrl) else one.data_uri}}
    text = getattr(one, "content", one) if isinstance(one, str | ai.TextContent) else f"[{getattr(one, 'kind', one)}]"
    return {"type": "text", "text": str(text)}


def made(one: ShownMessage, piece: Any) -> Any:
    """What stands for notes, a summary, a shortened message, or one that only the log has: a response or a part."""
    row, text = one.row, str(one.row.get("content") or "")
    if row["role"] == "assistant":
        calls = {call["id"]: call["function"] for call in row.get("tool_calls") or ()}
        if piece is None:
            told = [ai.ToolCallPart(to["name"], to["arguments"], tool_call_id=id) for id, to in calls.items()]
            return ai.ModelResponse(parts=[ai.TextPart(text), *told] if text else told)
        parts = [_called(part, calls) for part in piece.parts if getattr(part, "tool_call_id", None) in (None, *calls)]
        if text != (piece.text or ""):
            parts = [ai.TextPart(text), *(part for part in parts if isinstance(part, ai.ToolCallPart))]
        return replace(piece, parts=parts)
    if piece is not None:
        return replace(piece, content=text)
    if row["role"] == "tool":
        return ai.ToolReturnPart(row.get("name") or "tool", text, tool_call_id=row["tool_call_id"])
    return ai.SystemPromptPart(text) if row["role"] == "system" else ai.UserPromptPart(text)


def _called(part: Any, calls: dict[str, Row]) -> Any:
    given = calls.get(getattr(part, "tool_call_id", ""))
    return part if given is None or not isinstance(part, ai.ToolCallPart) else replace(part, args=given["arguments"])
