"""Counts large amounts of text with fastokens, if it is installed: the same counts as tiktoken's, sooner."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise

from ctxkit.core.text.utf8 import sound
from ctxkit.tokens import ranks

Count = Callable[[Sequence[str]], list[int]]

TOGETHER = 1000
"""Texts that are counted in one call, which holds all their tokens in memory."""
PAYS = 20_000_000
"""Characters from which on fastokens saves more than the 1.5 s that its start takes."""
FEW = 8
"""Below PAYS / FEW characters it is released: its tables of 140 MB then cost more than it saves."""


def reader(name: str) -> Count | None:
    """Makes a function that counts texts by an encoding; None if fastokens is not installed. Raises NoRanksError."""
    try:
        from fastokens import Tokenizer
    except ImportError:
        return None
    with tempfile.NamedTemporaryFile(prefix="ctxkit-ranks-") as file:
        encoding = ranks.described(name, file.write)
        file.flush()
        tokenizer = Tokenizer.from_tiktoken(file.name, pattern=encoding["pat_str"], special_tokens={})

    def count(texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for start in range(0, len(texts), TOGETHER):
            ends = array("Q", tokenizer.encode_batch_flat(list(map(sound, texts[start : start + TOGETHER])))[1])
            counts += (end - start for start, end in pairwise(ends))
        return counts

    return count


def release() -> None:
    """Returns unused memory to the system, if the C library can."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
