"""Scores lines by the identifiers and facts in them, and by how likely their words are written again. Pure.

All scores are shares: of the items that are probably needed, of the facts of each class, of the lines that are probably
written again. So a class of few facts counts as much as one of many. The constants were fitted on one half of the
benchmark's sessions; the reported figures are of the other half (docs/compaction.md).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from math import exp, log, prod
from typing import Any

from ctxkit.content.facts import WORD, Fact
from ctxkit.content.identifiers import Identifier, IdentifierKind, named, short
from ctxkit.content.segments import WHOLE, Fragment
from ctxkit.content.state_header import SessionState
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.content.touched_files import File
from ctxkit.core.item_names import NOTHING, Name, Names
from ctxkit.core.text.utf8 import utf8

ITEMS, WORDS = 8.0, 4.0
"""The score of all items together, and of all words that are written again. A class of facts has 1.0."""
CLASSES = {
    "files edited": 1.0, "files read": 0.6, "commands": 1.0, "errors": 1.0, "decisions": 1.0, "pending": 1.0,
    "user": 1.0, "code": 1.0, "asked": 2.0, "said": 2.0, "reported": 0.5, "failures": 0.4, "signatures": 0.4,
}  # fmt: skip
"""The score of all facts of a class."""
EVENTS = frozenset({"asked", "said", "reported", "placed", "open"})
"""Classes of facts about what happened. Longer ones count more, and so do later ones."""
QUOTED = frozenset({"code", "failures", "signatures"})
"""Classes of lines that are of little use without the lines around them."""
EASE = 0.25
"""A summary of less than this share of the summarized tokens favours events over quoted lines."""
BRIEF, LITTLE = 1.3, 0.15
"""The factor on words that are written again in a summary of at most this share, beside which few messages stay. It
falls to 1 for longer ones.
"""
SAID = {"placed": 2.5, "open": 1.5}
"""Classes of facts that count as "said", and how much more: by their place in a message, or below a heading."""
SHORTNESS = 0.8
"""Exponent: how much more events count in a shorter summary."""
QUERY = 2.0
"""The factor on items that the newest request, the open tasks or the last announcement name."""
FOCUS = 4.0
"""The factor on lines with a word that was named by hand."""
SPEAKING = frozenset({SegmentKind.USER, SegmentKind.ASSISTANT, SegmentKind.INPUT})
"""Who names what matters."""
LONG_WORD = re.compile(r"[^\W\d]{4,}")
PARTS = re.compile(r"[A-Z]?[a-z]+")
FEWEST = 4
"""The fewest letters of such a word."""
ARTICLES = frozenset({"a", "an", "and", "for", "in", "is", "it", "of", "on", "or", "the", "to"})
ASKED = 20_000
"""The most characters of these texts that are searched for items."""
NAMED = 2.0
"""The factor on definitions in output that the user or the model names."""
OPEN_RUN = 3.0
"""The factor on failures that no later run supersedes."""
BEFORE = 0.5
"""How much all that the program's own compactions took out may count, as a share of what came after."""
NEWEST, FIRST, CLOSING = 4.0, 2.0, 2.0
"""Factors for the newest request, the first request, and the model's last words before a further request."""
ROLES = {
    SegmentKind.USER: 1.3, SegmentKind.ASSISTANT: 1.3, SegmentKind.INPUT: 2.3, SegmentKind.RESULT: 0.4,
    SegmentKind.SUMMARY: 1.3, SegmentKind.NOTICE: 1.2,
}  # fmt: skip
"""Factors on the odds of an item, by the kinds of segments that name it. What only results name is seldom needed."""
LINED, IN_LINE = frozenset({IdentifierKind.IDENTIFIER, IdentifierKind.ERROR, IdentifierKind.NUMBER}), 0.3
"""Kinds of items that are of little use without their line, and the share of their score that depends on the line."""
FEW, LISTING = 60, 0.5
"""If a result names more than FEW items, it is a list, and each counts less, by the exponent LISTING."""
OFTEN, CALLED = 0.47, 0.44
"""Exponents on the number of lines that name an item, and on the number of those in calls."""
AGAIN = {
    "new_string": 4.0, "newText": 4.0, "new_str": 4.0, "content": 3.0, "input": 3.0, "patch": 3.0,
    "command": 2.5, "cmd": 2.5,
}  # fmt: skip
"""Argument -> odds that a line of it is written again."""
ARGUMENT, ANSWER, READ, WRITTEN, PRINTED, TYPED = 1.5, 2.0, 0.6, 5.0, 0.15, 0.5
"""The same odds for other arguments, the model's words, files that were read, results of writes, other results, and
typed text or summaries.
"""
TASK = 8.0
"""The same odds for the newest list of tasks."""
ACTIVE, BACK = 2.0, 0.15
"""Factor on calls that touch a file that was touched at most so far back."""
DISCUSSED, RECENT = 2.0, 0.4
"""Factor on lines with an item that the user or the model mentioned at most so far back."""
LATELY = 0.7
"""Exponent: how much more the words of newer lines count. For items the default of `recent` is used."""
SHORTEST, LONGEST = 24, 300
"""Bounds of the length, in characters, of a line with words that count. Shorter ones are written again by chance."""
LENGTH = 80
"""Characters over which the chance that a line is written again falls to a third."""


