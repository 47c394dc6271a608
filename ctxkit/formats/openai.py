"""Writes a context as the body of an OpenAI chat completion request: `{"model"?, "messages": [...]}`.

Pipeline: context -> `body`. The rules are the provider's: each call is answered by a tool message directly after the
message that makes it, arguments are JSON text, tool messages hold text; other providers take reasoning beside them.
Every change is counted in `Repairs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ctxkit.core import roles
from ctxkit.core.integrity import PairedContents
from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.core.sets.sequences import Reiterable
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.bodies import (
    Body,
    BodyOptions,
    Ids,
    arguments,
    clean,
    count_lost_name,
    image_type,
    is_base64_text,
    is_url,
    kind_of,
    placeholder,
    signature_of,
    speaker,
    tool_name,
    written,
)
from ctxkit.formats.chat_parts import REASONING_KEYS, arguments_of

_LONGEST_ID = 40
_MOST_CALLS = 128
_LONGEST_NAME = 64
_SIGNED = "extra_content"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

Json = dict[str, Any]


def body(contents: Iterable[Content], repairs: Repairs, options: BodyOptions) -> Body:
    """The body of the request; `contents` are iterated twice and not kept."""
    writer = _Writer(repairs, options)
    paired = PairedContents(Reiterable(lambda: (one for content in contents for one in _divided(content)))).paired(
        repairs
    )
    items = (written(message) for content in paired for message in writer.messages(content))
    head = {"model": options.model} if options.model else {}
    return Body(head, "messages", items, "nothing to send: the context has no message for openai")


class _Writer:
    def __init__(self, repairs: Repairs, options: BodyOptions) -> None:
        self._repairs = repairs
        self._signs, self._placeholder = options.signs, options.placeholder
        self._ids = Ids(_LONGEST_ID)

    def messages(self, content: Content) -> list[Json]:
        """The messages of one content: one tool message per result, then the rest."""
        side = speaker(content)
        made = [self._tool(part) for part in content.parts if isinstance(part, Result)]
        calls = [self._call(part) for part in content.parts if isinstance(part, Call)]
        if calls and self._placeholder and _SIGNED not in calls[0]:  # only the first of parallel calls is signed
            self._repairs.put_in("placeholder for a missing thought signature")
            calls[0] |= _signed(self._placeholder)
        words: list[Json] = []
        thought: Json = {}
        for part in content.parts:
            if isinstance(part, Thinking) and side == "assistant" and (held := _fields(part)):
                for key, value in held.items():
                    thought[key] = _both(thought[key], value) if key in thought else value
            elif not isinstance(part, Call | Result) and (block := self._block(part, side)):
                words.append(block)
        if not words and not calls:
            if thought:
                self._repairs.leave_out("thinking without words after it")
            if not made:
                self._repairs.leave_out("empty message")
            return made
        role = content.role if side == "system" and content.role in roles.SYSTEM else side
        message: Json = {"role": role, "content": _joined(words)}
        if content.name and _NAME.fullmatch(content.name):
            message["name"] = content.name
        else:
            count_lost_name(content, self._repairs)
        message |= thought
        if calls:
            message["tool_calls"] = calls
        return [*made, message]

    def _block(self, part: Part, side: str) -> Json | None:
        match part:
            case Text():
                return {"type": "text", "text": part.text} if part.text else None
            case Thinking(raw={"type": "thinking", "thinking": list()}) if side == "assistant":  # Mistral's
                return clean(part.raw)
            case Image() if side == "user" and (kind := image_type(part)):
                return _link(f"data:{kind};base64,{part.data}", part)
            case Image() if side == "user" and not part.data and is_url(part.url):
                return _link(part.url, part)
            case Image() if side == "user":
                self._leave_out(part)
                return {"type": "text", "text": "[image]"}
            case Other(kind, raw) if side == "user" and _is_whole(kind, raw.get(kind)):
                return {"type": kind, kind: raw[kind]}
            case Other("input_file", raw) if side == "user":  # the form of Responses
                file = {key: raw[key] for key in ("file_id", "file_data", "filename") if raw.get(key)}
                if _is_whole("file", file):
                    return {"type": "file", "file": file}
        self._leave_out(part)
        return None

    def _call(self, call: Call) -> Json:
        """The call with its arguments as JSON text: the log's own text if it says the same."""
        function = (call.raw or {}).get("function")
        written = function.get("arguments") if isinstance(function, dict) else None
        value = arguments(call)
        signature = signature_of(call.raw)
        fits = self._signs and is_base64_text(signature)
        if signature is not None and not fits:
            self._repairs.leave_out("thought signature that is none" if self._signs else "thought signature")
        same = isinstance(written, str) and bool(written.strip()) and arguments_of(written) == value
        same = same and clean(value, False) is value  # the text may say NaN, which is no JSON
        return {
            "id": self._ids.call(call.id),
            "type": "function",
            "function": {
                "name": tool_name(call.name, _LONGEST_NAME, self._repairs),
                "arguments": written if same else dumps(clean(value)),
            },
        } | (_signed(signature) if fits else {})

    def _tool(self, result: Result) -> Json:
        """The tool message of one result. It can hold only text: a picture becomes a placeholder and is counted."""
        content: str | list[Json]
        if isinstance(result.content, str):
            content = result.content
        else:
            words: list[Json] = []
            for part in result.content:
                if isinstance(part, Text):
                    words += [{"type": "text", "text": part.text}] if part.text else []
                else:
                    self._leave_out(part)
                    words.append({"type": "text", "text": placeholder(part)})
            content = _joined(words) or ""
        return {"role": "tool", "tool_call_id": self._ids.answer(result.id), "content": content}

    def _leave_out(self, part: Part) -> None:
        self._repairs.leave_out(kind_of(part))


