"""Literals: texts that must stand in whatever a regular expression matches; bytes without them need no decoding.

Used by `search_pattern.py`. Only what is plain to see is told: expressions with groups or alternatives have none.
"""

from __future__ import annotations

import re

_TIMES = re.compile(r"\{(?!\})\d*(?:,\d*)?\}")
_SET = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.S)
_CLASSES = "dDsSwWbBAZ"
"""Letters that stand for kinds of characters, or places, behind a backslash."""


def literals(pattern: str) -> list[str]:
    """Texts, each of which stands in every match of a sound `pattern`; none where nobody can tell."""
    runs = [""]
    at = 0
    while at < len(pattern):
        character, size = pattern[at], 1
        if character in "(|)":
            return []
        if character == "\\":
            character, size = pattern[at + 1 : at + 2], 2
            if character.isalnum() and character not in _CLASSES:
                return []
            runs += [""] if character in _CLASSES else []
            runs[-1] += "" if character in _CLASSES else character
        elif found := (_SET if character == "[" else _TIMES).match(pattern, at) if character in "[{" else None:
            runs[-1] = runs[-1][:-1] if character == "{" else runs[-1]
            runs.append("")
            size = found.end() - at
        elif character in "*?":
            runs[-1:] = [runs[-1][:-1], ""]
        elif character in "+.^$":
            runs.append("")
        else:
            runs[-1] += character
        at += size
    return [run for run in runs if run]
