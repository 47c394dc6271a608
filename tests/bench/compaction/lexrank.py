"""LexRank over lines: those that are most like the others, by TF-IDF and a random walk between them.

The similarity of two lines is the cosine of their weighted words; the walk is taken word by word, so that the matrix of
all pairs of lines is never made. Erkan and Radev 2004, the continuous form.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

DAMPING = 0.85
ROUNDS = 20
TINY = 1e-9
WORD = re.compile(r"\w+")


def ranks(lines: Sequence[str]) -> list[float]:
    """The rank of each line; they add up to 1 where every line is like another."""
    bags = [Counter(WORD.findall(line.lower())) for line in lines]
    known = Counter(word for bag in bags for word in bag)
    number = {word: place for place, word in enumerate(known)}
    idf = {word: math.log(1 + len(bags) / count) for word, count in known.items()}
    rows = []
    for bag in bags:
        weights = [(number[word], count * idf[word]) for word, count in bag.items()]
        size = math.sqrt(sum(weight * weight for _, weight in weights)) or 1.0
        rows.append([(place, weight / size) for place, weight in weights])
    degrees = _similar(rows, [1.0] * len(rows), len(number))
    found = [1 / len(rows)] * len(rows)
    for _ in range(ROUNDS):
        given = [rank / degree if degree > TINY else 0.0 for rank, degree in zip(found, degrees, strict=True)]
        found = [(1 - DAMPING) / len(rows) + DAMPING * one for one in _similar(rows, given, len(number))]
    return found


def _similar(rows: Sequence[Sequence[tuple[int, float]]], given: Sequence[float], words: int) -> list[float]:
    """The matrix of all similarities times a vector; no line is like itself."""
    by_word = [0.0] * words
    for row, one in zip(rows, given, strict=True):
        for place, weight in row:
            by_word[place] += weight * one
    return [
        sum(weight * (by_word[place] - weight * one) for place, weight in row)
        for row, one in zip(rows, given, strict=True)
    ]