def recent(at: float, power: float = 0.4) -> float:
    """The factor for recency. `at`: how far back, from 0 to 1."""
    return exp(-power * log(0.02 + at))


def repeat_odds(piece: TextSegment, one: Fragment) -> float:
    """The relative odds that a line of `piece` is written again verbatim."""
    match piece.kind:
        case SegmentKind.INPUT if piece.argument.isdigit():
            base = TASK
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
    return base * recent(one.at, LATELY) * one.often * _whole(one.text.strip())


def _whole(text: str) -> float:
    """The relative odds that a text of this length is written again whole."""
    return exp(-len(text) / LENGTH) if SHORTEST <= len(text) <= LONGEST else 0.0


class SessionCourse:
    """The course of a session: its first and newest request, and the model's closing words. `calls`: ids of the calls
    that touch recently touched files.
    """

    def __init__(
        self, pieces: Iterable[TextSegment], files: Sequence[File], state: SessionState | None = None,
        focus: str = "", before: Names = NOTHING,
    ) -> None:  # fmt: skip
        """`pieces`: in order, with those of a message side by side; `focus`: words that count more; `before`: messages
        that the program's own compactions took out.
        """
        self.before = before
        self._before, self._after = 0, 0
        """Characters of these, and of the others."""
        self.query = frozenset(named(state.named[:ASKED])) if state is not None else frozenset[Identifier]()
        """What the newest request and the open tasks name."""
        self.focus = frozenset(spoken(focus))
        """The longer words that were named by hand."""
        self._short = _short_words(focus, self.focus)
        self.failed = frozenset(run.place for run in state.runs.open) if state is not None else frozenset[int]()
        """Places of the results of runs that failed and that no later run supersedes."""
        active = {file.text for file in files if file.at <= BACK}
        self.calls: set[str] = set()
        self._first, self._newest = range(0), range(0)
        """Places of the first message with a request, and of the newest one."""
        self._closing = bytearray()
        """Per segment, whether it is the last of the model or user before a user's next, or the last of all."""
        said, begins, asked, name = -1, 0, False, None
        for place, piece in enumerate(pieces):
            if before:
                is_before = piece.name in before
                self._before += is_before * len(piece.text)
                self._after += (not is_before) * len(piece.text)
            if piece.call and any(touch.path in active for touch in piece.touches):
                self.calls.add(piece.call)
            if piece.name != name:
                name, begins, asked = piece.name, place, False
            asked = asked or piece.kind == SegmentKind.USER
            if asked:
                self._newest = range(begins, place + 1)
                if not self._first or self._first.start == begins:
                    self._first = self._newest
            self._closing.append(0)
            if piece.kind in (SegmentKind.USER, SegmentKind.ASSISTANT):
                if said >= 0 and piece.kind == SegmentKind.USER:
                    self._closing[said] = 1
                said = place
        if said >= 0:
            self._closing[said] = 1

    @property
    def has_focus(self) -> bool:
        """Whether words were named by hand."""
        return bool(self.focus or self._short)

    def is_focused(self, text: str) -> bool:
        """Whether a line has a word that was named by hand."""
        if self.focus and not self.focus.isdisjoint(spoken(text)):
            return True
        return bool(self._short) and not self._short.isdisjoint(word.lower() for word in WORD.findall(text))

    def past(self, name: Name) -> float:
        """The factor on what a message says that the program's own compactions took out; 1 for others."""
        if not self.before or name not in self.before:
            return 1.0
        return min(1.0, BEFORE * self._after / (self._before or 1))

    def weight(self, place: int) -> float:
        """The factor for the position of the segment at `place` in the session."""
        if place in self._newest:
            return NEWEST
        return FIRST if place in self._first else CLOSING if self._closing[place] else 1.0


