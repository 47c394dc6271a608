"""Scores lines by the identifiers and facts in them, and by how likely their words are written again. Pure.

All scores are shares: of the items that are probably needed, of the facts of each class, of the lines that are probably
written again. So a class of few facts counts as much as one of many. The constants were fitted on one half of the
benchmark's sessions; the reported figures are of the other half (docs/compaction.md).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from math import exp, log
from typing import Any

from ctxkit.core.text.utf8 import utf8
from ctxkit.cut.rank.facts import WORD, Fact
from ctxkit.cut.units.identifiers import Identifier, IdentifierKind, short
from ctxkit.cut.units.segments import Fragment
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from ctxkit.cut.units.touched_files import File

ITEMS, WORDS = 8.0, 4.0
"""The score of all items together, and of all words that are written again. A class of facts has 1.0."""
CLASSES = {"said": 2.0, "failures": 0.4}
"""The score of all facts of a class, if it is not 1.0."""
EVENTS = frozenset({"asked", "said", "placed"})
"""Classes of facts about what happened. Longer ones count more, and so do later ones."""
QUOTED = frozenset({"code", "failures"})
"""Classes of lines that are of little use without the lines around them."""
EASE, LEAST = 0.25, 0.01
"""A summary of less than the first share of the summarized tokens favours events over quoted lines; below the second
no more so."""
PLACED = 2.5
"""How much more the first and the last sentence of an answer count than those between them."""
SHORTNESS, MATTER = 0.8, 0.8
"""Exponents: how much more events count in a shorter summary, and how much more a longer event does."""
FOCUS = 4.0
"""The factor on lines with a word that was named by hand."""
LONG_WORD = re.compile(r"[^\W\d]{4,}")
PARTS = re.compile(r"[A-Z]?[a-z]+")
FEWEST = 4
"""The fewest letters of such a word."""
ARTICLES = frozenset({"a", "an", "and", "for", "in", "is", "it", "of", "on", "or", "the", "to"})
NAMED = 2.3
"""The factor on the odds of an item that a call names, and of one that somebody says; of one that both do, its square.
"""
OFTEN = 0.47
"""The exponent on the number of lines that name an item."""
AGAIN = {
    "new_string": 4.0, "newText": 4.0, "new_str": 4.0, "content": 3.0, "input": 3.0, "patch": 3.0,
    "command": 2.5, "cmd": 2.5,
}  # fmt: skip
"""Argument -> odds that a line of it is written again."""
ARGUMENT, ANSWER, READ, WRITTEN, PRINTED, TYPED = 1.5, 2.0, 0.6, 5.0, 0.15, 0.5
"""The same odds for other arguments, the model's words, files that were read, results of writes, other results, and
typed text or summaries.
"""
ACTIVE, BACK = 2.0, 0.15
"""Factor on calls that touch a file that was touched at most so far back."""
RECENCY, START = 0.4, 0.02
"""Exponent: how much more newer lines and items count; and from where on the newest ones count alike."""
SHORTEST, LONGEST = 24, 300
"""Bounds of the length, in characters, of a line with words that count. Shorter ones are written again by chance."""
LENGTH = 80
"""Characters over which the chance that a line is written again falls to a third."""


def recent(at: float) -> float:
    """The factor for recency. `at`: how far back, from 0 to 1."""
    return exp(-RECENCY * log(START + at))


def repeat_odds(piece: TextSegment, one: Fragment) -> float:
    """The relative odds that a line of `piece` is written again verbatim."""
    if not (whole := _whole(one.text.strip())):
        return 0.0
    match piece.kind:
        case SegmentKind.INPUT:
            base = AGAIN.get(piece.argument, ARGUMENT)
        case SegmentKind.ASSISTANT:
            base = ANSWER
        case SegmentKind.RESULT if any(touch.how == "read" for touch in piece.touches):
            base = READ
        case SegmentKind.RESULT:
            base = WRITTEN if piece.touches else PRINTED
        case _:
            base = TYPED
    return base * recent(one.at) * one.often * whole


def _whole(text: str) -> float:
    """The relative odds that a text of this length is written again whole."""
    return exp(-len(text) / LENGTH) if SHORTEST <= len(text) <= LONGEST else 0.0


class SessionCourse:
    """The course of a session. `calls`: ids of the calls that touch recently touched files."""

    def __init__(self, files: Iterable[File], focus: str = "") -> None:
        """`focus`: words that count more."""
        self.focus = frozenset(spoken(focus))
        """The longer words that were named by hand."""
        self._short = _short_words(focus, self.focus)
        self.calls = {call for file in files if file.at <= BACK for call in file.calls}

    @property
    def has_focus(self) -> bool:
        """Whether words were named by hand."""
        return bool(self.focus or self._short)

    def is_focused(self, text: str) -> bool:
        """Whether a line has a word that was named by hand."""
        if self.focus and not self.focus.isdisjoint(spoken(text)):
            return True
        return bool(self._short) and not self._short.isdisjoint(word.lower() for word in WORD.findall(text))


class LineScores:
    """The scores of what lines and files keep. `lines`: all lines, so that repetitions are counted."""

    def __init__(
        self, pieces: Mapping[int, TextSegment], lines: Sequence[Fragment], files: Sequence[File],
        course: SessionCourse, share: float = EASE,
    ) -> None:  # fmt: skip
        """`pieces`: the segments of the lines, by place; `share`: the summary's size as a share of what it replaces."""
        ease = min(1.0, max(share, LEAST) / EASE)
        focused = [FOCUS if course.has_focus and course.is_focused(one.text) else 1.0 for one in lines]
        lively = [
            more * (ACTIVE if pieces[one.piece].call in course.calls else 1.0)
            for one, more in zip(lines, focused, strict=True)
        ]
        words = [more * repeat_odds(pieces[one.piece], one) for one, more in zip(lines, lively, strict=True)]
        words += [_path_repeat_odds(file) for file in files]
        self.words = _scaled(words, WORDS)
        """The scores of the words of each line, then of each file."""
        odds = _Odds()
        for one, more in zip(lines, lively, strict=True):
            for item in one.items:
                odds.add(item, pieces[one.piece].kind, one.at, one.often, more)
        for file in files:
            odds.add(Identifier(IdentifierKind.PATH, short(file.text)), SegmentKind.INPUT, file.at, file.often, 1.0)
        needed = odds.all(ease)
        self._kept: dict[Hashable, float] = dict(zip(needed, _scaled([*needed.values()], ITEMS), strict=True))
        facts: dict[Fact, float] = {}
        for one, more in zip(lines, focused, strict=True):
            for fact in one.facts:
                facts[fact] = more * _fact_weight(fact, one.at)
        facts.update((file.fact, 1.0) for file in files)
        whole: dict[str, float] = defaultdict(float)
        for (name, _), worth in facts.items():
            whole[_class(name)] += worth
        for fact, worth in facts.items():
            name = _class(fact[0])
            eased = ease**-SHORTNESS if name in EVENTS else ease if name in QUOTED else 1.0
            self._kept[fact] = eased * CLASSES.get(name, 1.0) * worth / whole[name]

    def of(self, kept: Hashable) -> float:
        """The score of an item or a fact."""
        return self._kept.get(kept, 0.0)