def _signed(signature: str) -> Json:
    """What a call has beside it: the signature, as Gemini's models in this form of their API have it."""
    return {_SIGNED: {"google": {"thought_signature": signature}}}


def _fields(part: Thinking) -> Json:
    """The keys of a message that hold this thinking; {} if it stands elsewhere. `content/thinking.py` chose them."""
    return clean({key: part.raw[key] for key in REASONING_KEYS if key in part.raw})


def _both(one: Any, other: Any) -> Any:
    """The thinking of two parts of a message in one field."""
    if isinstance(one, str) and isinstance(other, str):
        return "\n\n".join(filter(None, (one, other)))
    return [*one, *other] if isinstance(one, list) and isinstance(other, list) else one


def _is_whole(kind: str, value: Any) -> bool:
    """Whether it is a sound or a file as the provider takes one, without other keys."""
    match kind, value:
        case "input_audio", {"format": "wav" | "mp3", "data": data, **more}:
            return not more and is_base64_text(data)
        case "file", {"file_id": str() as identity}:
            return bool(identity) and _is_named(value, "file_id")
        case "file", {"file_data": str() as data}:
            return bool(data) and _is_named(value, "file_data")
    return False


def _is_named(file: Json, key: str) -> bool:
    """Whether a file has no other keys than `key` and a valid name."""
    return set(file) <= {key, "filename"} and bool(name := file.get("filename", "x")) and isinstance(name, str)


def _divided(content: Content) -> list[Content]:
    """A message with more calls than one may make, as several; the text is in the first."""
    calls: list[Part] = [part for part in content.parts if isinstance(part, Call)]
    if len(calls) <= _MOST_CALLS:
        return [content]
    words: list[Part] = [part for part in content.parts if not isinstance(part, Call)]
    shares = [calls[at : at + _MOST_CALLS] for at in range(0, len(calls), _MOST_CALLS)]
    shares[0] = words + shares[0]
    return [Content(content.role, share, content.name, content.rows) for share in shares]


def _joined(words: list[Json]) -> str | list[Json] | None:
    """One text as a string, none as null, anything else as a list."""
    if not words:
        return None
    if len(words) == 1 and words[0]["type"] == "text":
        text: str = words[0]["text"]
        return text
    return words


def _link(url: str, image: Image) -> Json:
    """A picture; its resolution (`detail`) is kept if the log has it."""
    link: Json = {"url": url}
    written = (image.raw or {}).get("image_url")
    if isinstance(written, dict) and written.get("detail") in ("auto", "low", "high"):
        link["detail"] = written["detail"]
    return {"type": "image_url", "image_url": link}