class LineScores:
    """The scores of what lines and files keep. `lines`: all lines, so that repetitions are counted."""

    def __init__(
        self, pieces: Mapping[int, TextSegment], lines: Sequence[Fragment], files: Sequence[File],
        course: SessionCourse, share: float = EASE,
    ) -> None:  # fmt: skip
        """`pieces`: the segments of the lines, by place; `share`: the summary's size as a share of what it replaces."""
        room = max(share, 0.01) / EASE
        ease = min(1.0, room)
        asked = [course.is_focused(one.text) for one in lines] if course.has_focus else [False] * len(lines)
        lively = [
            (ACTIVE if pieces[one.piece].call in course.calls else 1.0)
            * (FOCUS if is_asked else 1.0)
            * course.past(pieces[one.piece].name)
            for one, is_asked in zip(lines, asked, strict=True)
        ]
        discussed = {
            item
            for one in lines
            if one.at <= RECENT and pieces[one.piece].kind in (SegmentKind.USER, SegmentKind.ASSISTANT)
            for item in one.items
        }
        words = [
            more * repeat_odds(pieces[one.piece], one) * (1.0 if discussed.isdisjoint(one.items) else DISCUSSED)
            for one, more in zip(lines, lively, strict=True)
        ]
        words += [_path_repeat_odds(file) for file in files]
        self.words = _scaled(words, WORDS * min(max(1.0, BRIEF - 2 * (share - LITTLE)), BRIEF))
        """The scores of the words of each line, then of each file."""
        odds = _Odds()
        named = Counter(one.piece for one in lines for _ in one.items)
        for one, more in zip(lines, lively, strict=True):
            for item in one.items:
                odds.add(item, pieces[one.piece].kind, one.at, one.often, more, named[one.piece])
        for file in files:
            odds.add(Identifier(IdentifierKind.PATH, short(file.text)), SegmentKind.INPUT, file.at, file.often, 1.0, 1)
        needed = {item: worth * (QUERY if item in course.query else 1.0) for item, worth in odds.all(ease).items()}
        self._kept: dict[Hashable, float] = {}
        for item, worth in zip(needed, _scaled(list(needed.values()), ITEMS), strict=True):
            lined = IN_LINE if item.kind in LINED else 0
            self._kept[item], self._kept[WHOLE, item] = worth * (1 - lined), worth * lined
        facts = {
            fact: _fact_weight(fact, one.at)
            * (course.weight(one.piece) if is_event else 1.0)
            * course.past(pieces[one.piece].name)
            for one in lines
            for is_event in [not EVENTS.isdisjoint(name for name, _ in one.facts)]
            for fact in one.facts
        }
        for one in lines:
            if one.piece in course.failed:
                past = course.past(pieces[one.piece].name)
                facts.update((fact, OPEN_RUN * past) for fact in one.facts if fact[0] == "errors")
        spoken_of = {item for one in lines if pieces[one.piece].kind in SPEAKING for item in one.items}
        for one in lines:
            if not spoken_of.isdisjoint(one.items):
                facts.update((fact, facts[fact] * NAMED) for fact in one.facts if fact[0] == "signatures")
        for one, is_asked in zip(lines, asked, strict=True):
            for fact in one.facts if is_asked else ():
                facts[fact] *= FOCUS
        facts.update((file.fact, 1.0) for file in files)
        whole: dict[str, float] = defaultdict(float)
        for (name, _), one_share in facts.items():
            whole["said" if name in SAID else name] += one_share
        for fact, one_share in facts.items():
            name = "said" if fact[0] in SAID else fact[0]
            eased = ease**-SHORTNESS if name in EVENTS else ease if name in QUOTED else 1.0
            self._kept[fact] = eased * CLASSES[name] * one_share / whole[name]

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
    return len(utf8(text)) ** 0.8 * recent(at) * SAID.get(name, 1.0) if name in EVENTS else 1.0


class _Odds:
    """The relative odds that each item is needed."""

    def __init__(self) -> None:
        self._known: dict[Identifier, list[Any]] = {}

    def add(self, item: Identifier, kind: SegmentKind, at: float, often: int, more: float, among: int) -> None:
        """Adds a line of a segment of `kind` that names the item and occurs `often` times. `more`: the factor of its
        file; `among`: how many items the segment names.
        """
        known = self._known.setdefault(item, [0, 1.0, 0, 0, 1.0, among])
        known[0] |= 1 << kind
        known[1] = min(known[1], at)
        known[2] += often
        known[3] += often if kind == SegmentKind.INPUT else 0
        known[4] = max(known[4], more)
        known[5] = min(known[5], among)

    def all(self, ease: float) -> dict[Identifier, float]:
        """Item -> odds. `ease`: the factor on items that only results name."""
        return {
            item: _ROLES[kinds] * recent(at) * count**OFTEN * (1 + calls) ** CALLED * more
            * (ease * min(1.0, (FEW / among) ** LISTING) if kinds == PRINTED_ALONE else 1.0)
            for item, (kinds, at, count, calls, more, among) in self._known.items()
        }  # fmt: skip


PRINTED_ALONE = 1 << SegmentKind.RESULT
_ROLES = [prod(factor for kind, factor in ROLES.items() if kinds >> kind & 1) for kinds in range(1 << len(SegmentKind))]


def _path_repeat_odds(file: File) -> float:
    return ARGUMENT * recent(file.at) * file.often * _whole(file.text)


def _scaled(values: Sequence[float], whole: float) -> list[float]:
    """The values, scaled so that they add up to `whole`."""
    total = sum(values)
    return [whole * value / total for value in values] if total else list(values)
