"""Counts tokens by OpenAI's encodings, with tiktoken, or with fastokens if there is much text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ctxkit.tokens import blank_runs, fast, ranks

if TYPE_CHECKING:
    from tiktoken import Encoding as Tiktoken


PART = 1 << 20
"""Characters that are encoded at once: the tokens of a text take about ten times its size."""
PIECE = 1 << 18
"""Characters to which a word is cut that goes on for over PART: tiktoken takes 52 bytes for each byte of a word, 3.3 GB
for one of 64 MB. The count changes by 0.03 % at most: the parts of eight kinds of words of 2 MB had 23 of 80,659 tokens
more than the whole (the alphabet again and again), of random letters 1 of 1,134,237.
"""
_CUT = re.compile(r"(?<=[A-Za-z])[\n0-9]|(?<=[^\W_]) ")


def parts(text: str, size: int = PART) -> Iterator[str]:
    """The text in parts that have as many tokens as the whole: each pattern ends a piece before these cuts.

    A piece of letters or digits takes no blank, and one of letters no line end or digit; a pattern never looks back
    beyond the start of a piece (`blank_runs.py`). A part without such a place is longer, by PART at most: then it is
    cut anywhere, and has about as many tokens (PIECE).
    """
    start = 0
    while (end := start + size) < len(text):
        cut = _CUT.search(text, end, end + PART)
        if cut is not None:
            yield text[start : cut.start()]
            start = cut.start()
            continue
        if len(text) <= end + PART:
            break
        for at in range(start, end + PART, PIECE):
            yield text[at : min(at + PIECE, end + PART)]
        start = end + PART
    yield text[start:]


@cache
def encoding(name: str) -> Encoding:
    """Returns the encoding of this name of `ranks.NAMES`, made once per process."""
    return Encoding(name)


class Encoding:
    """Counts by one encoding. The tokenizer is made for the first text, which takes 0.3 s."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._quick: fast.Count | None = None

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Counts the tokens of each text. What looks like a special token is ordinary text. Raises NoRanksError."""
        short = [text for text in texts if len(text) < blank_runs.LONG]
        characters = sum(map(len, short))
        if self._quick is None and characters >= fast.PAYS:
            self._quick = fast.reader(self.name)
        elif self._quick is not None and characters < fast.PAYS // fast.FEW:
            self._quick = None
            fast.release()
        if self._quick is None:
            return [self._count(text) for text in texts]
        found = iter(self._quick(short))
        return [next(found) if len(text) < blank_runs.LONG else self._count(text) for text in texts]

    @cached_property
    def _tiktoken(self) -> Tiktoken:
        try:
            import tiktoken
        except ImportError as why:
            raise ranks.NoRanksError("tiktoken is not installed") from why
        return tiktoken.Encoding(**ranks.described(self.name))

    def _count(self, text: str) -> int:
        try:
            return blank_runs.count(text, self._ordinary, self._piece)
        except BaseException as why:  # tiktoken's panics are no Exceptions; the only known one is in blank_runs.py
            if type(why).__name__ != "PanicException":
                raise
            raise ranks.NoRanksError(f"tiktoken refuses a text of {len(text)} characters") from why

    def _ordinary(self, text: str) -> int:
        if len(text) <= PART:
            return len(self._tiktoken.encode_ordinary(text))
        return sum(len(self._tiktoken.encode_ordinary(part)) for part in parts(text))

    def _piece(self, text: str) -> int:
        return len(self._tiktoken._encode_single_piece(text))
