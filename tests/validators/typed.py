"""What the providers' own packages say of a request body: their typed parameters, read by pydantic, nothing lazily.

`anthropic` and `openai` describe bodies as TypedDicts whose lists are `Iterable`s, which pydantic would look into only
when somebody iterates, and whose unknown keys it would pass. So each is built anew here, with lists and without unknown
keys. `google-genai` has models that forbid unknown keys by themselves. A package is imported when it is asked: each
takes seconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from os import PathLike
from types import UnionType
from typing import IO, Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict, is_typeddict

JsonObject = dict[str, Any]


def anthropic(body: JsonObject) -> list[str]:
    """What `anthropic.types` refuses in a body, to which `max_tokens` is added."""
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

    return _problems(_adapter(MessageCreateParamsNonStreaming), {"model": "m", "max_tokens": 1} | body)


def openai(body: JsonObject) -> list[str]:
    """What `openai.types.chat` refuses in a body."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

    return _problems(_adapter(CompletionCreateParamsNonStreaming), {"model": "m"} | body)


def responses(body: JsonObject) -> list[str]:
    """What `openai.types.responses` refuses in a body's items.

    The types ask for ids and states of what the model made, which the API does not: Codex sends such items without.
    """
    from openai.types.responses import ResponseInputItemParam

    return _problems(_adapter(list[ResponseInputItemParam]), [_with_id(item) for item in body["input"]])


def _with_id(item: JsonObject) -> JsonObject:
    match item:
        case {"type": "reasoning" | "web_search_call" | "local_shell_call"}:
            return {"id": "x"} | item
        case {"type": "custom_tool_call"}:
            return {key: value for key, value in item.items() if key != "status"}
        case {"type": "message", "role": "assistant", "content": [*pieces]}:
            made = [{"annotations": []} | one if one.get("type") == "output_text" else one for one in pieces]
            return {"id": "x", "status": "completed"} | item | {"content": made}
    return item


def gemini(body: JsonObject) -> list[str]:
    """What `google.genai.types` refuses in a body; its bytes are base64 in JSON, so it is read as JSON."""
    from google.genai import types

    found = [f"unknown key {key}" for key in body if key not in ("contents", "systemInstruction")]
    for content in [*body["contents"], body.get("systemInstruction", {})]:
        try:
            types.Content.model_validate_json(json.dumps(content), strict=True)
        except ValidationError as error:
            found += [str(one["loc"]) + one["msg"] for one in error.errors()]
    return found


def _problems(adapter: TypeAdapter[Any], body: Any) -> list[str]:
    try:
        adapter.validate_python(body, strict=True)
    except ValidationError as error:
        return [f"{one['loc']}: {one['msg']}" for one in error.errors(include_url=False)][:20]
    return []


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(_strict(shape))


@cache
def _strict(shape: Any) -> Any:
    """The same shape with lists for iterables, and no keys but those it names."""
    if is_typeddict(shape):
        fields = {
            name: (Required if _is_required(shape, name, hint) else NotRequired)[_strict(hint)]
            for name, hint in get_type_hints(shape, include_extras=True).items()
        }
        return with_config(ConfigDict(extra="forbid"))(TypedDict(shape.__name__, fields))
    origin, args = get_origin(shape), get_args(shape)
    if origin in (Union, UnionType):
        return Union[tuple(_strict(one) for one in args if not _is_object(one))]  # noqa: UP007
    if origin in (Annotated, Required, NotRequired):
        return _strict(args[0])
    if origin is Iterable:
        return list[_strict(args[0])]
    if origin in (None, Literal):
        return shape
    return origin[tuple(_strict(one) for one in args)]


def _is_required(shape: Any, name: str, hint: Any) -> bool:
    """Their annotations are text, in which `__required_keys__` does not see what is marked."""
    marked = get_origin(hint)
    return marked is Required or (marked is not NotRequired and name in shape.__required_keys__)


def _is_object(shape: Any) -> bool:
    """What a program may hand over, and no JSON holds: open files, and answers of the package as they came."""
    plain = get_args(shape)[0] if get_origin(shape) is Annotated else shape
    if get_origin(plain) in (Union, UnionType):
        return all(_is_object(one) for one in get_args(plain))
    if get_origin(plain) in (IO, PathLike):
        return True
    return isinstance(plain, type) and issubclass(plain, BaseModel)
