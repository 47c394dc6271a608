"""JSON as agents write it: strict and fast first, tolerant second.

msgspec rejects lone surrogates, NaN, control characters in strings and a BOM; the standard library reads them
(reliability J01-J10). Every re-read of a row goes through `loads`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from ctxkit.core.text.utf8 import exact

_decode, _encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode


def loads(raw: bytes) -> Any:
    """The value of one JSON text. Raises ValueError for whatever is not one (nested too deeply as well).

    A number of more digits than the interpreter converts is given as its text.
    """
    try:
        return _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    return _tolerant(raw)


def overwritten(raw: bytes, value: Any) -> list[dict[str, Any]]:
    """What the objects of a JSON text say under a key that they have again, an object for each: `loads` leaves it out,
    as all readers of JSON do. `value`: what `loads` gave.
    """
    with suppress(ValueError, OverflowError, RecursionError):
        if _encode(value) == raw:  # as most programs write it: nothing was left out
            return []
    found: list[dict[str, Any]] = []

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        whole = dict(pairs)
        if len(whole) < len(pairs):
            last = {key: at for at, (key, _) in enumerate(pairs)}
            found.extend({key: one} for at, (key, one) in enumerate(pairs) if last[key] != at)
        return whole

    _tolerant(raw, made)
    return found


def _tolerant(raw: bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """As the standard library reads it. `pairs`: makes an object of its pairs."""
    text = raw.decode("utf-8-sig", "surrogateescape")
    try:
        return json.loads(text, strict=False, parse_int=_whole, object_pairs_hook=pairs)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _whole(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return digits


def dumps(value: Any) -> str:
    """One line of pure ASCII JSON: no surrogate, U+2028 or encoding trouble can reach a log. NaN becomes null."""
    try:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(finite(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def spelled(value: Any) -> str:
    """The same for people to read: NaN and infinities stand as the log spells them."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def finite(value: Any) -> Any:
    """The same JSON value with null for NaN and infinities, which JSON does not have; however deep it is nested.

    Raises ValueError for a value that contains itself.
    """
    whole = [value]
    waiting: list[tuple[Any, int]] = [(whole, 0)]
    """What is copied and not yet looked through, with the id of its original; None: done with what is in it."""
    around: set[int] = set()
    while waiting:
        holder, original = waiting.pop()
        if holder is None:
            around.discard(original)
            continue
        around.add(original)
        waiting.append((None, original))
        for key, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(item, dict | list):
                if id(item) in around:
                    raise ValueError("it contains itself")
                holder[key] = item.copy()
                waiting.append((holder[key], id(item)))
            elif isinstance(item, float) and not math.isfinite(item):
                holder[key] = None
    return whole[0]


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no spaces, UTF-8, no NaN."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return exact(text)


def digest(value: Any, digits: int = 12) -> str:
    """The first `digits` hex digits of SHA-256 over the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value)).hexdigest()[:digits]
