"""Structs of decoded JSON, alike to what msgspec makes of the JSON itself: for what only a tolerant decoder reads.

Pipeline: rows and heads of `formats` say what they look at; `store/intact_records.py` and the formats ask here where
msgspec refused a record. A nested struct, or a list of them, stands beside all else that JSON has, so that nothing is
refused: `Head | NoObject`, `list[Head | NoObject] | NoList`.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec.inspect import ListType, RawType, StructType, Type, UnionType, type_info

Kind = TypeVar("Kind", bound=msgspec.Struct)

NoObject = list[Any] | str | int | float | bool | None
"""All JSON but an object."""
NoList = dict[str, Any] | str | int | float | bool | None
"""All JSON but a list."""


def shaped(record: dict[str, Any], kind: type[Kind]) -> Kind:
    """The struct of an object: what is left undecoded in it is written anew, as JSON that `json_text.loads` reads."""
    found: Kind = _made(record, _type(kind))
    return found


def _made(value: Any, shape: Type) -> Any:
    """The value in the first shape that takes it; as it is where none does."""
    if isinstance(shape, RawType):
        return msgspec.Raw(json.dumps(value, separators=(",", ":")).encode("ascii"))
    for one in shape.types if isinstance(shape, UnionType) else (shape,):
        if isinstance(one, StructType) and isinstance(value, dict):
            fields = ((field.name, field.encode_name, field.type) for field in one.fields)
            return one.cls(**{name: _made(value[key], inner) for name, key, inner in fields if key in value})
        if isinstance(one, ListType) and isinstance(value, list):
            return [_made(item, one.item_type) for item in value]
    return value


@cache
def _type(kind: type[msgspec.Struct]) -> Type:
    return type_info(kind)
