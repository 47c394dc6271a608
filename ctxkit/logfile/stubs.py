"""Stubs: what an op puts in place of a message's content, so that it is shorter while call-result pairs stay whole.

A text, or parts, replace the text of a message, or the text of each of its results; calls stay. Thinking among the
parts is sent under the key that the message had it under. Parts that are only calls or results (`tool_use`,
`tool_result`) replace those of the same id; the rest of the message stays, including the keys of its record that are
not text (a time, an agent). A `LeftOut` names parts that are left out. Used by `logfile/open.py` wherever a shortened
message is read; `cut/shorten/shorten.py` makes the stubs of trims and compacts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ctxkit.core.board import LeftOut
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.ops import Index
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.chat import content_of
from ctxkit.formats.chat_lines import lines
from ctxkit.formats.chat_parts import arguments_of, part_of

_INSIDE = ("function", "custom", "functionCall", "function_call", "value")
"""Where providers put a call's name and arguments, also as text, if not beside its id."""
_ARGUMENTS = ("arguments", "input", "args", "value")
_BESIDE = ("timestamp", "ts", "isMeta", "isVirtual", "isApiErrorMessage", "origin")
"""Keys of a program's row that are not text: its time, who wrote it, and whether a model got it."""
_OF_MESSAGE = ("role", "id", "model", "provider", "api", "stopReason")
"""Keys of the message in such a row that are not text: its role, response, model, and how the response ended."""


def stubbed(content: Content, stub: Any) -> Content:
    """`content` with `stub` applied; ids stay, so that pairs stay whole."""
    if isinstance(stub, LeftOut):
        rest = Content(content.role, _without(content.parts, stub.parts), content.name, _beside(content.rows))
        return rest if stub.stub is None else stubbed(rest, stub.stub)
    return Content(content.role, _parts(content, stub), content.name, _beside(content.rows))


def _parts(content: Content, stub: Any) -> list[Part]:
    named = _by_id(stub)
    if named:
        return [_instead(part, named) for part in content.parts]
    replaced = content_of({"role": "user", "content": stub}).parts  # text; of a tool's role it would be a result
    results = [part for part in content.parts if isinstance(part, Result)]
    if results:
        words = "\n".join(part.text for part in replaced if isinstance(part, Text))
        calls = [part for part in content.parts if isinstance(part, Call)]  # of some programs one row holds both
        return [*calls, *(Result(part.id, words, part.is_error) for part in results)]
    thoughts = [part for part in content.parts if isinstance(part, Thinking)]
    texts = [_as_written(part, thoughts) if isinstance(part, Thinking) else part for part in replaced]
    return [*texts, *(part for part in content.parts if isinstance(part, Call))]


def _as_written(part: Thinking, thoughts: Sequence[Thinking]) -> Thinking:
    """Shortened thinking under the key that the message had it under: providers look for it there."""
    for one in thoughts:
        if one.text in one.raw.values():
            return Thinking(
                part.text, {key: part.text if value == one.text else value for key, value in one.raw.items()}
            )
    return part


def _without(parts: Sequence[Part], out: Collection[Index]) -> list[Part]:
    """The parts, with a text in place of those that are left out; a place that does not exist is ignored."""
    found = list(parts)
    inside: dict[int, set[int]] = {}
    for place in out:
        if isinstance(place, tuple):
            inside.setdefault(place[0], set()).add(place[1])
        elif place < len(found):
            found[place] = _left_out(found[place])
    for at, places in inside.items():
        whole = found[at] if at < len(found) else None
        if isinstance(whole, Result) and isinstance(whole.content, list):
            rest = [_left_out(part) if k in places else part for k, part in enumerate(whole.content)]
            found[at] = Result(whole.id, rest, whole.is_error)  # without its raw record, which has all parts
    return found


