"""filter_context: defines the tool by which a model forgets, for each provider, and parses its calls.

Pure. Text in, a `FilterRequest` out; `changes/filter_context.py` executes it. Calls are parsed strictly; a mistake gets
an error that the model can correct.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ctxkit.core.text.json_text import digest, loads
from ctxkit.core.text.utf8 import exact

NAME = "filter_context"
LARGEST = 1 << 20
"""The most bytes of a call."""
DEEPEST = 6
"""The most objects and lists around the arguments."""

ACTIONS, MODES = ("preview", "apply"), ("forget", "remember")
_IDS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "action": {
        "type": "string",
        "enum": list(ACTIONS),
        "description": "preview: list the messages that match, a page at a time; change nothing. apply: filter those "
        "of message_ids.",
    },
    "mode": {
        "type": "string",
        "enum": list(MODES),
        "description": "forget: these messages leave the context. remember: only these stay, everything else leaves.",
    },
    "criteria": {
        "type": "string",
        "description": "What the messages are about, in words that stand in them. Those that have more of the words, "
        "and rarer ones, match, a short question with its answer; the best 20.",
    },
    "role": {"type": "string", "description": "Only messages with this role: user, assistant, tool."},
    "tool_name": {"type": "string", "description": "Only calls of tools so named, with their results; * is any text."},
    "last": {"type": "string", "description": "Only the newest: 5 (messages), 2x (exchanges) or 3s (steps)."},
    "message_ids": {
        **_IDS,
        "description": 'For preview: which messages to list, ["1-"] for all; next_message_ids of the answer, with the '
        "same other arguments, gives the next page. For apply: those that the user agreed to. Ranges: 45-67.",
    },
    "planning_conversation_ids": {
        **_IDS,
        "description": "For apply: ids of the conversation about this, from the user's request to the answer; they are "
        "forgotten with it. As the preview gave them.",
    },
}
"""The arguments, each with its JSON schema."""
REQUIRED = ("action", "mode")
DESCRIPTION = (
    "Takes messages out of the context of this conversation, or keeps only some. Always preview first, show the user "
    "what would leave, and apply only when the user agrees. Nothing is deleted: every change can be undone. The system "
    "prompt and protected messages always stay; a tool call and its result go together."
)
HINT = 'give criteria, such as: database schema; or message_ids ["1-"], page by page'
PROVIDERS = ("openai", "anthropic", "gemini")


class Refused(Exception):
    """A call that is not executed. `code` is stable; `hint` tells the model what to do."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint

    def as_json(self) -> dict[str, Any]:
        """The answer for the model."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class FilterRequest(msgspec.Struct, frozen=True):
    """The request of a call. `key`: the same if the same call is sent again, "" if the call has no id."""

    action: str
    mode: str
    criteria: str | None = None
    role: str | None = None
    tool_name: str | None = None
    last: str | None = None
    message_ids: tuple[str, ...] = ()
    planning_conversation_ids: tuple[str, ...] = ()
    key: str = ""


def definition(provider: str) -> dict[str, Any]:
    """The definition of the tool for a request's `tools`, in the provider's form, strict if it has a strict mode.

    Raises KeyError for an unknown provider.
    """
    schema = {"type": "object", "properties": ARGUMENTS, "required": list(REQUIRED), "additionalProperties": False}
    plain = {"name": NAME, "description": DESCRIPTION}
    match provider:
        case "openai":
            return {"type": "function", "function": {**plain, "strict": True, "parameters": _all_required(schema)}}
        case "anthropic":
            return {**plain, "strict": True, "input_schema": schema}
        case "gemini":
            return {"functionDeclarations": [{**plain, "parameters": _upper(schema)}]}
    raise KeyError(provider)


def _all_required(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema for OpenAI's strict mode: every argument must be given, null if it is not used."""
    given = {
        name: inner if name in schema["required"] else {**inner, "type": [inner["type"], "null"]}
        for name, inner in schema["properties"].items()
    }
    return {**schema, "properties": given, "required": list(given)}


