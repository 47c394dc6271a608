"""Writes contents as native lines: chat messages as `formats/chat.py` reads them, without loss.

Pipeline: context -> `lines` -> JSONL (replay 53: the log's messages only). A message that was read from a chat record
and is unchanged is written as that record; a changed one keeps the record's other keys. A top-level `ctxkit` key is
never written: the line would be read as an op. Neither are keys by which a file is known as another program's: what is
written is the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.roles import RESULTS
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.bodies import clean, signature_of
from ctxkit.formats.chat_parts import REASONING_KEYS, part_of, parts_of
from ctxkit.formats.chat_programs import MARKS, of_row
from ctxkit.formats.response_kinds import is_item

_CONTENT_KEYS = (
    "content",
    "parts",
    "tool_calls",
    "tool_call_id",
    "tool_call_ids",
    "function_call",
    "refusal",
    *REASONING_KEYS,
    "is_error",
    "ctxkit",
)

Json = dict[str, Any]


def lines(contents: Iterable[Content]) -> Iterator[Json]:
    """One record per content, as JSON that `json_text.dumps` takes (NaN and infinities become null)."""
    for content in contents:
        yield clean(_line(content), replace_surrogates=False)


def _line(content: Content) -> Json:
    record = content.rows[0] if content.rows else {}
    if is_item(record):  # it would be read as an item of Responses, not as a chat message
        record = {}
    if isinstance(record.get("role"), str):
        left = MARKS | {"ctxkit"} if of_row(record) else {"ctxkit"}
        rest = {key: value for key, value in record.items() if key not in left}
        if record["role"] == content.role and parts_of(record) == content.parts:
            return rest
        kept = {key: value for key, value in rest.items() if key not in _CONTENT_KEYS}
        return kept | {"role": content.role} | _body(content.role, content.parts)
    alone = len(content.parts) == 1 and isinstance(content.parts[0], Result)
    role = "tool" if alone else content.role
    if role in RESULTS and not any(isinstance(part, Result) for part in content.parts):
        role = "user"  # under its own role, its text would be read as a result
    line: Json = {"role": role} | _body(role, content.parts)
    if isinstance(ts := record.get("timestamp", record.get("ts")), str | int | float):
        line["ts"] = ts
    if content.name is not None:
        line["name"] = content.name
    return line


def _body(role: str, parts: list[Part]) -> Json:
    """`content` and the keys beside it. Read back, it gives the same parts in the same order."""
    if role in RESULTS and len(parts) == 1 and isinstance(result := parts[0], Result):
        output = result.content if isinstance(result.content, str) else [_block(part) for part in result.content]
        body: Json = {"tool_call_id": result.id, "content": output}
        return body | {"is_error": True} if result.is_error else body
    body = {}
    first = parts[0] if parts else None
    if isinstance(first, Thinking) and "type" not in first.raw and not _reads(first.raw, first):
        own = {key: first.raw[key] for key in REASONING_KEYS if key in first.raw}
        body = own or {"reasoning_content": first.text}
        parts = parts[1:]
    words: list[Part] = [part for part in parts if not isinstance(part, Call)]
    calls = [part for part in parts if isinstance(part, Call)]
    if calls and parts[len(words) :] == calls:
        body["tool_calls"] = [_call(call) for call in calls]
    else:  # a call before words: only a list of blocks keeps that order
        words = parts
    if len(words) == 1 and isinstance(only := words[0], Text):
        return {"content": only.text} | body
    if not words and "tool_calls" in body:
        return {"content": None} | body
    return {"content": [_block(part) for part in words] if words else ""} | body


def _block(part: Part) -> Any:
    """A part in a list of parts: its original block if that is still read as this part."""
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, raw):
            return raw if "type" in raw or _reads(raw, part) else {"type": "reasoning", "text": text}
        case Call(identity, name, arguments, raw):
            block = _extra(raw, "tool_use") | {"type": "tool_use", "id": identity, "name": name, "input": arguments}
            return block | _own(part)
        case Result(identity, content, is_error, raw):
            output = content if isinstance(content, str) else [_block(one) for one in content]
            block = _extra(raw, "tool_result") | {"type": "tool_result", "tool_use_id": identity, "content": output}
            return block | {"is_error": True} if is_error else block
        case Image(media_type, data, url, raw):
            if raw is not None and _reads(raw, part):
                return raw
            return {"type": "image_url", "image_url": {"url": url or f"data:{media_type};base64,{data}"}}
        case Other(kind, raw):
            return raw if "type" in raw or kind == "unknown" else {"type": kind} | raw


def _reads(raw: Json, part: Part) -> bool:
    """Whether a block is read as this part."""
    return part_of(raw) == part


def _call(call: Call) -> Json:
    """A call in OpenAI's form: the log's own block if it has this id."""
    raw = call.raw or {}
    if raw.get("id") == call.id and isinstance(raw.get("function", raw.get("custom")), dict):
        return raw
    own = _own(call)
    if "custom" in own:
        return {"id": call.id, "type": "custom"} | own
    arguments = call.arguments if isinstance(call.arguments, str) else dumps(clean(call.arguments, False))
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}} | own


def _own(call: Call) -> Json:
    """What only one provider's call has: Gemini's signature, as OpenAI's form of its API has it, and the text that is
    the input of a custom call.
    """
    match call.raw:
        case {"type": "custom_tool_call", "input": str(words)}:
            return {"custom": {"name": call.name, "input": words}}
    signature = signature_of(call.raw)
    return {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}


def _extra(raw: Json | None, kind: str) -> Json:
    """The further keys of a block of this kind, without `is_error`, which the part itself holds."""
    if raw is None or raw.get("type") != kind:
        return {}
    return {key: value for key, value in raw.items() if key != "is_error"}
