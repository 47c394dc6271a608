"""Parts of messages as items of OpenAI's Responses API, which Codex also keeps in its sessions.

Pipeline: `core/integrity.py` has paired calls and results; `formats/responses.py` writes a request of these items,
`formats/codex/` session rows. An item that a log already has is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ctxkit.core import roles
from ctxkit.core.integrity import NO_RESULT
from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.bodies import (
    Ids,
    arguments,
    clean,
    count_lost_name,
    image_type,
    is_url,
    kind_of,
    placeholder,
    signature_of,
    speaker,
    tool_name,
)
from ctxkit.formats.chat_parts import arguments_of
from ctxkit.formats.codex.content import item_of
from ctxkit.formats.response_kinds import CALLS, KINDS, LOOSE, ROLES, WORDS, is_valid_piece, without_unknown_keys
from ctxkit.formats.response_parts import parts_of

Json = dict[str, Any]

_LONGEST_ID = 64
_LONGEST_NAME = 64


class Items:
    """Makes the items of one conversation, in order. `session`: for a session file, which refuses no item.

    `known`: calls that the session already has, id -> type of the item; their ids stay.
    """

    def __init__(
        self, repairs: Repairs, *, session: bool = False, known: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._repairs = repairs
        self._session = session
        self._ids = Ids(_LONGEST_ID)
        self._known = known
        self._kinds: dict[str, str] = dict(known)
        """Id of a call in the log -> type of the newest item that makes that call."""
        self._coming: Iterable[Content] = ()

    def expect(self, contents: Iterable[Content]) -> None:
        """Set the contents to come: a call whose result is no item of its kind becomes a function call."""
        self._coming = contents

    @cached_property
    def _answered_by_words(self) -> set[str]:
        """Ids of calls whose results are no items: not every kind of call accepts that. Found when first needed."""
        found: set[str] = set()
        for content in self._coming:
            for part in content.parts:
                raw = (isinstance(part, Result) and part.raw) or {}
                if isinstance(part, Result) and not (str(raw.get("type")) in KINDS and self._kept(raw)):
                    found.add(part.id)
        return found

    def of(self, content: Content) -> list[Json]:
        """The items of one message: copies if it comes from such items and they are whole, else new ones."""
        own = [item_of(row) for row in content.rows]
        held = [part for item in own for part in parts_of(item)] if own and str(own[0].get("type")) in KINDS else []
        if held and held == content.parts and all(self._can_stay(item) for item in own):
            count_lost_name(content, self._repairs)
            found = [self._copied(item, item.get("call_id", "")) for item in own]
        else:
            found = list(self._made(content))
        if not found:
            self._repairs.leave_out("empty message")
        return [clean(item) for item in found]

    def _made(self, content: Content) -> Iterator[Json]:
        side = speaker(content)
        if any(isinstance(part, Text | Image) for part in content.parts):
            count_lost_name(content, self._repairs)
        words: list[Json] = []
        for part in sorted(content.parts, key=lambda part: not isinstance(part, Result)):  # results first
            if isinstance(part, Thinking | Call | Result) or self._is_loose(part):
                yield from self._message(words, content, side)
                words = []
                yield from self._item(part)
            elif side == "assistant":  # each text is a message of its own
                yield from self._message(self._pieces([part], side), content, side)
            else:
                words += self._pieces([part], side)
        yield from self._message(words, content, side)

    def _call_id(self, identity: str) -> str:
        return identity if identity in self._known else self._ids.call(identity)

    def _answer_id(self, identity: str) -> str:
        return identity if identity in self._known else self._ids.answer(identity)

    def _is_loose(self, part: Part) -> bool:
        return isinstance(part, Other) and part.kind in LOOSE and self._kept(part.raw)

    def _item(self, part: Part) -> Iterator[Json]:
        """The item of a part that is not message text: a copy if it is an item already."""
        match part:
            case Result():
                yield self._answer(part)
            case Call(raw=dict(raw)) if str(raw.get("type")) in CALLS and self._can_stay(raw):
                yield self._copied(raw, part.id)
            case Call(raw={"custom": {"input": str(words)}}):
                yield self._custom(part, words)
            case Call():
                yield self._call(part)
            case Thinking(raw=raw) | Other(raw=raw) if self._is_loose(part) or self._is_thought(raw):
                yield self._copied(raw)
            case _:
                self._repairs.leave_out(kind_of(part))

    def _is_thought(self, raw: Json) -> bool:
        return raw.get("type") == "reasoning" and self._kept(raw)

    def _kept(self, item: Json) -> bool:
        """Whether this is an item that can be copied."""
        kind = KINDS.get(str(item.get("type")))
        if kind is None or (self._session and not kind.codex):
            return False
        if not all(isinstance(item.get(key), of) for key, of in kind.keys.items() if of is not None):
            return False
        key = "content" if item["type"] == "message" else "output"
        if kind.keys.get(key) is not WORDS:
            return True
        if key == "content" and item["role"] not in ROLES:
            return False
        by_model = item.get("role") == "assistant"
        if isinstance(item[key], str):
            return key == "output" or (bool(item[key]) and item.get("id") is None)  # an id needs a list of pieces
        sides = {by_model, not by_model} if self._session else {by_model}
        return bool(item[key]) and all(any(is_valid_piece(one, by_model=side) for side in sides) for one in item[key])

    def _can_stay(self, item: Json) -> bool:
        """Whether the item can be copied, and fits the items that it answers or that answer it."""
        kind = KINDS.get(str(item.get("type")))
        made = self._kinds.get(str(item.get("call_id")))
        if made is not None and kind is not None and kind.side != "call" and KINDS[made].answer != item["type"]:
            return False
        is_call = kind is not None and kind.side == "call" and not kind.worded
        return self._kept(item) and not (is_call and str(item.get("call_id")) in self._answered_by_words)

    def _copied(self, item: Json, identity: str = "") -> Json:
        """A copy of an item with its known keys. `identity`: id of its call in the log."""
        kind = item["type"]
        found = {"type": kind} | {key: item[key] for key in item if key in KINDS[kind].keys and item[key] is not None}
        for key in ("content", "output"):
            if KINDS[kind].keys.get(key) is WORDS and isinstance(item[key], list):
                found[key] = [without_unknown_keys(one) for one in item[key]]
        if kind == "reasoning":
            found.setdefault("encrypted_content", None)
        if kind in CALLS:
            self._kinds[identity] = kind
            found["call_id"] = self._call_id(identity)
            if not self._session and "name" in found:
                found["name"] = tool_name(item["name"], _LONGEST_NAME, self._repairs)
            if not self._session and kind == "function_call" and not _is_object(item["arguments"]):
                found["arguments"] = dumps({"_raw": clean(item["arguments"])})
        elif "call_id" in found:
            found["call_id"] = self._answer_id(identity)
        return found

    def _custom(self, call: Call, words: str) -> Json:
        """A custom call of a chat log, whose input is a text."""
        self._kinds[call.id] = "custom_tool_call"
        name = call.name if self._session and call.name else tool_name(call.name, _LONGEST_NAME, self._repairs)
        return {"type": "custom_tool_call", "name": name, "input": words, "call_id": self._call_id(call.id)}

    def _call(self, call: Call) -> Json:
        if signature_of(call.raw) is not None:
            self._repairs.leave_out("thought signature")
        self._kinds[call.id] = "function_call"
        value = call.arguments
        written = value if self._session and isinstance(value, str) else dumps(clean(arguments(call)))
        name = call.name if self._session and call.name else tool_name(call.name, _LONGEST_NAME, self._repairs)
        return {"type": "function_call", "name": name, "arguments": written, "call_id": self._call_id(call.id)}

    def _answer(self, result: Result) -> Json:
        """The output of a call, of the kind that the call requires."""
        kind = KINDS[self._kinds.get(result.id, "function_call")].answer
        raw = result.raw or {}
        key = self._answer_id(result.id)
        if raw.get("type") == kind and self._kept(raw):
            return self._copied(raw, result.id)
        if kind == "tool_search_output":
            self._repairs.leave_out("words of a tool search")
            return {"type": kind, "call_id": key, "status": "completed", "execution": "client", "tools": []}
        if result.is_error and result.content != NO_RESULT:
            self._repairs.leave_out("error flag of a result")
        output: str | list[Json] = result.content if isinstance(result.content, str) else []
        if not isinstance(result.content, str):
            output = self._pieces(result.content, "user", named=True) or ""
        return {"type": kind, "call_id": key, "output": output}

    def _pieces(self, parts: list[Part], side: str, *, named: bool = False) -> list[Json]:
        """Text and pictures as pieces. `named`: a part that cannot be held gets a placeholder."""
        found: list[Json] = []
        for part in parts:
            match part:
                case Text(text=words):
                    found += [{"type": "output_text" if side == "assistant" else "input_text", "text": words}] * bool(
                        words
                    )
                    continue
                case Image() if side == "user" and (called := image_type(part)):
                    found.append(_picture(f"data:{called};base64,{part.data}", part))
                    continue
                case Image() if side == "user" and not part.data and is_url(part.url):
                    found.append(_picture(part.url, part))
                    continue
                case Other("file", {"file": dict(file)}) if side == "user" and (held := _file(file)):
                    found.append(held)
                    continue
                case Other("input_file" | "input_image", raw) if side == "user" and is_valid_piece(raw, by_model=False):
                    found.append(without_unknown_keys(raw))
                    continue
            self._repairs.leave_out(kind_of(part))
            if named or (side == "user" and isinstance(part, Image)):
                found.append({"type": "input_text", "text": placeholder(part)})
        return found

    def _message(self, words: list[Json], content: Content, side: str) -> Iterator[Json]:
        """The message with this text, if there is any."""
        if not words:
            return
        role = content.role if side == "system" and content.role in roles.SYSTEM else side
        alone = not self._session and len(words) == 1 and "text" in words[0]
        yield {"type": "message", "role": role, "content": words[0]["text"] if alone else words}


def followed(items: Iterable[Json], repairs: Repairs) -> Iterator[Json]:
    """The items without reasoning that no item of the model follows, which OpenAI refuses."""
    thoughts: list[Json] = []
    for item in items:
        if item["type"] == "reasoning":
            thoughts.append(item)
            continue
        if item["type"].endswith("_output") or item.get("role", "assistant") != "assistant":
            _count_dropped(thoughts, repairs)
        else:
            yield from thoughts
        thoughts = []
        yield item
    _count_dropped(thoughts, repairs)


def _count_dropped(thoughts: list[Json], repairs: Repairs) -> None:
    if thoughts:
        repairs.leave_out("reasoning without the output that followed it", len(thoughts))


def permitted(items: Iterable[Json], repairs: Repairs) -> Iterator[Json]:
    """The items without permissions for calls of a server (`mcp_approval_response`) that nothing requests."""
    asked: set[Any] = set()
    for item in items:
        if item["type"] == "mcp_approval_request":
            asked.add(item.get("id"))
        if item["type"] == "mcp_approval_response" and item["approval_request_id"] not in asked:
            repairs.leave_out("mcp_approval_response")
        else:
            yield item


def _picture(url: str, image: Image) -> Json:
    """A picture; its resolution (`detail`) is kept if the log has it."""
    raw = image.raw or {}
    nested = raw.get("image_url")
    detail = nested.get("detail") if isinstance(nested, dict) else raw.get("detail")
    return {"type": "input_image", "image_url": url, "detail": detail if detail in ("low", "high") else "auto"}


def _is_object(text: str) -> bool:
    return isinstance(arguments_of(text), dict)


def _file(file: Json) -> Json | None:
    """A file of a chat message as a piece; None if it is empty."""
    held = {key: file[key] for key in ("file_data", "file_id", "filename") if isinstance(file.get(key), str)}
    return {"type": "input_file"} | held if held.get("file_data") or held.get("file_id") else None
