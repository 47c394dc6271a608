"""A Codex message in full: from its response items (Responses API) to parts.

Pipeline: the format's `content` -> `cli show`, `formats` writers. A message's rows are lines of the file or, where a
compaction wrote it, an item inside its `replacement_history`.
"""

from __future__ import annotations

import re
from typing import Any

from ctxkit.core.jsontext import loads
from ctxkit.core.messages import Call, Content, Image, Message, Other, Part, Result, Text, Thinking
from ctxkit.formats.chat_parts import reasoning_words

_DATA = re.compile(r"data:([^;,]*);base64,", re.ASCII)


def content_of(message: Message, rows: list[dict[str, Any]]) -> Content:
    """The message's content."""
    return Content(message.role, [part for row in rows for part in parts_of(item_of(row))], rows=rows)


def item_of(row: dict[str, Any]) -> dict[str, Any]:
    """The response item of a line; the summary of an old compaction becomes the user message that Codex sends."""
    payload = row.get("payload")
    if not isinstance(payload, dict):
        return row
    if row.get("type") == "compacted":
        text = payload.get("message")
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return payload


def parts_of(item: dict[str, Any]) -> list[Part]:
    """The parts of one response item; one that lacks what its type needs is carried unread."""
    match item:
        case {"type": "message", "content": str() as words}:
            return [Text(words)]
        case {"type": "message", "content": list() as listed}:
            return [_piece(one) for one in listed if isinstance(one, dict)]
        case {"type": "reasoning"}:
            return [Thinking(reasoning_words(item), item)]
        case {"type": "function_call", "call_id": str() as key, "name": str() as name}:
            return [Call(key, name, _arguments(item.get("arguments")), item)]
        case {"type": "custom_tool_call", "call_id": str() as key, "name": str() as name}:
            return [Call(key, name, item.get("input"), item)]
        case {"type": "tool_search_call", "call_id": str() as key}:
            return [Call(key, "tool_search", item.get("arguments"), item)]
        case {"type": "local_shell_call", "call_id": str() as key}:
            return [Call(key, "local_shell", item.get("action"), item)]
        case {"type": str() as kind, "call_id": str() as key} if kind.endswith("_output"):
            return [Result(key, *_output(item), raw=item)]
    return [Other(str(item.get("type", "")), item)]


def _piece(piece: dict[str, Any]) -> Part:
    match piece:
        case {"type": "input_text" | "output_text" | "text", "text": str() as words}:
            return Text(words)
        case {"type": "input_image", "image_url": str() as url}:
            return _image(url, piece)
    return Other(str(piece.get("type", "")), piece)


def _image(url: str, raw: dict[str, Any]) -> Image:
    start = _DATA.match(url)
    return Image(start[1], url[start.end() :], raw=raw) if start else Image(url=url, raw=raw)


def _arguments(text: Any) -> Any:
    """The arguments as a value; the text itself where it is no JSON object."""
    if not isinstance(text, str):
        return text
    try:
        found = loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def _output(item: dict[str, Any]) -> tuple[str | list[Part], bool]:
    """The words of an output, and whether it says that the call failed."""
    output = item.get("output")
    failed = False
    if isinstance(output, dict):
        failed = output.get("success") is False
        output = output.get("content")
    if isinstance(output, list):
        return [_piece(one) for one in output if isinstance(one, dict)], failed
    if isinstance(output, str):
        return output, failed
    known = item.get("tools")
    return ([Other("tools", {"tools": known})] if known is not None else ""), failed
