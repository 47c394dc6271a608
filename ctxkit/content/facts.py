"""Facts: what a summary should keep, by class, and how much of it a text keeps. Pure.

Files edited and read, commands, errors, decisions, pending work, what people said, code that was defined. `compact
--json` counts by it what was kept; so does the benchmark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from math import ceil

from ctxkit.content.identifiers import commands, short
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.core.item_names import Name

Fact = tuple[str, str]
"""Class and words."""
CLASSES = ("files edited", "files read", "commands", "errors", "decisions", "pending", "user", "code")
DECIDES = re.compile(
    r"\b(?:decid(?:e|ed|es|ing)|decision|chose|choosing|opt(?:ed)? for|go(?:ing)? with|(?:will|should|let's|I'll) use|"
    r"instead of|rather than|root cause|the (?:fix|cause|reason|problem|issue) (?:is|was)|turns? out|"
    r"trade-?offs?|conclu(?:de|sion)|prefer(?:red)?|agreed)\b",
    re.I,
)
"""What a sentence says that decides something, or finds out why."""
PENDS = re.compile(
    r"\b(?:TODO|FIXME|next step|next,|remaining|still (?:need|have|to|fail|open|missing)|not yet|pending|left to do|"
    r"follow-?up|needs? to be|unresolved|unfinished|blocked (?:on|by)|to be done|outstanding)\b",
    re.I,
)
"""What a sentence says that leaves something to do."""
FAILS = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b(?!,\s*$)|\b(?:error|fatal|panic|FAILED|FAIL|Traceback|undefined reference|"
    r"cannot find|not found|No such file|command not found|Permission denied|assertion failed)\b[:! ]|"
    r"^(?:E  |error\b|ERROR\b|✗|✘|--- FAIL)|\bE(?:NOENT|ACCES|EXIST|ADDRINUSE|CONNREFUSED)\b|\bTS\d{4,5}\b|"
    r"(?:exit(?:ed with)?|return) (?:code|status):? [1-9]",
    re.M,
)
"""What a line of a result says where something failed."""
DEFINES = re.compile(
    r"^\+?\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|pub(?:\(\w+\))?\s+|abstract\s+|unsafe\s+)*"
    r"(?:def|class|func|fn|function\*?|interface|struct|enum|trait|impl|module|namespace)\s+\(?[A-Za-z_*]"
    r"|^\+?\s*(?:export\s+)?(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:\([^()]*\)|\w+)\s*=>"
    r"|^\+?\s*(?:export\s+)?type\s+\w+(?:\s*[=<]|\s+(?:struct|interface|func)\b)|^\+?\s*CREATE\s+(?:TABLE|INDEX|VIEW)\b",
)  # fmt: skip
"""A line that defines code."""
OPEN = re.compile(r"\[(?:pending|in_progress|todo|open|not_started)\]", re.I)
"""How a task begins that is not done."""
SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
WORD = re.compile(r"\w+")
SHARE = 0.8
"""Of a fact's words: a line that has so many of them keeps it."""
LONGEST = 300
"""Characters of a line that is a fact; longer ones are dumps."""
SHORTEST = 8
"""Characters of a line that says what failed."""
OLD_TEXTS = frozenset({"old_string", "oldText", "old_str"})
"""Arguments that hold what an edit takes away."""
FEWEST = 3
"""Words of a sentence that says something."""
PAGE = 1 << 20
"""Characters of a text that are looked through at a time."""


def facts(pieces: Iterable[TextSegment]) -> dict[str, list[str]]:
    """The facts of these pieces by class, each once, in order. They are read twice."""
    found: dict[str, dict[str, None]] = {name: {} for name in CLASSES}
    for piece in visibility(pieces):
        for name, fact in _of(piece):
            found[name].setdefault(fact)
    edited = found["files edited"]
    found["files read"] = {path: None for path in found["files read"] if path not in edited}
    return {name: list(some) for name, some in found.items()}


def visibility(pieces: Iterable[TextSegment]) -> Iterator[TextSegment]:
    """The pieces but for lists of tasks that a newer one replaced."""
    newest = newest_tasks(pieces)
    return (piece for piece in pieces if not piece.is_task or newest[piece.tool] == piece.name)


def newest_tasks(pieces: Iterable[TextSegment]) -> dict[str, Name]:
    """Tool -> the message that holds its newest list of tasks."""
    return {piece.tool: piece.name for piece in pieces if piece.is_task}


def _of(piece: TextSegment) -> Iterator[Fact]:
    for touch in piece.touches if piece.kind == SegmentKind.INPUT else ():
        yield ("files read" if touch.how == "read" else "files edited"), short(touch.path)
    scripted = frozenset(commands(piece.text)) if piece.is_script else frozenset()
    for line in piece.text.split("\n"):
        yield from of_line(piece, line, scripted)


def of_line(piece: TextSegment, line: str, scripted: frozenset[str]) -> Iterator[Fact]:
    """The facts that a line of a piece keeps, or a part of a long one; files are told by calls, not by lines.

    `scripted`: the commands of the piece, where it is a script.
    """
    match piece.kind:
        case SegmentKind.INPUT if piece.is_task:
            if OPEN.match(line):
                yield "pending", line.strip()
        case SegmentKind.INPUT if piece.is_script:
            yield from (("commands", one) for one in commands(line) if one in scripted)
        case SegmentKind.INPUT if piece.argument not in OLD_TEXTS and defines(line):
            yield "code", line.strip()
        case SegmentKind.RESULT if fails(piece, line):
            yield "errors", line.strip()
        case SegmentKind.USER:
            yield from (("user", one) for one in sentences(line) if len(WORD.findall(one)) >= FEWEST)
        case SegmentKind.ASSISTANT:
            for one in sentences(line):
                if DECIDES.search(one):
                    yield "decisions", one
                if PENDS.search(one):
                    yield "pending", one
        case _:
            return


