"""Writes a context as the body of an Anthropic Messages request: `{"model"?, "system"?, "messages": [...]}`.

Pipeline: context -> `write`. The rules are the provider's: roles alternate from user on, results come first in the
message after their calls, thinking goes back unchanged, no blank text. What had to be changed is counted.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
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
    carried,
)
from ctxkit.formats.bodies import (
    NO_CONTENT,
    Body,
    BodyOptions,
    Ids,
    arguments,
    clean,
    instead_of,
    is_base64,
    is_url,
    kind_of,
    signature_of,
    speaker,
    tool_name,
    unsaid_name,
    written,
)

_THINKING = ("thinking", "redacted_thinking")
LONGEST_ID = 256
LONGEST_NAME = 128
Block = dict[str, Any]


class _Turn(msgspec.Struct):
    """One message in the making. `first` are blocks that open it: results, of a user message."""

    role: str
    first: list[Block] = []
    rest: list[Block] = []


def write(
    contents: Iterable[Content], *, model: str = "", as_sent: bool = False, tools: Container[str] = frozenset()
) -> tuple[dict[str, Any], Repairs]:
    """The body, and what was changed to make it valid. Raises NothingToSend where no message is left."""
    repairs = Repairs()
    return body(contents, repairs, BodyOptions(model, as_sent, tools)).value, repairs


def body(contents: Iterable[Content], repairs: Repairs, options: BodyOptions) -> Body:
    """The same piece by piece; `contents` are gone through twice, and not held.

    As it is sent (`claude_code/wire.py`), thinking and the order of blocks stay, be they as the documentation says or
    not. What a search found of tools whose definitions do not go along is told in words.
    """
    writer = _Writer(repairs, options.as_sent, options.tools)
    coming = PairedContents(contents).told(repairs)
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
    items = map(written, writer.finish(writer.turns(chain(first, coming))))
    return Body(head, "messages", items, "nothing to send: the context has no message for anthropic")


class _Writer:
    def __init__(self, repairs: Repairs, as_sent: bool, tools: Container[str]) -> None:
        self._repairs = repairs
        self._tools = tools
        self._as_sent = as_sent
        self._ids = Ids(LONGEST_ID)

    def system(self, content: Content) -> str:
        """The words of a message of the preamble."""
        for part in content.parts:
            if not isinstance(part, Text):
                self._leave_out(part)
        return "\n\n".join(part.text for part in content.parts if isinstance(part, Text) and part.text.strip())

    def turn(self, content: Content) -> _Turn:
        """The message of one content; a later system message is told by the user, as there is no such role."""
        unsaid_name(content, self._repairs)
        if speaker(content) == "assistant":
            blocks = [block for part in content.parts if (block := self._said(part))]
            return _Turn("assistant", [], self._with_callers(self._server_pairs(blocks)))
        turn = _Turn("user")
        has_result = any(isinstance(part, Result) for part in content.parts)
        for part in content.parts:
            if isinstance(part, Result):
                turn.first.append(self._result(part))
            elif block := self._user(part):
                (turn.first if self._as_sent and has_result else turn.rest).append(block)
        return turn

    def turns(self, contents: Iterable[Content]) -> Iterator[_Turn]:
        """The messages of the contents, what one side says in one."""
        last: _Turn | None = None
        for content in contents:
            turn = self.turn(content)
            if not (turn.first or turn.rest):
                self._repairs.leave_out("empty message")
            elif last is not None and last.role == turn.role:
                if turn.rest and turn.rest[0]["type"] in _THINKING:  # what two messages thought is not one thought
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
        """The messages: no thinking at an end, the first the user's, no white space where the model is to go on."""
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

    def _said(self, part: Part) -> Block | None:
        """A block of an assistant message."""
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
            case Other(_, raw) if block := carried(raw, SERVER_KINDS):
                return block
        self._leave_out(part)
        return None

    def without_bare_thinking(self, blocks: list[Block]) -> list[Block]:
        """Without thinking at the end of a message, where nothing is said after it."""
        while not self._as_sent and blocks and blocks[-1]["type"] in _THINKING:
            blocks.pop()
            self._repairs.leave_out("thinking without words after it")
        return blocks

    def _user(self, part: Part) -> Block | None:
        match part:
            case Text():
                return self._text(part)
            case Image():
                return self._image(part)
            case Other(_, raw) if block := carried(raw, USER_KINDS):
                return block
        self._leave_out(part)
        return None

    def _text(self, part: Text) -> Block | None:
        if part.text.strip():
            return {"type": "text", "text": part.text}
        self._repairs.leave_out("blank text")
        return None

    def _thinking(self, part: Thinking) -> Block | None:
        """As the provider wrote it or not at all, since it refuses any other."""
        keys = {"thinking": ("thinking", "signature"), "redacted_thinking": ("data",)}.get(
            str(part.raw.get("type")), ()
        )
        if keys and self._as_sent:
            return part.raw
        if not (keys and all(isinstance(part.raw.get(key), str) for key in keys) and part.raw[keys[-1]]):
            self._repairs.leave_out("thinking without a signature")
            return None
        block = {"type": part.raw["type"]} | {key: part.raw[key] for key in keys}
        if clean(block) is not block:
            self._repairs.leave_out("thinking that UTF-8 cannot hold")
            return None
        return block

    def _image(self, part: Image) -> Block:
        if is_base64(part):
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
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
            content = [inner for one in content if (inner := self._inner(one, words_only))]
        if content or "content" in raw or part.raw is None:
            block["content"] = content or ""
        if part.is_error or isinstance(raw.get("is_error"), bool):
            block["is_error"] = part.is_error
        return block

    def _inner(self, part: Part, words_only: bool) -> Block | None:
        """A block inside a result; `words_only`: it tells of an error, where nothing else may stand."""
        match part:
            case Text():
                return self._text(part)
            case Image() if not words_only:
                return self._image(part)
            case Other("tool_reference", raw) if str(raw.get("tool_name")) not in self._tools:
                pass  # refused where no definition of that tool goes along
            case Other(_, raw) if not words_only and (block := carried(raw, RESULT_KINDS)):
                return block
        self._leave_out(part)
        return {"type": "text", "text": instead_of(part)}

    def _server_pairs(self, blocks: list[Block]) -> list[Block]:
        """Without calls of the provider's own tools whose result does not follow in the message, and the other way."""
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
        """Who made a call is said if it is the model, or code whose own call stands before it in the message."""
        made: list[str] = []
        for block in blocks:
            known = False
            match block.get("caller"):
                case {"type": "direct", **more}:
                    known = not more
                case {"type": str() as kind, "tool_id": by, **more} if kind.startswith("code_execution_") and not more:
                    known = by in made
            if "caller" in block and not known:
                del block["caller"]
                self._repairs.leave_out("caller")
            if block["type"] in SERVER_CALLS:
                made.append(block["id"])
        return blocks

    def _leave_out(self, part: Part) -> None:
        self._repairs.leave_out(kind_of(part))
