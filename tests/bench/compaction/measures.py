"""Measures: how much of what was needed later can be read in a compacted context.

FRR: needed items that stand there verbatim. FRR_ctx: the same, but identifiers, errors and numbers count only where a
line that holds them has 60 % of the words of a line of the prefix that holds them. VLR: needed lines that stand there
verbatim. H: the harmonic mean of FRR_ctx and VLR of a case. SAL: facts by class (`cut/rank/facts.py`).
A measure of which a case has nothing to measure is None, and the case does not count for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctxkit.cut.rank.facts import CLASSES, kept
from ctxkit.cut.units.identifiers import Identifier
from tests.bench.compaction.needed import IN_CONTEXT, WORD, Needed, flat, stands_in

REPRODUCED = 0.6
"""Of the words of a line."""
MEASURES = ("FRR", "FRR_ctx", "VLR", "H", *CLASSES)

Scores = dict[str, float | None]
"""By measure, from 0 to 1."""


def scores(needed: Needed, found: Mapping[str, Sequence[str]], generic: frozenset[Identifier], text: str) -> Scores:
    """The measures of a compacted context that reads as `text`. `found`: the facts of the prefix."""
    plain = flat(text)
    asked = [item for item in needed.items if item not in generic]
    there = [item for item in asked if stands_in(plain, item.text)]
    told = Reproduced(plain)
    with_line = [item for item in there if item.kind not in IN_CONTEXT or told.tells(item, needed.items[item])]
    result: Scores = {
        "FRR": share(len(there), len(asked)),
        "FRR_ctx": share(len(with_line), len(asked)),
        "VLR": share(sum(line in text for line in needed.lines), len(needed.lines)),
    }
    result["H"] = harmonic(result["FRR_ctx"], result["VLR"])
    return result | {name: share(*counts) for name, counts in kept(found, text).items()}


def share(part: int, whole: int) -> float | None:
    """A part of a whole; None of nothing."""
    return part / whole if whole else None


def harmonic(one: float | None, other: float | None) -> float | None:
    """The harmonic mean; None where one of the two is missing."""
    if one is None or other is None:
        return None
    return 2 * one * other / (one + other) if one + other else 0.0


class Reproduced:
    """The lines of a compacted context, to ask whether one tells an item with what stood around it."""

    def __init__(self, plain: str) -> None:
        self._lines = list(dict.fromkeys(plain.split("\n")))
        self._with: dict[str, list[int]] = {}
        self._words = [frozenset(WORD.findall(line)) for line in self._lines]
        for place, words in enumerate(self._words):
            for word in words:
                self._with.setdefault(word, []).append(place)

    def tells(self, item: Identifier, sources: frozenset[frozenset[str]]) -> bool:
        """Whether a line that holds the item has REPRODUCED of the words of one of its source lines."""
        own = WORD.findall(item.text)
        if not own:
            return False
        rarest = min((self._with.get(word, []) for word in own), key=len)
        for place in rarest:
            if item.text in self._lines[place] and stands_in(self._lines[place], item.text):
                words = self._words[place]
                if any(len(words & source) >= REPRODUCED * len(source) for source in sources):
                    return True
        return False
