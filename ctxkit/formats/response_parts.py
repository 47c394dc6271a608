"""The parts of an item of OpenAI's Responses API, which Codex also keeps in its sessions.

Pipeline: `formats/response_log.py`, `formats/codex/content.py` -> `parts_of`. An incomplete item, or one of an unknown
kind, becomes an `Other`.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.messages import Call, Other, Part, Result, Text, Thinking
from ctxkit.formats.chat_parts import arguments_of, image_at, reasoning_words
from ctxkit.formats.response_kinds import KINDS, kind_of_item


def parts_of(item: dict[str, Any]) -> list[Part]:
    """The parts of one item."""
    kind = kind_of_item(item.get("type"), item.get("role"))
    known = KINDS.get(kind)
    match item:
        case {"content": str() as words} if kind == "message":
            return [Text(words)]
        case {"content": list() as listed} if kind == "message":
            return [_piece(one) for one in listed if isinstance(one, dict)]
        case {"type": "reasoning"}:
            return [Thinking(reasoning_words(item), item)]
        case {"call_id": str() as key} if known is not None and known.side == "call":
            name = known.tool or item.get("name")
            if isinstance(name, str):
                return [Call(key, name, _arguments(item, known.input), item)]
        case {"call_id": str() as key} if kind.endswith("_output"):
            return [Result(key, *_output(item), raw=item)]
        case {"type": "local_shell_call_output", "id": str() as key}:
            return [Result(key, *_output(item), raw=item)]
    return [Other(kind, item)]


def _piece(piece: dict[str, Any]) -> Part:
    match piece:
        case {"type": "input_text" | "output_text" | "text", "text": str() as words}:
            return Text(words)
        case {"type": "refusal", "refusal": str() as words}:
            return Text(words)
        case {"type": "input_image" | "computer_screenshot", "image_url": str() as url}:
            return image_at(url, piece)
        case {"stdout": str() as out, "stderr": str() as err}:
            return Text("\n".join(words for words in (out, err) if words))
    return Other(str(piece.get("type", "")), piece)


def _arguments(item: dict[str, Any], key: str) -> Any:
    """The arguments of a call. A function's JSON text is decoded if it is an object."""
    value = item.get(key)
    return arguments_of(value) if isinstance(value, str) and item.get("type") == "function_call" else value


def _output(item: dict[str, Any]) -> tuple[str | list[Part], bool]:
    """The content of an output, and whether it reports a failure."""
    output = item.get("output")
    failed = item.get("type") == "apply_patch_call_output" and item.get("status") == "failed"
    if isinstance(output, dict) and output.get("type") == "computer_screenshot":
        output = [output]
    if isinstance(output, dict):
        failed = output.get("success") is False
        output = output.get("content")
    if isinstance(output, list):
        return [_piece(one) for one in output if isinstance(one, dict)], failed
    if isinstance(output, str):
        return output, failed
    tools = item.get("tools")
    return ([Other("tools", {"tools": tools})] if tools is not None else ""), failed
