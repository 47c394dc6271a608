"""What it is worth to keep a line: the items and facts in it, and how likely its words are written again. Pure.

All in shares: of the items that are probably needed, of the facts of each class, of the lines that are probably written
again; so a class of few facts is not lost beside one of many. The figures were fitted on one half of the benchmark's
sessions and are reported on the other (docs/compaction.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import exp, log, prod
from typing import Any

from ctxkit.compact.segments import WHOLE, Fragment
from ctxkit.content.facts import Fact
from ctxkit.content.identifiers import Identifier, IdentifierKind, short
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.content.touched_files import File

ITEMS, WORDS = 8.0, 4.0
"""What all items together are worth, and all words that are written again, beside a class of facts."""
CLASSES = {
    "files edited": 1.0, "files read": 0.6, "commands": 1.0, "errors": 1.0, "decisions": 1.0, "pending": 1.0,
    "user": 1.0, "code": 1.0, "asked": 2.0, "said": 2.0, "reported": 0.5, "failures": 0.4, "signatures": 0.4,
}  # fmt: skip
"""What all facts of a class are worth."""
TOLD = frozenset({"asked", "said", "reported"})
"""Classes of words that tell what happened: longer ones tell more, later ones more of where the work stands."""
QUOTED = frozenset({"code", "failures", "signatures"})
"""Classes of lines that say little without others around them."""
EASE = 0.25
"""Of the tokens that are told: a summary of less than this tells what happened first, and quotes less."""
ROOM = 1.3
"""A longer one has room for what is written again: so much more it counts at most."""
TELLS = 0.8
"""Exponent: how much more what happened counts in a shorter summary."""
NEWEST, FIRST, CLOSING = 4.0, 2.0, 2.0
"""How much more counts what was asked last, what was asked first, and what the model said before it was asked again."""
ROLES = {
    SegmentKind.USER: 1.3, SegmentKind.ASSISTANT: 1.3, SegmentKind.INPUT: 2.3, SegmentKind.RESULT: 0.4,
    SegmentKind.SUMMARY: 1.3, SegmentKind.NOTICE: 1.2,
}  # fmt: skip
"""What the odds of an item are multiplied by where these name it: what only results name is seldom needed."""
LINED, IN_LINE = frozenset({IdentifierKind.IDENTIFIER, IdentifierKind.ERROR, IdentifierKind.NUMBER}), 0.3
"""Sorts of items that say little without their line; how much of their worth that is."""
FEW, LISTING = 60, 0.5
"""Items that a result names: each of more counts less, by this exponent: it is a list of something."""
OFTEN, CALLED = 0.47, 0.44
"""Exponents: of the lines that name an item, and of those in calls."""
AGAIN = {
    "new_string": 4.0, "newText": 4.0, "new_str": 4.0, "content": 3.0, "input": 3.0, "patch": 3.0,
    "command": 2.5, "cmd": 2.5,
}  # fmt: skip
"""How much likelier than others a line of an argument is written again."""
ARGUMENT, ANSWER, READ, WRITTEN, PRINTED, TYPED = 1.5, 2.0, 0.6, 5.0, 0.15, 0.5
"""The same of other arguments, of what the model says, of files that were read, of what a write answers, of other
results, of what is typed or summed up.
"""
ACTIVE, BACK = 2.0, 0.15
"""What a file counts that was touched so far back at most, as what is said of it is needed sooner."""
DISCUSSED, RECENT = 2.0, 0.4
"""How much likelier a line is written again that has an item which users and model spoke of, so far back at most."""
LATELY = 0.7
"""Exponent: how much more the words of newer lines count; items are less of the moment."""
SHORTEST, LONGEST = 24, 300
"""Characters of a line whose words count: shorter ones are written again by chance."""
LENGTH = 80
"""Characters over which the chance that a line is written again falls to a third."""


def recent(at: float, power: float = 0.4) -> float:
    """How much more what was said lately counts; `at`: how far back, from 0 to 1."""
    return exp(-power * log(0.02 + at))


def again(piece: TextSegment, one: Fragment) -> float:
    """How much likelier than others a line of `piece` is written again as it is."""
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
    return base * recent(one.at, LATELY) * one.often * _whole(one.text.strip())


def _whole(text: str) -> float:
    """How much likelier than others a text of its length is written again whole."""
    return exp(-len(text) / LENGTH) if SHORTEST <= len(text) <= LONGEST else 0.0


class SessionCourse:
    """What pieces tell of the course of things, whatever the lines. `calls`: those that touch files which were touched
    lately.
    """

    def __init__(self, pieces: Iterable[TextSegment], files: Sequence[File]) -> None:
        """The pieces of a message stand side by side."""
        active = {file.text for file in files if file.at <= BACK}
        self.calls: set[str] = set()
        self._first, self._newest = range(0), range(0)
        """The message that asks for something first, and the newest one."""
        self._closing = bytearray()
        """Of each piece, whether somebody asks again behind it."""
        said, begins, asked, name = -1, 0, False, None
        for place, piece in enumerate(pieces):
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

    def telling(self, place: int) -> float:
        """How much more than others the words of the piece at `place` tell of where the work stands."""
        if place in self._newest:
            return NEWEST
        return FIRST if place in self._first else CLOSING if self._closing[place] else 1.0


class LineScores:
    """Of what these lines and files keep. `lines`: all of them, so that what is said elsewhere too counts as often."""

    def __init__(
        self, pieces: Mapping[int, TextSegment], lines: Sequence[Fragment], files: Sequence[File],
        course: SessionCourse, share: float = EASE,
    ) -> None:  # fmt: skip
        """`pieces`: those of the lines, by their places; `share`: of the tokens that are told, how many the summary may
        have.
        """
        room = max(share, 0.01) / EASE
        ease = min(1.0, room)
        lively = [ACTIVE if pieces[one.piece].call in course.calls else 1.0 for one in lines]
        discussed = {
            item
            for one in lines
            if one.at <= RECENT and pieces[one.piece].kind in (SegmentKind.USER, SegmentKind.ASSISTANT)
            for item in one.items
        }
        words = [
            more * again(pieces[one.piece], one) * (1.0 if discussed.isdisjoint(one.items) else DISCUSSED)
            for one, more in zip(lines, lively, strict=True)
        ]
        words += [_path_again(file) for file in files]
        self.words = _shared(words, WORDS * min(room, ROOM))
        """Of the words of each line, then of each file."""
        odds = _Odds()
        named = Counter(one.piece for one in lines for _ in one.items)
        for one, more in zip(lines, lively, strict=True):
            for item in one.items:
                odds.add(item, pieces[one.piece].kind, one.at, one.often, more, named[one.piece])
        for file in files:
            odds.add(Identifier(IdentifierKind.PATH, short(file.text)), SegmentKind.INPUT, file.at, file.often, 1.0, 1)
        needed = odds.all(ease)
        self._kept: dict[Hashable, float] = {}
        for item, worth in zip(needed, _shared(list(needed.values()), ITEMS), strict=True):
            lined = IN_LINE if item.sort in LINED else 0
            self._kept[item], self._kept[WHOLE, item] = worth * (1 - lined), worth * lined
        facts = {fact: _telling(fact, one.at) * course.telling(one.piece) for one in lines for fact in one.facts}
        facts.update((file.fact, 1.0) for file in files)
        whole: dict[str, float] = defaultdict(float)
        for (name, _), one_share in facts.items():
            whole[name] += one_share
        for fact, one_share in facts.items():
            eased = ease**-TELLS if fact[0] in TOLD else ease if fact[0] in QUOTED else 1.0
            self._kept[fact] = eased * CLASSES[fact[0]] * one_share / whole[fact[0]]

    def of(self, kept: Hashable) -> float:
        """Of an item or a fact."""
        return self._kept.get(kept, 0.0)


def _telling(fact: Fact, at: float) -> float:
    """How much more than others of its class a fact counts: what is said, by its length, and by how lately."""
    name, text = fact
    return len(text) ** 0.8 * recent(at) if name in TOLD else 1.0


class _Odds:
    """How much likelier than others each item is needed."""

    def __init__(self) -> None:
        self._known: dict[Identifier, list[Any]] = {}

    def add(self, item: Identifier, kind: SegmentKind, at: float, often: int, more: float, among: int) -> None:
        """A line of `kind` names it, `often` times; `more`: what its file counts; `among`: how many items the piece
        names.
        """
        known = self._known.setdefault(item, [0, 1.0, 0, 0, 1.0, among])
        known[0] |= 1 << kind
        known[1] = min(known[1], at)
        known[2] += often
        known[3] += often if kind == SegmentKind.INPUT else 0
        known[4] = max(known[4], more)
        known[5] = min(known[5], among)

    def all(self, ease: float) -> dict[Identifier, float]:
        """Item -> odds. `ease`: what those count that results alone name."""
        return {
            item: _ROLES[kinds] * recent(at) * count**OFTEN * (1 + calls) ** CALLED * more
            * (ease * min(1.0, (FEW / among) ** LISTING) if kinds == PRINTED_ALONE else 1.0)
            for item, (kinds, at, count, calls, more, among) in self._known.items()
        }  # fmt: skip


PRINTED_ALONE = 1 << SegmentKind.RESULT
_ROLES = [prod(factor for kind, factor in ROLES.items() if kinds >> kind & 1) for kinds in range(1 << len(SegmentKind))]


def _path_again(file: File) -> float:
    return ARGUMENT * recent(file.at) * file.often * _whole(file.text)


def _shared(values: Sequence[float], whole: float) -> list[float]:
    """The values, made to come to `whole` together."""
    total = sum(values)
    return [whole * value / total for value in values] if total else list(values)