def sentences(text: str) -> Iterator[str]:
    """The sentences of prose, none of them longer than a line of facts."""
    for one in SENTENCE.split(text):
        held = one.strip()
        if held and len(held) <= LONGEST:
            yield held


def fails(piece: TextSegment, line: str) -> bool:
    """Whether a line of a result says what failed: of a command, or of a tool that says so itself. What a file holds
    that was read is no error.
    """
    looks = bool(piece.touches) and all(touch.how == "read" for touch in piece.touches)
    if not piece.failed and (looks or not piece.runs):
        return False
    return SHORTEST <= len(line.strip()) <= LONGEST and FAILS.search(line) is not None


def defines(line: str) -> bool:
    """Whether a line defines code."""
    return len(line) <= LONGEST and DEFINES.match(line) is not None


def kept(found: Mapping[str, Sequence[str]], text: str | Iterable[str]) -> dict[str, tuple[int, int]]:
    """Of each class: how many of its facts `text` keeps, and of how many.

    A fact is kept that stands there as it is, or most of whose words stand in one line. `text`: or its parts, between
    which a line ends; they are read several times, one after the other.
    """
    parts = [text] if isinstance(text, str) else text
    there = _kept({fact for some in found.values() for fact in some}, parts)
    return {name: (sum(fact in there for fact in some), len(some)) for name, some in found.items()}


class _Sought:
    """Words of which a line has at least so many, if it keeps the facts that have them."""

    __slots__ = ("facts", "is_found", "least", "words")

    def __init__(self, words: frozenset[str], least: int) -> None:
        self.words, self.least = words, least
        self.facts: list[str] = []
        self.is_found = False

    def seek(self, words: frozenset[str]) -> bool:
        """Whether a line with these words, or an earlier one, has enough of them."""
        self.is_found = self.is_found or len(self.words & words) >= self.least
        return self.is_found


def _kept(facts: Set[str], parts: Iterable[str]) -> set[str]:
    """Those of these facts that the parts of a text keep.

    Facts and lines are compared by the words that both have, and those once that have the same.
    """
    known = frozenset(word for fact in facts for word in WORD.findall(fact))
    often = Counter[str]()
    for _, here in _lines(parts, known):
        often.update(here)
    sought: dict[tuple[frozenset[str], int], _Sought] = {}
    said: dict[str, list[str]] = {}
    plain: list[str] = []
    for fact in facts:
        words = WORD.findall(fact)
        asked = frozenset(words)
        least, held = ceil(SHARE * len(asked)), asked.intersection(often)
        if 0 < least <= len(held):
            sought.setdefault((held, least), _Sought(held, least)).facts.append(fact)
        inner = words[1:-1]  # a line with the fact has these words whole, but its ends may be parts of longer ones
        if not inner or "\n" in fact:
            plain.append(fact)
        elif len({*inner}) < least and often.keys() >= {*inner}:  # else such a line has enough of its words, too
            said.setdefault(min(inner, key=often.__getitem__), []).append(fact)
    by_word: dict[str, list[_Sought]] = {}
    for one in sought.values():  # a line that has enough of them has one of the rarest so many
        for word in sorted(one.words, key=often.__getitem__)[: len(one.words) - one.least + 1]:
            by_word.setdefault(word, []).append(one)
    found: set[str] = set()
    for line, here in _lines(parts, known):
        for word in here & by_word.keys():
            by_word[word] = [one for one in by_word[word] if not one.seek(here)]
        for word in here & said.keys():
            if there := {fact for fact in said[word] if fact in line}:
                found |= there
                said[word] = [fact for fact in said[word] if fact not in there]
    found.update(fact for one in sought.values() if one.is_found for fact in one.facts)
    return found | _standing_in([fact for fact in plain if fact not in found], parts)


def _lines(parts: Iterable[str], known: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The lines of a text that have any of the `known` words, each with these; what was there lately is left out."""
    lately, size = set[str](), 0
    for part in parts:
        for line in part.split("\n"):
            if line in lately:
                continue
            lately.add(line)
            size += len(line)
            words = known & frozenset(WORD.findall(line))
            if words:
                yield line, words
        if size > PAGE:
            lately, size = set[str](), 0


def _standing_in(facts: Sequence[str], parts: Iterable[str]) -> set[str]:
    """Those of these facts that stand in a text as they are."""
    found = set[str]()
    left = facts
    for page in _pages(parts, max(map(len, facts), default=0)) if facts else ():
        found.update(fact for fact in left if fact in page)
        left = [fact for fact in left if fact not in found]
    return found


def _pages(parts: Iterable[str], overlap: int) -> Iterator[str]:
    """A text in pages, each of which begins with the end of the one before."""
    held, size = list[str](), 0
    for part in parts:
        held.append(part)
        size += len(part) + 1
        if size > PAGE:
            page = "\n".join(held)
            yield page
            held, size = [page[max(0, len(page) - overlap) :]], 0
    yield "\n".join(held)
