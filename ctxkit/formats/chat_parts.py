"""The parts of a chat message, read from its record in the forms of OpenAI, Anthropic and LLaMA-Factory.

Pipeline: `formats/chat.py` calls `parts_of` for what is printed, and to link calls and results of messages that are not
plain. Nothing of a message is lost: a part of an unknown kind is an `Other`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ctxkit.core.messages import Call, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.roles import RESULTS
from ctxkit.core.text.json_text import loads, spelled
from ctxkit.core.text.utf8 import exact

_DATA = re.compile(r"data:([^,;]*)(?:;[^,]*)?;base64,", re.ASCII | re.IGNORECASE)
_TEXTS = frozenset({"text", "input_text", "output_text"})
BLOCKS = "thinking_blocks"
"""litellm's key for what Anthropic's models thought: their blocks, with signatures."""
REASONING_KEYS: dict[str, type] = {"reasoning_content": str, "reasoning": str, "reasoning_details": list, BLOCKS: list}
"""Keys of a message that hold the model's reasoning, and the types of their values: texts, and lists of blocks."""


def parts_of(record: dict[str, Any], calls: Sequence[str] = (), results: Sequence[str] = ()) -> list[Part]:
    """The parts of one message. `calls` and `results`: ids that the reader gave to those written without one."""
    parts: list[Part] = []
    held = {
        key: record[key] for key, kind in REASONING_KEYS.items() if isinstance(record.get(key), kind) and record[key]
    }
    words = next((text for text in held.values() if isinstance(text, str)), "")
    if words:
        parts.append(Thinking(words, held))
    body = _body(record.get("content"))
    if str(record.get("role")) in RESULTS and not any(isinstance(part, Result) for part in body):
        first, *others = answered(record)
        parts.append(Result(first, _answer(record.get("content")), _is_true(record)))
        parts += [Result(one, "", False) for one in others]
    else:
        parts += body
    if isinstance(refusal := record.get("refusal"), str) and refusal:
        parts.append(Text(refusal))
    # LangChain dumps write each call twice: as a block of the content and in `tool_calls`
    seen = {part.id for part in parts if isinstance(part, Call)} - {""}
    tool_calls = record.get("tool_calls")
    for item in tool_calls if isinstance(tool_calls, list) else ():
        if isinstance(item, dict) and (call := _call(item)).id not in seen:
            parts.append(call)
    if isinstance(legacy := record.get("function_call"), dict):
        parts.append(Call("", text_of(legacy.get("name")), arguments_of(legacy.get("arguments")), legacy))
    if held and not words:  # at the end: the first part is in the digests of older ops
        parts.append(Thinking("", held))
    _set_ids(parts, calls, results)
    return parts


def part_of(item: Any) -> Part:
    """One item of a list of parts; an item of an unknown kind is an `Other`."""
    if isinstance(item, str):
        return Text(item)
    if not isinstance(item, dict):
        return Other("unknown", {"value": item})
    kind = item.get("type")
    text = item.get("text", item.get("value"))
    if item.get("thought") is True and isinstance(text, str):  # Gemini's
        return Thinking(text, item)
    if (kind is None or (isinstance(kind, str) and kind in _TEXTS)) and isinstance(text, str):
        return Text(text)
    match kind:
        case "refusal" if isinstance(item.get("refusal"), str):
            return Text(item["refusal"])
        case "thinking" | "redacted_thinking":
            return Thinking(_thought(item.get("thinking")), item)
        case "reasoning":
            return Thinking(text if isinstance(text, str) else reasoning_words(item), item)
        case "tool_use":
            return Call(_id(item.get("id")), text_of(item.get("name")), item.get("input"), item)
        case "tool_call":
            return _call(item)
        case "tool_result":
            return Result(_id(item.get("tool_use_id")), _answer(item.get("content")), _is_true(item), item)
        case "image" | "image_url" | "input_image":
            return _image(item)
    return Other(kind if isinstance(kind, str) else "unknown", item)


def reasoning_words(item: dict[str, Any]) -> str:
    """The readable text of an OpenAI Responses reasoning item: its own text, else its summary."""
    for key in ("content", "summary"):
        listed = item.get(key)
        found = [one.get("text") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        words = [text for text in found if isinstance(text, str)]
        if words:
            return "\n\n".join(words)
    return ""


def arguments_of(value: Any) -> Any:
    """The arguments of a call: an object, decoded if it is JSON text; another value unchanged; {} for null."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            decoded = loads(exact(value))
        except ValueError:
            return value
        return decoded if isinstance(decoded, dict) else value
    return value


def _body(content: Any) -> list[Part]:
    if content is None or content == "":
        return []
    if isinstance(content, list):
        return [part for part in map(part_of, content) if not (isinstance(part, Text) and not part.text)]
    return [part_of(content if isinstance(content, str | dict) else spelled(content))]


def _answer(content: Any) -> str | list[Part]:
    """The content of a result: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    return _body(content) or ""


def _call(item: dict[str, Any]) -> Call:
    """A call of `tool_calls`, also a custom or flat one, or LLaMA-Factory's part with all of it in `value`."""
    identity = _id(item.get("id"))
    for key in ("function", "custom", "value"):
        inner = item.get(key)
        if isinstance(inner, str):
            inner = arguments_of(inner)
        if isinstance(inner, dict):
            return Call(
                identity, text_of(inner.get("name")), arguments_of(inner.get("arguments", inner.get("input"))), item
            )
    arguments = item.get("arguments", item.get("args", item.get("value")))
    return Call(identity, text_of(item.get("name", item.get("function"))), arguments_of(arguments), item)


def _image(item: dict[str, Any]) -> Image:
    source = item.get("source")
    if isinstance(source, dict):
        return Image(text_of(source.get("media_type")), text_of(source.get("data")), text_of(source.get("url")), item)
    url = item.get("image_url", item.get("url"))
    return image_at(text_of(url.get("url") if isinstance(url, dict) else url), item)


def image_at(url: str, raw: dict[str, Any]) -> Image:
    """The picture at a URL, which may hold it (RFC 2397: scheme and media type in any case)."""
    start = _DATA.match(url)
    return Image(start[1].lower(), url[start.end() :], "", raw) if start else Image("", "", url, raw)


def _set_ids(parts: list[Part], calls: Sequence[str], results: Sequence[str]) -> None:
    made = [part for part in parts if isinstance(part, Call)]
    for call, identity in zip(made, calls, strict=False):
        call.id = identity
    answers = [part for part in parts if isinstance(part, Result)]
    for result, identity in zip(answers, results, strict=False):
        result.id = identity


def answered(record: Mapping[str, Any]) -> list[str]:
    """The ids of the calls that a message answers: one, or SWE-agent's list, whose first one gets the text."""
    listed = record.get("tool_call_ids")
    if record.get("tool_call_id") is None and isinstance(listed, list) and listed:
        return [_id(one) for one in listed]
    return [_id(record.get("tool_call_id"))]


def _id(value: Any) -> str:
    """An id as text; "" if there is none. Numbers count, so that `"id":7` and `"tool_call_id":7` still match."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) else ""


def _thought(value: Any) -> str:
    """The words of a `thinking` block: a text, or a list of texts, as Mistral writes them."""
    return (
        "\n\n".join(text_of(one.get("text")) for one in value if isinstance(one, dict))
        if isinstance(value, list)
        else text_of(value)
    )


def text_of(value: Any) -> str:
    """`value` if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def _is_true(item: dict[str, Any]) -> bool:
    return item.get("is_error") is True
