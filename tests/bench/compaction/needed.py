"""What of a prefix was needed: items and lines that the agent used again before anything showed them again.

An item of the prefix is needed where a message of the agent in the suffix (its text, or what it gives a tool; the
first AHEAD of them) has it before a result or a message of the user or the program in the suffix does. Its first use
decides: what was seen again before that is not needed, however often it is used. The same holds of lines, of which
those are left out that are one item or one word and nothing else: items are there to tell whether these are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ctxkit.cut.units.identifiers import Identifier, IdentifierKind, items
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

AHEAD = 60
"""Messages of the agent in the suffix that are looked at."""
SHORTEST, LONGEST = 24, 300
"""Characters of a line."""
IN_CONTEXT = frozenset({IdentifierKind.IDENTIFIER, IdentifierKind.ERROR, IdentifierKind.NUMBER})
"""Sorts of items that say little without the line that they stand in."""
AUTHORED = frozenset({SegmentKind.ASSISTANT, SegmentKind.INPUT})
SPACE = re.compile(r"[ \t]+")
BLANK = re.compile(r"\s")
WORD = re.compile(r"\w+")
T = TypeVar("T")


class Needed(NamedTuple):
    """`items`: each with the words of the lines of the prefix that hold it, none where lines do not matter."""

    items: dict[Identifier, frozenset[frozenset[str]]]
    lines: frozenset[str]


def flat(text: str) -> str:
    """A text with single blanks, in which commands are looked for."""
    return SPACE.sub(" ", text)


def stands_in(text: str, held: str) -> bool:
    """Whether a text has this item by itself, not as a part of a longer word. The text is `flat`."""
    at = text.find(held)
    while at >= 0:
        end = at + len(held)
        before, after = text[max(0, at - 2) : at], text[end : end + 2]
        if not (_word(before[-1:]) or (before[-1:] == "-" and (held[0] == "-" or _word(before[:-1])))) and not (
            _word(after[:1]) or (after[:1] == "-" and _word(after[1:]))
        ):
            return True
        at = text.find(held, at + 1)
    return False


def _word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def lines(text: str) -> Iterator[str]:
    """The lines of a text that are long enough to be somebody's, of more than one word, without the blanks around."""
    for line in text.split("\n"):
        held = line.strip()
        if SHORTEST <= len(held) <= LONGEST and BLANK.search(held):
            yield held


def prefix_items(prefix: Iterable[TextSegment]) -> frozenset[Identifier]:
    """All items of a prefix."""
    return frozenset(item for piece in prefix for item in items(piece))


def needed(prefix: Sequence[TextSegment], suffix: Sequence[TextSegment]) -> Needed:
    """What of the prefix the suffix needed."""
    soon = list(_soon(suffix))
    texts = [piece.text for piece in prefix]
    known = prefix_items(prefix)
    used = _first_used(soon, known, items, lambda shown, item: stands_in(flat(shown), item.text))
    bare = {item.text for item in known}
    whole = frozenset(line for text in texts for line in lines(text) if line not in bare)
    again = _first_used(soon, whole, lambda piece: set(lines(piece.text)), lambda shown, line: line in shown)
    held = [line for text in texts for line in flat(text).split("\n")]
    return Needed({item: _around(item, held) for item in used}, frozenset(again))


def _soon(suffix: Iterable[TextSegment]) -> Iterator[TextSegment]:
    """The pieces up to the last message of the agent that counts."""
    authors = set[object]()
    for piece in suffix:
        if piece.kind in AUTHORED:
            authors.add(piece.name)
            if len(authors) > AHEAD:
                return
        yield piece


def _first_used(
    suffix: Iterable[TextSegment],
    known: Collection[T],
    of: Callable[[TextSegment], set[T]],
    holds: Callable[[str, T], bool],
) -> set[T]:
    found, decided = set[T](), set[T]()
    shown = ""  # by what the agent did not write
    for piece in suffix:
        if piece.kind not in AUTHORED:
            shown += "\n" + piece.text
            continue
        fresh = {one for one in of(piece) if one in known and one not in decided}
        decided |= fresh
        found.update(one for one in fresh if not holds(shown, one))
    return found


def _around(item: Identifier, held: Iterable[str]) -> frozenset[frozenset[str]]:
    if item.kind not in IN_CONTEXT:
        return frozenset()
    return frozenset(frozenset(WORD.findall(line)) for line in held if item.text in line and stands_in(line, item.text))
