"""Whether a word looks as if it was drawn at random, as keys and passwords are.

Pure. Used by `redaction`.
"""

from __future__ import annotations

import math
import re
from collections import Counter

BITS = 3.0
"""The entropy of a character from which a value looks random: 99.6 % of random ones of 12 characters with a digit do,
at 3.3 bits 76 %; real sessions have as many false alarms at either.
"""
_MIX = re.compile(r"[a-z][A-Z]|[A-Z]{2}|\d")
_WORD = r"[0-9]*+(?:(?:[A-Z]?[a-z]{2,}+){2,6}[0-9]{0,2}|[A-Z]?+[a-z]*+[0-9]*+)"
_HUMPS = r"(?:[A-Z][a-z]{2,}+){1,6}"
_NO_CHANCE = re.compile(rf"[0-9a-fA-F-]*+|{_WORD}(?:[-_./:@]{_WORD})++|{_HUMPS}V?[0-9]{{1,2}}{_HUMPS}")
"""A digest; words; the name of a class."""


def goes_on(line: str) -> bool:
    """Whether a line may be the rest of a secret: it has a digit, or capital letters among small ones."""
    return any(map(str.isdigit, line)) or line[1:].lower() != line[1:] != line[1:].upper()


def is_mixed(value: str) -> bool:
    """Whether a value has a digit, or capital letters and nothing between them: words have not."""
    return any(map(str.isdigit, value)) or (value != value.lower() and value.isalnum())


def mixes(value: str) -> int:
    """How often a value has a capital letter behind a small one, two of them, or a digit."""
    return len(_MIX.findall(value))


def looks_random(value: str) -> bool:
    """Whether a value is none that people write, and no digest or id: by its entropy and the letters it mixes."""
    bare = value.strip("=.")
    if _NO_CHANCE.fullmatch(bare) or not any(map(str.isdigit, bare)):
        return False
    return -sum(n / len(bare) * math.log2(n / len(bare)) for n in Counter(bare).values()) >= BITS
