"""OpenAI's encodings, counted by tiktoken, whatever the text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ctxkit.tokens import fast, ranks, runs


@cache
def encoding(name: str) -> Encoding:
    """One of `ranks.NAMES`, made once in a process: that takes 0.3 s. Raises NoRanksError."""
    return Encoding(name)


class Encoding:
    """What counts by one encoding."""

    def __init__(self, name: str) -> None:
        try:
            import tiktoken
        except ImportError as why:
            raise ranks.NoRanksError("tiktoken is not installed") from why
        self.name = name
        self._tiktoken = tiktoken.Encoding(**ranks.described(name))

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; what looks like a special token is words."""
        short = [text for text in texts if len(text) < runs.LONG]
        if sum(map(len, short)) >= fast.PAYS and (quick := fast.reader(self.name)) is not None:
            found = iter(quick(short))
            return [next(found) if len(text) < runs.LONG else self._count(text) for text in texts]
        return [self._count(text) for text in texts]

    def _count(self, text: str) -> int:
        try:
            return runs.count(text, self._ordinary, self._piece)
        except BaseException as why:  # tiktoken's panics are no exceptions; none is known but that of runs.py
            if type(why).__name__ != "PanicException":
                raise
            raise ranks.NoRanksError(f"tiktoken refuses a text of {len(text)} characters") from why

    def _ordinary(self, text: str) -> int:
        return len(self._tiktoken.encode_ordinary(text))

    def _piece(self, text: str) -> int:
        return len(self._tiktoken._encode_single_piece(text))
