"""The last resort: tokens by the shape of words, digits and signs, where no ranks are installed.

Against o200k_base, on prose, code, JSON and CJK: 0.4 % high on average, within 6.9 % for 95 % of texts (PERFORMANCE).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

NAME = "pieces"
_PIECES = re.compile(r"([^\W\d_]+)|(\d+)|([\r\n]+)|([^\S\r\n]+)|([^\w\s]+|_+)")
_LATIN = 0x250
"""Below: letters that tokenizers know as whole words; above, about a token each."""


def counts(texts: Sequence[str]) -> list[int]:
    """Tokens of each text, roughly. Linear, about 4 MB a second."""
    return [round(sum(map(_tokens, _PIECES.finditer(text)))) for text in texts]


def _tokens(found: re.Match[str]) -> float:
    length = found.end() - found.start()
    match found.lastindex:
        case 1:
            return 1 + max(0, length - 7) / 5 if ord(found[1][0]) < _LATIN else length
        case 2:
            return -(-length // 3)
        case 3:
            return 1
        case 4:
            return length > 1
        case _:
            return max(1, length / 2)
