"""JSON schemas as the TypeScript that OpenAI's models are shown."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.tokens.schemas import members, written


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": "INTEGER"}, "number"),
        ({"type": "string", "nullable": True}, "string | null"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": "string", "enum": ["a", "b"]}, '"a" | "b"'),
        ({"enum": [1, None]}, "1 | null"),
        ({"const": "x"}, '"x"'),
        ({"type": "array", "items": {"type": "boolean"}}, "boolean[]"),
        ({"type": "array"}, "any[]"),
        ({"type": "object"}, "object"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "number"}]}, "string | number"),
        ({"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}, "A & B"),
        ({"properties": {"a": {"type": "null"}}}, "{\n  a?: null,\n}"),
        ({}, "any"), (True, "any"), ({"type": 5}, "any"), ({"type": "file"}, "any"), ({"anyOf": []}, "any"),
    ],
)  # fmt: skip
def test_types(schema: Any, expected: str) -> None:
    """Every kind of schema, those that are none as any."""
    assert written(schema, 0) == expected


def test_members() -> None:
    """What is needed, optional, described, preset; objects inside are indented."""
    schema = {
        "properties": {
            "path": {"type": "string", "description": "Where.\nAbsolute."},
            "limit": {"type": "integer", "default": 5},
            "more": {"type": "object", "properties": {"deep": True}, "required": ["deep"]},
        },
        "required": ["path"],
    }
    assert list(members(schema, 0)) == [
        "// Where.", "// Absolute.", "path: string,", "limit?: number, // default: 5", "more?: {\n  deep: any,\n},",
    ]  # fmt: skip
    for none in (None, [], {"properties": []}):
        assert list(members(none, 0)) == []


def test_what_is_required() -> None:
    """Names, however many; what is none counts for nothing."""
    names = [f"p{k}" for k in range(100_000)]
    found = list(members({"properties": {name: {} for name in names}, "required": [{}, *names[1:]]}, 0))
    assert found[:2] == ["p0?: any,", "p1: any,"] and found[-1] == "p99999: any,"
