"""Writes a context as the body of an Anthropic Messages request: `{"model"?, "system"?, "messages": [...]}`.

Pipeline: context -> `body`. The rules are the provider's: roles alternate from user on, results come first in the
message after their calls, thinking is sent back unchanged, no text is blank. Every change is counted in `Repairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

from ctxkit.core.integrity import PairedContents
from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.formats.anthropic_blocks import (
    RESULT_KINDS,
    SERVER_ANSWERS,
    SERVER_CALLS,
    SERVER_KINDS,
    USER_KINDS,
    complete_block,
)
from ctxkit.formats.bodies import (
    NO_CONTENT,
    Body,
    BodyOptions,
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
    written,
)
from ctxkit.formats.chat_parts import BLOCKS, part_of

_THINKING = ("thinking", "redacted_thinking")
LONGEST_ID = 256
LONGEST_NAME = 128
Block = dict[str, Any]


class _Turn(msgspec.Struct):
    """One message that is being made. `first`: blocks at its start (the results of a user message)."""

    role: str
    first: list[Block] = []
    rest: list[Block] = []


def body(contents: Iterable[Content], repairs: Repairs, options: BodyOptions) -> Body:
    """The body of the request; `contents` are iterated twice and not kept.

    With `as_sent` (`claude_code/wire.py`), thinking and the order of blocks stay, even against the documentation. A
    reference to a found tool whose definition is not in `tools` becomes text.
    """
    writer = _Writer(repairs, options)
    coming = PairedContents(contents).paired(repairs)
    system: list[str] = []
    first: list[Content] = []
    for content in coming:
        if speaker(content) != "system":
            first.append(content)
            break
        if text := writer.system(content):
            system.append(text)
    head: dict[str, Any] = {"model": options.model} if options.model else {}
    if system:
        head["system"] = "\n\n".join(system)
    messages = writer.finish(writer.turns(chain(first, coming)))
    items = map(written, writer.padded(messages) if options.padded else messages)
    return Body(head, "messages", items, "nothing to send: the context has no message for anthropic")


def _single(part: Part) -> list[Part]:
    """litellm's list of blocks as parts of their own; any other part as it is."""
    listed = part.raw.get(BLOCKS) if isinstance(part, Thinking) else None
    return [one for one in map(part_of, listed) if isinstance(one, Thinking)] or [part] if listed else [part]