def _upper(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema for Gemini: types in capitals, without `additionalProperties`."""
    found = {key: value for key, value in schema.items() if key != "additionalProperties"}
    found["type"] = found["type"].upper()
    if "items" in found:
        found["items"] = _upper(found["items"])
    if "properties" in found:
        found["properties"] = {name: _upper(inner) for name, inner in found["properties"].items()}
    return found


def request(raw: bytes) -> FilterRequest:
    """The request of a call, which is JSON: only its arguments, or the call as a provider gives it. Raises Refused."""
    if len(raw) > LARGEST:
        raise Refused("too_large", f"the call is larger than {LARGEST:,} bytes", "give ranges: 45-67")
    arguments, identity = _unwrapped(_decoded(raw), 0)
    found = {name: _value(name, value) for name, value in arguments.items() if value is not None}
    for name in REQUIRED:
        if name not in found:
            raise Refused("missing_argument", f"{name} is missing", f"one of {', '.join(ARGUMENTS[name]['enum'])}")
    key = "" if not identity else digest([identity, found], 16)
    made = FilterRequest(key=key, **found)
    chosen = made.criteria, made.role, made.tool_name, made.last, made.message_ids
    if made.action == "preview" and not any(chosen):
        raise Refused("missing_argument", "preview of which messages?", HINT)
    if made.action == "apply" and not made.message_ids:
        raise Refused("missing_argument", "apply takes message_ids", "preview first: it gives the ids of what matches")
    return made


def _decoded(raw: bytes) -> Any:
    try:
        return loads(raw)
    except ValueError as error:
        raise Refused(
            "not_json", f"the call is not JSON: {_brief(error)}", "a JSON object with action, mode"
        ) from error


def _brief(error: ValueError) -> str:
    return str(error).partition("\n")[0][:120]


def _unwrapped(value: Any, depth: int) -> tuple[dict[str, Any], str]:
    """The arguments of a call, and the id that its provider gave it."""
    if depth > DEEPEST:
        raise Refused("no_call", "the call is nested too deeply", "a JSON object with action, mode")
    match value:
        case str():
            return _unwrapped(_decoded(exact(value)), depth + 1)
        case list():
            calls = [one for one in value if _is_call(one)]
            if len(calls) != 1:
                count = len(calls) or "no"
                raise Refused("no_call", f"{count} calls of {NAME} in a list", "one call at a time")
            return _unwrapped(calls[0], depth + 1)
        case {"action": _} | {"mode": _}:
            return value, ""
        case {"tool_calls": list(inner)} | {"content": list(inner)} | {"parts": list(inner)}:
            return _unwrapped(inner, depth + 1)
        case {"functionCall": dict(inner)} | {"function_call": dict(inner)}:
            return _named(inner, "args" if "args" in inner else "arguments", inner.get("id"), depth)
        case {"function": dict(inner)}:
            return _named(inner, "arguments", value.get("id"), depth)
        case {"type": "tool_use"}:
            return _named(value, "input", value.get("id"), depth)
        case {"name": _, "args": _}:
            return _named(value, "args", value.get("id"), depth)
        case {"name": _, "input": _}:
            return _named(value, "input", value.get("id"), depth)
        case {"name": _}:
            return _named(value, "arguments", value.get("call_id") or value.get("id"), depth)
        case dict():
            return value, ""
    raise Refused("no_call", f"{_kind(value)} is not a call of {NAME}", "a JSON object with action, mode")


def _is_call(value: Any) -> bool:
    """Whether an element of a list is a call, not text or thinking beside it."""
    if not isinstance(value, dict):
        return False
    inner = next((value[key] for key in ("function", "functionCall", "function_call") if key in value), value)
    return isinstance(inner, dict) and (inner.get("name") == NAME or "action" in inner)


def _named(call: dict[str, Any], key: str, identity: Any, depth: int) -> tuple[dict[str, Any], str]:
    name = call.get("name")
    if name != NAME:
        raise Refused("unknown_tool", f"there is no tool {_shown(name)}", f"the tool is {NAME}")
    inner = call.get(key, {})
    found = _unwrapped(inner, depth + 1)[0] if isinstance(inner, str) else inner
    if not isinstance(found, dict):
        raise Refused("bad_argument", f"the arguments are {_kind(found)}", "a JSON object with action, mode")
    return found, identity if isinstance(identity, str) else ""


def _value(name: str, value: Any) -> Any:
    """One argument, checked for its type."""
    schema = ARGUMENTS.get(name)
    if schema is None:
        raise Refused("unknown_argument", f"there is no argument {_shown(name)}", f"known: {', '.join(ARGUMENTS)}")
    if schema["type"] == "array":
        ids = value if isinstance(value, list) else [value]
        if not all(isinstance(one, str) or (isinstance(one, int) and not isinstance(one, bool)) for one in ids):
            raise Refused("bad_argument", f"{name} is not a list of message ids", 'such as ["45", "46-48"]')
        return tuple(str(one) for one in ids if one != "")
    if name == "last" and isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise Refused("bad_argument", f"{name} is {_kind(value)}", "a string")
    choices = schema.get("enum")
    if choices and value not in choices:
        raise Refused(f"unknown_{name}", f"there is no {name} {_shown(value)}", f"one of {', '.join(choices)}")
    return value or None


def _shown(value: Any) -> str:
    return repr(value[:60]) if isinstance(value, str) else _kind(value)


def _kind(value: Any) -> str:
    words = {str: "a string", bool: "true or false", dict: "an object", list: "a list", type(None): "null"}
    return words.get(type(value), "a number")
