"""Reads tool definitions in the shapes that providers take, and renders them as a model sees them. Pure.

`measure/overhead.py` counts the rendered text. Providers publish little of how they show definitions to a model
(docs/tokens.md), so the count is an estimate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import exact
from ctxkit.tokens.schemas import members, written

OPENAI = ("gpt", "o-series")
"""Families of models that see TypeScript."""
NAMESPACE = 5
"""Tokens besides the rendered text and the 4 around every text: a request with functions has 9 more than the text."""
CLAUDE = 346
"""Tokens of Claude's instructions about tools, sent if there is a tool. Source: Anthropic, for all models since Claude
4."""
BUILT_IN = (("bash_", 245), ("text_editor_", 700), ("computer_", 735 + 499))
"""Tools of Anthropic that are sent as a type alone: the start of the type, and the tokens by Anthropic."""
LISTS = ("tools", "functions", "functionDeclarations", "function_declarations")
HELD = ("result", "toolConfig", *LISTS)
"""Keys of objects that hold definitions: a request, a reply of an MCP server, a list of Gemini."""
PROVIDERS = frozenset(
    f"{word}{end}" for word, end in (
        ("googleSearch", ""), ("google_search", ""), ("googleSearch", "Retrieval"), ("google_search", "_retrieval"),
        ("codeExecution", ""), ("code_execution", ""), ("urlContext", ""), ("url_context", ""), ("googleMaps", ""),
    )
)  # fmt: skip
"""Gemini's built-in tools: an object with this one key."""
NONE = "no tool definitions in it"
DEEPEST, INSIDE = 8, 100
"""The most objects and lists around a definition, and inside one."""


class Tool(NamedTuple):
    """A tool definition. `schema`: the JSON schema of its parameters, None if it has none; `kind`: the type of a
    provider's own tool, "" for one that the caller describes; `raw`: the definition as given.
    """

    name: str
    description: str
    schema: Any
    kind: str
    raw: dict[str, Any]


def definitions(value: Any) -> list[Tool]:
    """Finds the definitions in a JSON value. Raises ValueError, which says what is wrong with the value."""
    found = list(_found(value, 0))
    level: list[Any] = [tool.raw for tool in found]
    for _ in range(INSIDE):
        level = [inner for one in level for inner in _inner(one)]
        if not level:
            return found
    raise ValueError("nested too deeply")


def rendered(tools: Sequence[Tool], family: str) -> tuple[list[str], int]:
    """Renders `tools` as a model of a family (`models.py`) sees them: the texts, and the tokens besides these."""
    if not tools:
        return [], 0
    if family.startswith(OPENAI):
        return ["\n".join(["namespace functions {", "", *_typed(tools), "} // namespace functions"])], NAMESPACE
    if not family.startswith("claude"):
        return [json.dumps(tool.raw, ensure_ascii=False) for tool in tools], 0
    fixed = {tool.raw["type"]: tokens for tool in tools for kind, tokens in BUILT_IN if tool.kind.startswith(kind)}
    shown = [f"<function>{_json(tool)}</function>" for tool in tools if tool.kind not in fixed]
    return shown, CLAUDE + sum(fixed.values())


def _found(value: Any, depth: int) -> Iterator[Tool]:
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    match value:
        case str() if depth:  # a list written as text, as in collections of conversations
            try:
                inner = loads(exact(value))
            except ValueError as error:
                raise ValueError(NONE) from error
            yield from _found(inner, depth + 1)
        case list():
            for place, one in enumerate(value, start=1):
                found = _of(one, depth) if isinstance(one, dict) else None
                if found is None:
                    raise ValueError(f"definition {place} of {len(value)} has no name")
                yield from found
        case dict() if held := [value[key] for key in HELD if value.get(key) is not None]:
            for some in held:
                yield from _found(some, depth + 1)
        case dict() if any(key in value for key in HELD):
            return
        case dict() if (found := _of(value, depth)) is not None:
            yield from found
        case _:
            raise ValueError(NONE)


def _of(one: dict[str, Any], depth: int) -> list[Tool] | None:
    """The definitions that an object is or holds; None if it is no definition."""
    if any(isinstance(one.get(key), list) for key in LISTS):
        return list(_found(one, depth + 1))
    match one:
        case {"function": {"name": str(name)} as inner} | {"toolSpec": {"name": str(name)} as inner} if name:
            return [_tool(name, inner, one)]
        case {"name": str(name), "type": str(kind)} if name and kind not in ("function", "custom") and not _schema(one):
            return [Tool(name, "", None, kind, one)]
        case {"name": str(name)} if name:
            return [_tool(name, one, one)]
        case {"type": str(kind)} if kind not in ("function", "custom"):
            return [Tool(kind, "", None, kind, one)]
    if len(one) == 1 and not PROVIDERS.isdisjoint(one):
        [kind] = one
        return [Tool(kind, "", None, kind, one)]
    return None


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _tool(name: str, one: dict[str, Any], raw: dict[str, Any]) -> Tool:
    description = one.get("description")
    return Tool(name, description if isinstance(description, str) else "", _schema(one), "", raw)


def _schema(one: dict[str, Any]) -> Any:
    for key in ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "format"):
        found = one.get(key)
        if isinstance(found, dict):
            inner = found.get("json")
            return inner if isinstance(inner, dict) else found
    return None


def _json(tool: Tool) -> str:
    if tool.kind:
        return json.dumps(tool.raw, ensure_ascii=False)
    shown: dict[str, Any] = {"description": tool.description, "name": tool.name, "parameters": tool.schema or {}}
    return json.dumps(shown, ensure_ascii=False)


def _typed(tools: Iterable[Tool]) -> Iterator[str]:
    """Yields lines of TypeScript, with an empty line after each definition."""
    for tool in tools:
        if tool.kind:
            yield _json(tool)
            yield ""
            continue
        for line in tool.description.splitlines():
            yield f"// {line}"
        inner = list(members(tool.schema, 0))
        if inner:
            yield from (f"type {tool.name} = (_: {{", *inner, "}) => any;", "")
        else:
            yield from (f"type {tool.name} = () => any;", "")
        for name, schema in _named(tool.schema):
            yield from (f"type {name} = {written(schema, 0)};", "")


def _named(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yields name and schema of the types that other schemas of the definition refer to."""
    for key in ("$defs", "definitions"):
        found = schema.get(key) if isinstance(schema, dict) else None
        if isinstance(found, dict):
            yield from found.items()
