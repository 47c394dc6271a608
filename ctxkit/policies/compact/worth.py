"""Worth: what it is worth to keep a line: the items and facts in it, and how likely its words are written again.

All in shares: of the items that are probably needed, of the facts of each class, of the lines that are probably written
again; so a class of few facts is not lost beside one of many. The figures were fitted on one half of the benchmark's
sessions and are reported on the other (docs/compaction.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from ctxkit.policies.compact.fragments import Fragment
from ctxkit.policies.compact.items import Item, Sort, short
from ctxkit.policies.compact.source import Kind, Piece
from ctxkit.policies.compact.touched import File

ITEMS, WORDS = 8.0, 4.0
"""What all items together are worth, and all words that are written again, beside a class of facts."""
CLASSES = {
    "files edited": 1.0, "files read": 0.6, "commands": 1.0, "errors": 1.0, "decisions": 1.0, "pending": 1.0,
    "user": 1.5, "code": 1.0,
}  # fmt: skip
"""What all facts of a class are worth."""
SAID_BY = {
    Kind.USER: 2.0, Kind.ASSISTANT: 1.6, Kind.INPUT: 1.5, Kind.RESULT: 0.5, Kind.SUMMARY: 1.0, Kind.NOTICE: 0.3,
}  # fmt: skip
"""How much more an item is needed that these say."""
OFTEN = 0.7
"""What an item gains with each doubling of the lines that hold it."""
AGAIN = {
    "new_string": 0.18, "newText": 0.18, "new_str": 0.18, "content": 0.16, "input": 0.12, "patch": 0.12,
    "command": 0.04, "cmd": 0.04, "old_string": 0.05, "oldText": 0.05, "old_str": 0.05,
}  # fmt: skip
"""Of the lines in an argument, how many are written again."""
ARGUMENT, ANSWER, READ, PRINTED, TYPED = 0.07, 0.04, 0.015, 0.003, 0.001
"""The same of other arguments, of what the model says, of files that were read, of other results, of users."""
SHORTEST, LONGEST = 24, 300
"""Characters of a line whose words count: shorter ones are written again by chance."""


def recent(at: float) -> float:
    """How much more what was said lately counts; `at`: how far back, from 0 to 1."""
    return 0.25 / (0.1 + at)


def again(piece: Piece, text: str, at: float) -> float:
    """How likely a line of `piece` is written again as it is."""
    if not SHORTEST <= len(text.strip()) <= LONGEST:
        return 0.0
    match piece.kind:
        case Kind.INPUT:
            base = AGAIN.get(piece.argument, ARGUMENT)
        case Kind.ASSISTANT:
            base = ANSWER
        case Kind.RESULT:
            base = READ if any(touch.how == "read" for touch in piece.touches) else PRINTED
        case _:
            base = TYPED
    return base * recent(at)


class Worth:
    """Of what these fragments and files keep."""

    def __init__(self, pieces: Sequence[Piece], lines: Sequence[Fragment], files: Sequence[File]) -> None:
        words = [again(pieces[one.piece], one.text, one.at) for one in lines]
        words += [_path_again(file) for file in files]
        self.words = _shared(words, WORDS)
        """Of the words of each line, then of each file."""
        mentions = [(item, pieces[one.piece].kind, one.at, one.often) for one in lines for item in one.items]
        mentions += [(Item(Sort.PATH, short(file.path)), Kind.INPUT, file.at, file.often) for file in files]
        needed = _needed(mentions)
        self._kept: dict[Hashable, float] = dict(zip(needed, _shared(list(needed.values()), ITEMS), strict=True))
        facts = {fact for one in lines for fact in one.facts} | {file.fact for file in files}
        sizes = Counter(name for name, _ in facts)
        self._kept.update((fact, CLASSES[fact[0]] / sizes[fact[0]]) for fact in facts)

    def of(self, kept: Hashable) -> float:
        """Of an item or a fact."""
        return self._kept.get(kept, 0.0)


def _path_again(file: File) -> float:
    return ARGUMENT * recent(file.at) if SHORTEST <= len(file.path) <= LONGEST else 0.0


def _needed(mentions: Iterable[tuple[Item, Kind, float, int]]) -> dict[Item, float]:
    """How much more each item is needed than others: by who says it, how lately, in how many lines."""
    found: dict[Item, tuple[float, float, int]] = {}
    for item, kind, at, often in mentions:
        said, newest, count = found.get(item, (0.0, 1.0, 0))
        found[item] = max(said, SAID_BY[kind]), min(newest, at), count + often
    return {
        item: said * recent(at) * (1 + OFTEN * (count.bit_length() - 1)) for item, (said, at, count) in found.items()
    }


def _shared(values: Sequence[float], whole: float) -> list[float]:
    """The values, made to come to `whole` together."""
    total = sum(values)
    return [whole * value / total for value in values] if total else list(values)
