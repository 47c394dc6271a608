"""The hash of a message as Claude Code 2.1.329 records it: SHA-256 of its JSON in one fixed form.

Pipeline: `placing.py` makes messages -> here -> `proofs.py` compares. The form was found from requests (agents, Claude
Code 13). It is what JavaScript writes: keys sorted, no spaces, UTF-8, no cache_control, a string as a list of one text
block.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any

from ctxkit.core.text.utf8 import utf8

LOOSE = "\0loose"
"""Marks blocks whose words are not exactly those that were sent; not hashed."""
_LEFT_OUT = {"cache_control", LOOSE}
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIGITS = 21
"""JavaScript writes a number with more digits in exponential form."""


def message_hash(message: dict[str, Any]) -> str:
    """The hash of a message: {role, content}."""
    content = message.get("content")
    if isinstance(content, str):
        message = {**message, "content": [{"type": "text", "text": content}]}
    return value_hash(message)


def value_hash(value: Any) -> str:
    """The hash of any JSON value."""
    text = "".join(_written(value))
    return hashlib.sha256(utf8(_SURROGATE.sub(_escaped, text))).hexdigest()


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield encode_basestring(value)
    elif isinstance(value, dict):
        mark = "{"
        for key in sorted(value.keys() - _LEFT_OUT, key=_units):
            yield f"{mark}{encode_basestring(key)}:"
            yield from _written(value[key])
            mark = ","
        yield "{}" if mark == "{" else "}"
    elif isinstance(value, list):
        mark = "["
        for item in value:
            yield mark
            yield from _written(item)
            mark = ","
        yield "[]" if mark == "[" else "]"
    elif value is None or isinstance(value, bool):
        yield {None: "null", True: "true", False: "false"}[value]
    else:
        yield number(value)


def number(value: float) -> str:
    """A number as JavaScript writes it: all numbers are 64-bit floats."""
    if isinstance(value, int) and abs(value) < 1 << 53:
        return str(value)
    try:
        value = float(value)
    except OverflowError:
        return "null"
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    mantissa, _, power = repr(value).partition("e")
    sign, mantissa = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    digits = (whole + part).lstrip("0")
    if not digits:
        return "0"
    point = len(whole) - (len(whole + part) - len(digits)) + int(power or 0)  # digits before the decimal point
    digits = digits.rstrip("0")
    if len(digits) <= point <= _DIGITS:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= _DIGITS:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


def _units(key: str) -> bytes:
    """The sort key of JavaScript: UTF-16."""
    return key.encode("utf-16-be", "surrogatepass")


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