def spoken(text: str) -> set[str]:
    """The longer words of a text, in small letters; names in camel case also by their parts."""
    found = {part.lower() for word in LONG_WORD.findall(text) for part in (word, *PARTS.findall(word))}
    return {word for word in found if len(word) >= FEWEST}


def _short_words(focus: str, longer: Set[str]) -> frozenset[str]:
    """The short words of a text that name something, in small letters: all if it has no longer ones, else those with
    capitals or digits, as `CI` and `v2`.
    """
    short = [word for word in WORD.findall(focus) if len(word) < FEWEST or not word.isalpha()]
    named = [word for word in short if not longer or word.lower() != word or not word.isalpha()]
    return frozenset(word.lower() for word in named) - ARTICLES


def _fact_weight(fact: Fact, at: float) -> float:
    """The weight of a fact within its class: an event counts by its length, in bytes for all scripts, and recency."""
    name, text = fact
    if name not in EVENTS:
        return 1.0
    return float(len(utf8(text)) ** MATTER) * recent(at) * (PLACED if name == "placed" else 1.0)


def _class(name: str) -> str:
    return "said" if name == "placed" else name


class _Odds:
    """The relative odds that each item is needed."""

    def __init__(self) -> None:
        self._known: dict[Identifier, list[Any]] = {}

    def add(self, item: Identifier, kind: SegmentKind, at: float, often: int, more: float) -> None:
        """Adds a line of a segment of `kind` that names the item and occurs `often` times. `more`: its factor."""
        known = self._known.setdefault(item, [False, False, 1.0, 0, 1.0])
        known[0] = known[0] or kind == SegmentKind.INPUT
        known[1] = known[1] or kind not in (SegmentKind.INPUT, SegmentKind.RESULT)
        known[2] = min(known[2], at)
        known[3] += often
        known[4] = max(known[4], more)

    def all(self, ease: float) -> dict[Identifier, float]:
        """Item -> odds. `ease`: the factor on items that only results name."""
        return {
            item: NAMED ** (is_called + is_said) * recent(at) * count**OFTEN * more
            * (1.0 if is_called or is_said else ease)
            for item, (is_called, is_said, at, count, more) in self._known.items()
        }  # fmt: skip


def _path_repeat_odds(file: File) -> float:
    return ARGUMENT * recent(file.at) * file.often * _whole(file.text)


def _scaled(values: Sequence[float], whole: float) -> list[float]:
    """The values, scaled so that they add up to `whole`."""
    total = sum(values)
    return [whole * value / total for value in values] if total else list(values)
