"""Finds the facts that a summary should keep, by class, and counts how many of them a text keeps. Pure.

Classes: files edited and read, commands, errors, decisions, pending work, what people said, defined code. `compact
--json` and the benchmark report the counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from math import ceil

from ctxkit.core.item_names import Name
from ctxkit.cut.summarize.failures import is_failing, is_passed
from ctxkit.cut.summarize.tasks import is_open
from ctxkit.cut.units.identifiers import commands, short
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

Fact = tuple[str, str]
"""Class and text."""
CLASSES = ("files edited", "files read", "commands", "errors", "decisions", "pending", "user", "code")
DECIDES = re.compile(
    r"\b(?:decid(?:e|ed|es|ing)|decision|chose|choosing|opt(?:ed)? for|go(?:ing)? with|(?:will|should|let's|I'll) use|"
    r"instead of|rather than|root cause|the (?:fix|cause|reason|problem|issue) (?:is|was)|turns? out|"
    r"trade-?offs?|conclu(?:de|sion)|prefer(?:red)?|agreed)\b",
    re.I,
)
"""Matches a sentence with a decision or a cause."""
PENDS = re.compile(
    r"\b(?:TODO|FIXME|next step|next,|remaining|still (?:need|have|to|fail|open|missing)|not yet|pending|left to do|"
    r"follow-?up|needs? to be|unresolved|unfinished|blocked (?:on|by)|to be done|outstanding)\b",
    re.I,
)
"""Matches a sentence about something left to do."""
DEFINES = re.compile(
    r"^\+?\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|pub(?:\(\w+\))?\s+|abstract\s+|unsafe\s+)*"
    r"(?:def|class|func|fn|function\*?|interface|struct|enum|trait|impl|module|namespace)\s+\(?[A-Za-z_*]"
    r"|^\+?\s*(?:export\s+)?(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:\([^()]*\)|\w+)\s*=>"
    r"|^\+?\s*(?:export\s+)?type\s+\w+(?:\s*[=<]|\s+(?:struct|interface|func)\b)|^\+?\s*CREATE\s+(?:TABLE|INDEX|VIEW)\b",
)  # fmt: skip
"""Matches a line that defines code."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?!$)\s*|\n+")
WORD = re.compile(r"\w+")
SHARE = 0.8
"""A line with this share of a fact's words keeps the fact."""
LONGEST = 300
"""The most characters of a line that is a fact; longer lines are dumps."""
OLD_TEXTS = frozenset({"old_string", "oldText", "old_str"})
"""Arguments with the text that an edit removes."""
FEWEST = 3
"""The fewest words of a sentence of a person that is a fact."""
PAGE = 1 << 20
"""Characters of a text that are searched at a time."""


def facts(pieces: Iterable[TextSegment]) -> dict[str, list[str]]:
    """The facts of these segments by class, each once, in order. Iterates over `pieces` twice."""
    found: dict[str, dict[str, None]] = {name: {} for name in CLASSES}
    newest = newest_tasks(pieces)
    for piece in pieces:
        if piece.is_task and newest[piece.tool] != piece.name:
            continue
        for name, fact in _of(piece):
            found[name].setdefault(fact)
    edited = found["files edited"]
    found["files read"] = {path: None for path in found["files read"] if path not in edited}
    return {name: list(some) for name, some in found.items()}


def newest_tasks(pieces: Iterable[TextSegment]) -> dict[str, Name]:
    """Tool -> the message with its newest task list."""
    return {piece.tool: piece.name for piece in pieces if piece.is_task}


def _of(piece: TextSegment) -> Iterator[Fact]:
    for touch in piece.touches if piece.kind == SegmentKind.INPUT else ():
        yield ("files read" if touch.how == "read" else "files edited"), short(touch.path)
    read = line_facts(piece, passed=has_passed(piece))
    for line in piece.text.split("\n"):
        yield from read(line)


def has_passed(piece: TextSegment) -> bool:
    """Whether a segment is the output of a command that says that its tests passed."""
    return piece.kind == SegmentKind.RESULT and piece.runs and not piece.failed and is_passed(piece.text)


def line_facts(piece: TextSegment, *, passed: bool) -> Callable[[str], list[Fact]]:
    """Returns a function from a line of a segment to its facts, without files: these are facts of calls.

    `passed`: as `has_passed` says.
    """
    match piece.kind:
        case SegmentKind.INPUT if piece.is_task:
            return lambda line: [("pending", line.strip())] if is_open(line) else []
        case SegmentKind.INPUT if piece.is_script:
            scripted = frozenset(commands(piece.text))
            return lambda line: [("commands", one) for one in commands(line) if one in scripted]
        case SegmentKind.INPUT if piece.argument not in OLD_TEXTS:
            return lambda line: [("code", line.strip())] if defines(line) else []
        case SegmentKind.RESULT if may_fail(piece):
            return lambda line: [("errors", line.strip())] if is_failing(line, passed=passed) else []
        case SegmentKind.USER:
            return lambda line: [("user", one) for one in sentences(line) if len(WORD.findall(one)) >= FEWEST]
        case SegmentKind.ASSISTANT:
            return _spoken_facts
        case _:
            return lambda line: []


