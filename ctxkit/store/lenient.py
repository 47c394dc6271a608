"""A tolerant JSON decoder, for records that msgspec refuses.

Pipeline: `intact_records.py` asks for the object at a place in a line. The standard library reads what agents write
(lone surrogates, NaN, control characters, huge numbers); `notes` list what was wrong with it (reliability J01-J13).
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ctxkit.core.text.utf8 import is_sound

_CONTROL = re.compile("[\x00-\x1f]")
_NULS = re.compile("\x00{2,}")


class LenientValue(NamedTuple):
    """The JSON value at a place of a text. `end`: its end, in characters; `notes`: codes of what was tolerated."""

    value: Any
    end: int
    notes: tuple[str, ...]


class BrokenJson(NamedTuple):
    """No JSON value: parsing failed at `at`. `open`: the text ends inside a string; `deep`: it is nested too deeply."""

    at: int
    open: bool = False
    deep: bool = False


class Lenient:
    """A tolerant JSON reader that notes what it tolerated."""

    def __init__(self) -> None:
        self._notes: set[str] = set()
        self._decoder = json.JSONDecoder(
            strict=False, parse_constant=self._constant, parse_float=self._float, parse_int=self._int
        )
        self._strict = json.JSONDecoder(parse_int=self._int)

    def decode(self, text: str, start: int) -> LenientValue | BrokenJson:
        """The value that begins at character `start`."""
        self._notes.clear()
        try:
            value, end = self._decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            return BrokenJson(error.pos, error.msg.startswith("Unterminated string"))
        except RecursionError:
            return BrokenJson(start, deep=True)
        part = text[start:end]
        if _NULS.search(part):
            self._notes.add("nul-block")
        elif _CONTROL.search(part) and self._refused(part):
            self._notes.add("control-char")
        if not is_sound(part):
            self._notes.add("bad-utf8")
        return LenientValue(value, end, tuple(sorted(self._notes)))

    def _refused(self, part: str) -> bool:
        """Whether there is a control character inside a string; between tokens, tab and CR are allowed."""
        try:
            self._strict.raw_decode(part)
        except (ValueError, RecursionError):
            return True
        return False

    def _constant(self, name: str) -> float:
        self._notes.add("nonfinite")
        return float(name.replace("Infinity", "inf"))

    def _float(self, text: str) -> float:
        value = float(text)
        if value in (float("inf"), float("-inf")):
            self._notes.add("nonfinite")
        return value

    def _int(self, digits: str) -> int | str:
        try:
            return int(digits)
        except ValueError:  # above the interpreter's limit: the digits stay as they are
            self._notes.add("huge-number")
            return digits