def _left_out(part: Part) -> Part:
    """The text in place of a part; a call and the model's thinking are never left out."""
    match part:
        case Call() | Thinking():
            return part
        case Result():
            return Result(part.id, left_out("result"), part.is_error)
        case Image():
            return Text(left_out("image"))
        case Text():
            return Text(left_out("text"))
        case Other():
            return Text(left_out(part.kind))


def left_out(kind: str) -> str:
    """The text in place of a part of this kind: `[image left out]`."""
    return f"[{kind} left out]"


def _beside(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a shortened message without its text: a chat record as it is; of another program's row only the keys
    of `_BESIDE` and `_OF_MESSAGE`; only the time if such a row has no message, because its program writes the text.
    """
    head = rows[0] if rows else {}
    if isinstance(head.get("role"), str):
        return [head]
    message = head.get("message")
    if not isinstance(message, dict):
        return [times] if (times := {key: head[key] for key in _BESIDE[:2] if key in head}) else []
    found = {key: head[key] for key in _BESIDE if key in head}
    return [found | {"message": {key: message[key] for key in _OF_MESSAGE if key in message}}]


def of_call(call: Call, arguments: Any) -> dict[str, Any]:
    """The part of a stub that gives a call other arguments."""
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def of_result(result: Result, words: str) -> dict[str, Any]:
    """The part of a stub that replaces the text of a result by `words`."""
    return {"type": "tool_result", "tool_use_id": result.id, "content": words}


def of_parts(parts: Sequence[Part]) -> Any:
    """The stub that replaces the text of a message."""
    return next(lines([Content("user", list(parts))]))["content"]


def of_content(content: Content) -> Any:
    """The stub with which a message is whole again; None if it has what no stub has: thinking, pictures of a result."""
    named: list[dict[str, Any]] = []
    for part in content.parts:
        if isinstance(part, Call):
            named.append(of_call(part, part.arguments))
        elif isinstance(part, Result):
            texts = [Text(part.content)] if isinstance(part.content, str) else part.content
            if not all(isinstance(one, Text) for one in texts):
                return None
            named.append(of_result(part, "\n".join(one.text for one in texts if isinstance(one, Text))))
    if named or any(isinstance(part, Thinking) for part in content.parts):
        return named or None
    return of_parts(content.parts)


def _by_id(stub: Any) -> dict[tuple[bool, str], Call | Result]:
    """(whether it is a call, id) -> its replacement; empty for a stub that has other parts too."""
    parts = [part_of(one) for one in stub] if isinstance(stub, list) else []
    named = {(isinstance(part, Call), part.id): part for part in parts if isinstance(part, Call | Result)}
    return named if len(named) == len(parts) else {}


def _instead(part: Part, named: dict[tuple[bool, str], Call | Result]) -> Part:
    found = named.get((isinstance(part, Call), part.id)) if isinstance(part, Call | Result) else None
    if isinstance(part, Call) and isinstance(found, Call):
        raw = None if part.raw is None else with_arguments(part.raw, found.arguments)
        return Call(part.id, part.name, found.arguments, raw)
    if isinstance(part, Result) and isinstance(found, Result):
        return Result(part.id, found.content, part.is_error)
    return part


def with_arguments(raw: Mapping[str, Any], arguments: Any) -> dict[str, Any]:
    """A call as its provider wrote it (with a signature, or of a kind of its own), with other arguments; they are text
    if the call's own were.
    """
    found = dict(raw)
    whole = {key: held for key in _INSIDE if isinstance(held := _decoded(raw.get(key)), Mapping)}
    for key, held in whole.items():
        inner = with_arguments(held, arguments)
        found[key] = dumps(inner) if isinstance(raw[key], str) else inner
    for key in _ARGUMENTS:
        if key in found and key not in whole:
            plain = isinstance(found[key], str) and not isinstance(arguments, str)
            found[key] = dumps(arguments) if plain else arguments
    return found


def _decoded(value: Any) -> Any:
    return arguments_of(value) if isinstance(value, str) else value