def _spoken_facts(line: str) -> list[Fact]:
    found = []
    for one in sentences(line):
        if DECIDES.search(one):
            found.append(("decisions", one))
        if PENDS.search(one):
            found.append(("pending", one))
    return found


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text, without those longer than LONGEST."""
    for one in SENTENCE.split(text):
        held = one.strip()
        if held and len(held) <= LONGEST:
            yield held


def may_fail(piece: TextSegment) -> bool:
    """Whether a result can have lines that are errors: the output of a command, or of a failed call. Those of a file
    that was read are none.
    """
    looks = bool(piece.touches) and all(touch.how == "read" for touch in piece.touches)
    return piece.failed or (piece.runs and not looks)


def defines(line: str) -> bool:
    """Whether a line defines code."""
    return len(line) <= LONGEST and DEFINES.match(line) is not None


def kept(found: Mapping[str, Sequence[str]], text: str | Iterable[str]) -> dict[str, tuple[int, int]]:
    """Class -> how many of its facts `text` keeps, and how many there are.

    A text keeps a fact if it contains it verbatim, or if one line has most of its words. `text` may be given in parts,
    with a line end between two; they are iterated over several times.
    """
    parts = [text] if isinstance(text, str) else text
    there = _kept({fact for some in found.values() for fact in some}, parts)
    return {name: (sum(fact in there for fact in some), len(some)) for name, some in found.items()}


class _Sought:
    """Words, and how many of them a line needs (`least`) to keep the `facts`."""

    __slots__ = ("facts", "is_found", "least", "words")

    def __init__(self, words: frozenset[str], least: int) -> None:
        self.words, self.least = words, least
        self.facts: list[str] = []
        self.is_found = False

    def seek(self, words: frozenset[str]) -> bool:
        """Whether a line with these words, or an earlier line, has enough of them."""
        self.is_found = self.is_found or len(self.words & words) >= self.least
        return self.is_found


def _kept(facts: Set[str], parts: Iterable[str]) -> set[str]:
    """The facts that the parts of a text keep.

    Facts and lines are compared by their common words; facts with the same common words are compared once.
    """
    known = frozenset(word for fact in facts for word in WORD.findall(fact))
    often = Counter[str]()
    for _, here in _lines(parts, known):
        often.update(here)
    sought: dict[tuple[frozenset[str], int], _Sought] = {}
    verbatim: dict[str, list[str]] = {}  # rarest inner word -> facts that a line may contain without enough words
    plain: list[str] = []
    for fact in facts:
        words = WORD.findall(fact)
        asked = frozenset(words)
        least, held = ceil(SHARE * len(asked)), asked.intersection(often)
        if 0 < least <= len(held):
            sought.setdefault((held, least), _Sought(held, least)).facts.append(fact)
        inner = words[1:-1]  # a line with the fact has these words whole; the outer two may be parts of longer words
        if not inner or "\n" in fact:
            plain.append(fact)
        elif len({*inner}) < least and often.keys() >= {*inner}:  # else a line with the fact has enough of its words
            verbatim.setdefault(min(inner, key=often.__getitem__), []).append(fact)
    by_word: dict[str, list[_Sought]] = {}
    for one in sought.values():  # a line with enough of the words has one of the `len - least + 1` rarest
        for word in sorted(one.words, key=often.__getitem__)[: len(one.words) - one.least + 1]:
            by_word.setdefault(word, []).append(one)
    found: set[str] = set()
    for line, here in _lines(parts, known):
        for word in here & by_word.keys():
            by_word[word] = [one for one in by_word[word] if not one.seek(here)]
        for word in here & verbatim.keys():
            if there := {fact for fact in verbatim[word] if fact in line}:
                found |= there
                verbatim[word] = [fact for fact in verbatim[word] if fact not in there]
    found.update(fact for one in sought.values() if one.is_found for fact in one.facts)
    return found | _verbatim([fact for fact in plain if fact not in found], parts)


def _lines(parts: Iterable[str], known: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yields the lines of a text that have any of the `known` words, with these words; repeated lines mostly once."""
    recent, size = set[str](), 0
    for part in parts:
        for line in part.split("\n"):
            if line in recent:
                continue
            recent.add(line)
            size += len(line)
            words = known & frozenset(WORD.findall(line))
            if words:
                yield line, words
        if size > PAGE:
            recent, size = set[str](), 0


def _verbatim(facts: Sequence[str], parts: Iterable[str]) -> set[str]:
    """The facts that a text contains verbatim."""
    found = set[str]()
    left = facts
    for page in _pages(parts, max(map(len, facts), default=0)) if facts else ():
        found.update(fact for fact in left if fact in page)
        left = [fact for fact in left if fact not in found]
    return found


def _pages(parts: Iterable[str], overlap: int) -> Iterator[str]:
    """Splits a text into pages. Each page begins with the last `overlap` characters of the one before."""
    held, size = list[str](), 0
    for part in parts:
        held.append(part)
        size += len(part) + 1
        if size > PAGE:
            page = "\n".join(held)
            yield page
            held, size = [page[max(0, len(page) - overlap) :]], 0
    yield "\n".join(held)
