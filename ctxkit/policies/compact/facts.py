"""Facts: what a summary should keep, by class, and how much of it a text keeps.

Files edited and read, commands, errors, decisions, pending work, what people said, code that was defined. `compact
--json` counts by it what was kept; so does the benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ctxkit.core.names import Name
from ctxkit.policies.compact.items import commands, short
from ctxkit.policies.compact.source import Kind, Piece

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


def facts(pieces: Sequence[Piece]) -> dict[str, list[str]]:
    """The facts of these pieces by class, each once, in order."""
    found: dict[str, dict[str, None]] = {name: {} for name in CLASSES}
    for piece in standing(pieces):
        for name, fact in _of(piece):
            found[name].setdefault(fact)
    edited = found["files edited"]
    found["files read"] = {path: None for path in found["files read"] if path not in edited}
    return {name: list(some) for name, some in found.items()}


def standing(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces but for lists of tasks that a newer one replaced."""
    newest = newest_tasks(pieces)
    return (piece for piece in pieces if not piece.is_task or newest[piece.tool] == piece.name)


def newest_tasks(pieces: Iterable[Piece]) -> dict[str, Name]:
    """Tool -> the message that holds its newest list of tasks."""
    return {piece.tool: piece.name for piece in pieces if piece.is_task}


def _of(piece: Piece) -> Iterator[Fact]:
    for touch in piece.touches if piece.kind == Kind.INPUT else ():
        yield ("files read" if touch.how == "read" else "files edited"), short(touch.path)
    scripted = frozenset(commands(piece.text)) if piece.is_script else frozenset()
    for line in piece.text.split("\n"):
        yield from of_line(piece, line, scripted)


def of_line(piece: Piece, line: str, scripted: frozenset[str]) -> Iterator[Fact]:
    """The facts that a line of a piece keeps, or a part of a long one; files are told by calls, not by lines.

    `scripted`: the commands of the piece, where it is a script.
    """
    match piece.kind:
        case Kind.INPUT if piece.is_task:
            if OPEN.match(line):
                yield "pending", line.strip()
        case Kind.INPUT if piece.is_script:
            yield from (("commands", one) for one in commands(line) if one in scripted)
        case Kind.INPUT if piece.argument not in OLD_TEXTS and defines(line):
            yield "code", line.strip()
        case Kind.RESULT if fails(piece, line):
            yield "errors", line.strip()
        case Kind.USER:
            yield from (("user", one) for one in sentences(line) if len(WORD.findall(one)) >= FEWEST)
        case Kind.ASSISTANT:
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


def fails(piece: Piece, line: str) -> bool:
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


def kept(found: Mapping[str, Sequence[str]], text: str) -> dict[str, tuple[int, int]]:
    """Of each class: how many of its facts `text` keeps, and of how many.

    A fact is kept that stands there as it is, or most of whose words stand in one line.
    """
    lines = Lines(text)
    return {name: (sum(fact in lines for fact in some), len(some)) for name, some in found.items()}


class Lines:
    """The lines of a text, to ask whether one of them keeps a fact."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._texts: list[str] = []
        self._lines: list[frozenset[str]] = []
        self._with: dict[str, list[int]] = {}
        for line in dict.fromkeys(text.split("\n")):
            words = frozenset(WORD.findall(line))
            if words:
                for word in words:
                    self._with.setdefault(word, []).append(len(self._lines))
                self._lines.append(words)
                self._texts.append(line)

    def __contains__(self, fact: str) -> bool:
        words = WORD.findall(fact)
        return self._says(fact, words[1:-1]) or self.holds(words, SHARE)

    def _says(self, fact: str, inner: Sequence[str]) -> bool:
        """Whether it stands in the text as it is. `inner`: its words but for the ends: a line with it has them all."""
        if not inner or "\n" in fact:
            return fact in self.text
        rarest = min((self._with.get(word, ()) for word in inner), key=len)
        return any(fact in self._texts[place] for place in rarest)

    def holds(self, words: Iterable[str], share: float) -> bool:
        """Whether one line has so large a share of these words."""
        asked = frozenset(words)
        if not asked:
            return False
        need = share * len(asked)
        spare = len(asked) - int(need)  # a line that has enough of them has one of the rarest so many
        rare = sorted(asked, key=lambda word: len(self._with.get(word, ())))[: spare + 1]
        tried = {place for word in rare for place in self._with.get(word, ())}
        return any(len(asked & self._lines[place]) >= need for place in tried)
