"""Writes a context as the body of a Gemini generateContent request: `{"systemInstruction"?, "contents": [...]}`.

Pipeline: context -> `body`. The rules are the provider's: roles alternate from user on; the responses to a model's
calls are alone in the next content, in the order of the calls; thought signatures are sent back on their own parts.
Every change is counted in `Repairs`. The model is in the path of the request, not in the body.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from ctxkit.core.integrity import PairedContents
from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.formats.bodies import (
    NO_CONTENT,
    NO_SIGNATURE,
    Body,
    BodyOptions,
    Ids,
    arguments,
    count_lost_name,
    is_base64_text,
    kind_of,
    placeholder,
    signature_of,
    speaker,
    tool_name,
    written,
)
from ctxkit.formats.gemini_media import file_of, media_of
from ctxkit.tokens.reasoning import UNSIGNED, rule

_LONGEST_ID = 128
_LONGEST_NAME = 64

Json = dict[str, Any]


class _Turn(msgspec.Struct):
    """One content that is being made. `answers`: it holds only responses."""

    role: str
    parts: list[Json]
    answers: bool = False


def body(contents: Iterable[Content], repairs: Repairs, options: BodyOptions) -> Body:
    """The body of the request; `contents` are iterated twice and not kept."""
    writer = _Writer(repairs, rule(options.model) is not UNSIGNED)
    coming = PairedContents(contents).paired(repairs)
    system: list[Json] = []
    first: list[Content] = []
    for content in coming:
        if speaker(content) != "system":
            first.append(content)
            break
        system += writer.system(content)
    head: Json = {"systemInstruction": {"parts": system}} if system else {}
    items = writer.items(chain(first, coming))
    return Body(head, "contents", items, "nothing to send: the context has no message for gemini", writer.signatures)


class _Writer:
    def __init__(self, repairs: Repairs, recent: bool) -> None:
        """`recent`: for models that require signatures; these take pictures in responses, too."""
        self._repairs = repairs
        self._recent = recent
        self._ids = Ids(_LONGEST_ID)
        self._names: dict[str, str] = {}
        self._unsigned = array("q")
        """Offsets of the ends of calls without a signature; those after the user's last message need one."""

    def system(self, content: Content) -> list[Json]:
        """The text of a message of the preamble."""
        words: list[Json] = []
        for part in content.parts:
            if isinstance(part, Text):
                words += self._text(part)
            else:
                self._leave_out(part)
        return words

    def items(self, contents: Iterable[Content]) -> Iterator[bytes]:
        """The contents in JSON: a user content first, responses in the order of the calls."""
        done, calls = 0, list[str]()
        for turn in self._turns(contents):
            if not done and turn.role == "model":
                item = written({"role": "user", "parts": [{"text": NO_CONTENT}]})
                self._repairs.put_in("first message of the user")
                yield item
                done = len(item) + 1
            if calls:
                turn.parts.sort(key=partial(_call_index, calls))
            calls = [part["functionCall"]["id"] for part in turn.parts if "functionCall" in part]
            if turn.role == "user" and not turn.answers:
                self._unsigned = array("q")
            item = written({"role": turn.role, "parts": turn.parts})
            at = next((n for n, part in enumerate(turn.parts) if "functionCall" in part), None)
            if at is not None and "thoughtSignature" not in turn.parts[at]:
                behind = sum(len(written(part)) + 1 for part in turn.parts[at + 1 :])
                self._unsigned.append(done + len(item) - behind - len(b"}]}"))
            yield item
            done += len(item) + 1

    def signatures(self) -> tuple[array[int], bytes]:
        """Where the documented placeholder for missing signatures goes, and its bytes."""
        if self._recent and self._unsigned:
            self._repairs.put_in("placeholder for a missing thought signature", len(self._unsigned))
            return self._unsigned, b',"thoughtSignature":' + written(NO_SIGNATURE)
        return array("q"), b""

    def _turns(self, contents: Iterable[Content]) -> Iterator[_Turn]:
        """The contents that are being made. A later system message becomes the user's: there is no such role."""
        last: _Turn | None = None
        for content in contents:
            count_lost_name(content, self._repairs)
            if speaker(content) == "assistant":
                made = [_Turn("model", [one for part in content.parts for one in self._model_parts(part)])]
            else:
                answers = [self._response(part) for part in content.parts if isinstance(part, Result)]
                words = [one for part in content.parts for one in self._user_parts(part)]
                made = [_Turn("user", answers, answers=True), _Turn("user", words)]
            if not any(turn.parts for turn in made):
                self._repairs.leave_out("empty message")
            for turn in made:
                if turn.parts and last is not None and (last.role, last.answers) == (turn.role, turn.answers):
                    last.parts += turn.parts
                elif turn.parts:
                    if last is not None:
                        yield last
                    last = turn
        if last is not None:
            yield last

    def _model_parts(self, part: Part) -> list[Json]:
        """A part of the model."""
        match part:
            case Text():
                return self._text(part)
            case Call():
                name = tool_name(part.name, _LONGEST_NAME, self._repairs, first_letter=True)
                identity = self._ids.call(part.id)
                self._names[identity] = name
                call = {"functionCall": {"id": identity, "name": name, "args": arguments(part)}}
                return [call | self._signature(part.raw or {})]
            case Thinking(text, raw) if raw.get("thought") is True and text.strip():
                return [{"text": text, "thought": True} | self._signature(raw)]
        self._leave_out(part)
        return []

    def _user_parts(self, part: Part) -> list[Json]:
        """A part of the user; results have a content of their own."""
        match part:
            case Text():
                return self._text(part)
            case Result():
                return []
            case Image() | Other():
                if found := media_of(part) or file_of(part):
                    return [found]
        self._leave_out(part)
        return [{"text": "[image]"}] if isinstance(part, Image) else []

    def _text(self, part: Text) -> list[Json]:
        if part.text.strip():
            return [{"text": part.text}]
        self._repairs.leave_out("blank text")
        return []

    def _signature(self, raw: Json) -> Json:
        """The signature that a part came with: Gemini's own, or in its OpenAI form."""
        found = signature_of(raw)
        if found is None or is_base64_text(found):
            return {"thoughtSignature": found} if found else {}
        self._repairs.leave_out("thought signature that is none")
        return {}

    def _response(self, result: Result) -> Json:
        """The response to one call. Text is its output or error; pictures are beside it if allowed."""
        words: list[str] = []
        media: list[Json] = []
        for part in [Text(result.content)] if isinstance(result.content, str) else result.content:
            found = media_of(part, in_response=True) if self._recent and not isinstance(part, Text) else None
            if found is not None:
                media.append(found)
            elif isinstance(part, Text):
                words.append(part.text)
            else:
                self._leave_out(part)
                words.append(placeholder(part))
        identity = self._ids.answer(result.id)
        response: Json = {
            "id": identity,
            "name": self._names[identity],
            "response": {"error" if result.is_error else "output": "\n".join(words)},
        }
        return {"functionResponse": response | {"parts": media} if media else response}

    def _leave_out(self, part: Part) -> None:
        self._repairs.leave_out(kind_of(part))


def _call_index(calls: list[str], response: Json) -> int:
    """The index of a response's call among those of its step."""
    return calls.index(response["functionResponse"]["id"])