class _Writer:
    def __init__(self, repairs: Repairs, options: BodyOptions) -> None:
        self._repairs = repairs
        self._tools = options.tools
        self._as_sent = options.as_sent
        self._unsigned = options.unsigned
        self._ids = Ids(LONGEST_ID)

    def system(self, content: Content) -> str:
        """The text of a message of the preamble."""
        for part in content.parts:
            if not isinstance(part, Text):
                self._leave_out(part)
        return "\n\n".join(part.text for part in content.parts if isinstance(part, Text) and part.text.strip())

    def turn(self, content: Content) -> _Turn:
        """The message of one content. A later system message becomes a user message: there is no such role."""
        count_lost_name(content, self._repairs)
        if speaker(content) == "assistant":
            parts = (one for part in content.parts for one in _single(part))
            blocks = [block for part in parts if (block := self._assistant_block(part))]
            return _Turn("assistant", [], self._with_callers(self._server_pairs(blocks)))
        turn = _Turn("user")
        has_result = any(isinstance(part, Result) for part in content.parts)
        for part in content.parts:
            if isinstance(part, Result):
                turn.first.append(self._result(part))
            elif block := self._user_block(part):
                (turn.first if self._as_sent and has_result else turn.rest).append(block)
        return turn

    def turns(self, contents: Iterable[Content]) -> Iterator[_Turn]:
        """The messages of the contents; consecutive ones of the same role are merged."""
        last: _Turn | None = None
        for content in contents:
            turn = self.turn(content)
            if not (turn.first or turn.rest):
                self._repairs.leave_out("empty message")
            elif last is not None and last.role == turn.role:
                if turn.rest and turn.rest[0]["type"] in _THINKING:  # thinking of two messages may not become one run
                    last.rest = self.without_bare_thinking(last.rest)
                last.first += turn.first
                last.rest += turn.rest
            else:
                if last is not None:
                    yield last
                last = turn
        if last is not None:
            yield last

    def finish(self, turns: Iterable[_Turn]) -> Iterator[dict[str, Any]]:
        """Valid messages: a user message first, no thinking at an end, no white space at the end of a prefill."""
        last: dict[str, Any] | None = None
        for turn in turns:
            blocks = turn.first + self.without_bare_thinking(turn.rest)
            if blocks and last is not None and last["role"] == turn.role:
                last["content"] += blocks
            elif blocks:
                if last is not None:
                    yield last
                elif turn.role == "assistant":
                    yield {"role": "user", "content": [{"type": "text", "text": NO_CONTENT}]}
                    self._repairs.put_in("first message of the user")
                last = {"role": turn.role, "content": blocks}
        if last is not None and last["role"] == "assistant" and last["content"][-1]["type"] == "text":  # a prefill
            end = last["content"][-1]
            if end["text"] != (stripped := end["text"].rstrip()):
                end["text"] = stripped
                self._repairs.leave_out("white space at the end")
        if last is not None:
            yield last

    def padded(self, messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The messages with empty thinking before calls that have none."""
        for message in messages:
            kinds = {block["type"] for block in message["content"]}
            if "tool_use" in kinds and "thinking" not in kinds:
                self._repairs.put_in("empty thinking beside calls")
                message["content"].insert(0, {"type": "thinking", "thinking": "", "signature": ""})
            yield message

    def _assistant_block(self, part: Part) -> Block | None:
        """The block of a part of an assistant message; None if it is left out."""
        match part:
            case Text():
                return self._text(part)
            case Call():
                call = {
                    "type": "tool_use",
                    "id": self._ids.call(part.id),
                    "name": tool_name(part.name, LONGEST_NAME, self._repairs),
                    "input": arguments(part),
                }
                if signature_of(part.raw) is not None:
                    self._repairs.leave_out("thought signature")
                caller = (part.raw or {}).get("caller")
                return call if caller is None else call | {"caller": caller}
            case Thinking():
                return self._thinking(part)
            case Other(_, raw) if block := complete_block(raw, SERVER_KINDS):
                return block
        self._leave_out(part)
        return None

    def without_bare_thinking(self, blocks: list[Block]) -> list[Block]:
        """The blocks without thinking at the end of a message, after which nothing follows."""
        while not self._as_sent and blocks and blocks[-1]["type"] in _THINKING:
            blocks.pop()
            self._repairs.leave_out("thinking without words after it")
        return blocks

    def _user_block(self, part: Part) -> Block | None:
        """The block of a part of a user message; None if it is left out."""
        match part:
            case Text():
                return self._text(part)
            case Image():
                return self._image(part)
            case Other(_, raw) if block := complete_block(raw, USER_KINDS):
                return block
        self._leave_out(part)
        return None

    def _text(self, part: Text) -> Block | None:
        if part.text.strip():
            return {"type": "text", "text": part.text}
        self._repairs.leave_out("blank text")
        return None

    def _thinking(self, part: Thinking) -> Block | None:
        """The block exactly as the provider wrote it, or None: Anthropic refuses any other; some others take words."""
        keys = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}.get(
            str(part.raw.get("type")), ()
        )
        if keys and self._as_sent:
            return part.raw
        if not (keys and all(isinstance(part.raw.get(key), str) for key in keys) and part.raw[keys[-1]]):
            if self._unsigned and part.text:
                return clean({"type": "thinking", "thinking": part.text, "signature": ""})
            self._repairs.leave_out("thinking without a signature")
            return None
        block = {"type": part.raw["type"]} | {key: part.raw[key] for key in keys}
        if clean(block) is not block:
            self._repairs.leave_out("thinking that UTF-8 cannot hold")
            return None
        return block

    def _image(self, part: Image) -> Block:
        if called := image_type(part):
            source = {"type": "base64", "media_type": called, "data": part.data}
        elif not part.data and is_url(part.url, secure=True):
            source = {"type": "url", "url": part.url}
        else:
            self._leave_out(part)
            return {"type": "text", "text": "[image]"}
        return {"type": "image", "source": source}

    def _result(self, part: Result) -> Block:
        block: Block = {"type": "tool_result", "tool_use_id": self._ids.answer(part.id)}
        raw = part.raw or {}
        content: Any = part.content
        if isinstance(content, list):
            words_only = part.is_error and not self._as_sent
            content = [inner for one in content if (inner := self._block_in_result(one, words_only))]
        if content or "content" in raw or part.raw is None:
            block["content"] = content or ""
        if part.is_error or isinstance(raw.get("is_error"), bool):
            block["is_error"] = part.is_error
        return block

    def _block_in_result(self, part: Part, words_only: bool) -> Block | None:
        """A block inside a result. `words_only`: the result is an error, which may hold text only."""
        match part:
            case Text():
                return self._text(part)
            case Image() if not words_only:
                return self._image(part)
            case Other("tool_reference", raw) if str(raw.get("tool_name")) not in self._tools:
                pass  # the provider refuses a reference to a tool that the request does not define
            case Other(_, raw) if not words_only and (block := complete_block(raw, RESULT_KINDS)):
                return block
        self._leave_out(part)
        return {"type": "text", "text": placeholder(part)}

    def _server_pairs(self, blocks: list[Block]) -> list[Block]:
        """The blocks without unpaired calls and results of the provider's own tools: a result follows its call."""
        answers = {block["tool_use_id"]: n for n, block in enumerate(blocks) if block["type"] in SERVER_ANSWERS}
        calls = {block["id"]: n for n, block in enumerate(blocks) if block["type"] in SERVER_CALLS}
        paired = {
            n for one in calls.keys() & answers.keys() if calls[one] < answers[one] for n in (calls[one], answers[one])
        }
        for n, block in enumerate(blocks):
            if block["type"] in SERVER_KINDS and n not in paired:
                self._repairs.leave_out(block["type"])
        return [block for n, block in enumerate(blocks) if block["type"] not in SERVER_KINDS or n in paired]

    def _with_callers(self, blocks: list[Block]) -> list[Block]:
        """The blocks with only valid callers: the model, or code that the same message called before."""
        made: list[str] = []
        for block in blocks:
            valid = False
            match block.get("caller"):
                case {"type": "direct", **more}:
                    valid = not more
                case {"type": str() as kind, "tool_id": by, **more} if kind.startswith("code_execution_") and not more:
                    valid = by in made
            if "caller" in block and not valid:
                del block["caller"]
                self._repairs.leave_out("caller")
            if block["type"] in SERVER_CALLS:
                made.append(block["id"])
        return blocks

    def _leave_out(self, part: Part) -> None:
        self._repairs.leave_out(kind_of(part))
