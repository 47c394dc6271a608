"""Cuts text segments into fragments that a summary can select: a line, or a sentence of a long line. Pure.

A repeated line is one fragment, at its last place. A fragment lists what it keeps: items, and facts by class, as
`cut/rank/facts.py` counts them. If there are more lines than any summary needs, only the best are held.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from ctxkit.core.text.utf8 import utf8
from ctxkit.cut.rank.facts import (
    FEWEST,
    LONGEST,
    OLD_TEXTS,
    SENTENCE,
    WORD,
    Fact,
    has_passed,
    line_facts,
    may_fail,
    newest_tasks,
    sentences,
)
from ctxkit.cut.summarize.failures import SHORTEST, is_failing
from ctxkit.cut.units.identifiers import Identifier, IdentifierKind, named
from ctxkit.cut.units.pasted import WRAPPED
from ctxkit.cut.units.text_segments import SHOWN, SegmentKind, TextSegment

PROSE = frozenset({SegmentKind.USER, SegmentKind.ASSISTANT, SegmentKind.SUMMARY, SegmentKind.NOTICE})
FRAMED = SHOWN | {SegmentKind.SUMMARY}
"""Kinds of segments in which programs write lines of their own."""
CUT = re.compile(r".{1,240}(?:(?<=[\s,;)\]}>])|$)|.{240}", re.S)
"""Matches a part of a long line that is not prose."""
ALIKE = re.compile(r"\d+")
"""Matches numbers: lines of output that differ only in numbers count as equal."""
TERSE = 16
"""The most characters of a line that its numbers tell apart: `Exit code 2`."""
NOISE = re.compile(
    r"[\W_]*|</?[\w-]+>|(?:Chunk ID|Wall time|Original token count|Total output lines|Process exited with code 0\b|"
    r"Process running with session ID).*|Output:|<(?:task-id|tool-use-id|output-file|status|usage)>.*|\[image\]|"
    r"(?:No content|\(no output\)).*|<returncode>0</returncode>|"
    r"This session is being continued from a previous conversation\b.*"
)
"""Matches lines without content, and what programs write around output and before their summaries."""
LISTING = re.compile(r"\s*(?:<system-reminder>\s*)?\w*(?:tools?|agents?|skills?|listing|instructions)\w*: *[\[{]")
"""Matches the start of a notice that lists tools, agents or skills: its first words say so."""
LISTED = re.compile(
    r"\W*(?:<system-reminder>\s*)?The following (?:[\w-]+ ){0,3}?(?:tools|skills|agents?)\b.*\bavailable\b"
)
"""Matches the line of a notice below which tools, agents or skills are listed."""
REMINDED = "</system-reminder>"
"""The end of such a notice."""
NOTHING = frozenset[str]()
MOST = 32_768
"""The most lines that are held; of more, the better half is kept. A summary of so many has half a million tokens."""
TYPED, ENDING = 2000, 500
"""The first and the last characters of a person's message that count as typed. What is between them is pasted."""


class Fragment(msgspec.Struct, gc=False):
    """A line, or a part of one.

    `piece`: the place of its segment; `line`: the number of its line there, without blank lines; `part`: the place of
    the fragment in the line; `at`: how far back it is, from 0 (the newest) to 1, in characters; `often`: how many times
    it occurs; `whole`: whether it is the whole line.
    """

    piece: int
    line: int
    part: int
    text: str
    at: float
    items: tuple[Identifier, ...] = ()
    facts: tuple[Fact, ...] = ()
    often: int = 1
    whole: bool = True

    @property
    def words(self) -> str:
        """The text without outer blanks: what tells whether two lines are equal."""
        return self.text.strip()

    @property
    def keeps(self) -> tuple[Identifier | Fact, ...]:
        """Its items and facts."""
        return *self.items, *self.facts

    @property
    def place(self) -> tuple[int, int, int]:
        """Its position, for sorting."""
        return self.piece, self.line, self.part


class Fragments:
    """The `lines` of text segments, in order. Takes linear time. A path that is a call's argument is not a line: files
    have a list of their own (`cut/units/touched_files.py`). `pieces`: place -> segment, of the lines, without its text.
    """

    def __init__(
        self,
        pieces: Sequence[TextSegment],
        best: Callable[[Fragments], Sequence[Fragment]] | None = None,
        most: int = MOST,
    ) -> None:
        """`best`: returns the better half of the held lines, if these are more than `most`; None: all are held."""
        self._found: dict[str, Fragment] = {}
        self.pieces: dict[int, TextSegment] = {}
        self._read = 0
        self._total = 0
        tasks = newest_tasks(self._measured(pieces))
        for place, piece in enumerate(pieces):
            if piece.argument in OLD_TEXTS or _is_status(piece) or (piece.is_task and tasks[piece.tool] != piece.name):
                self._read += len(piece.text) + 1
                continue
            if piece.kind == SegmentKind.INPUT and any(piece.text == touch.path for touch in piece.touches):
                self._read += len(piece.text) + 1
                continue
            self.pieces[place] = piece._replace(text="")
            for words, one in self._cut(place, piece):
                self._found[words] = one
                if best is not None and len(self._found) > most:
                    self._hold(best(self), place)
            if len(self.pieces) > 2 * most:  # drops segments with lines that are all repeated later
                self._hold(self.lines, place)
        self._hold(self.lines)

    @property
    def lines(self) -> list[Fragment]:
        """The lines that are held."""
        return sorted(self._found.values(), key=lambda one: one.place)

    def _measured(self, pieces: Iterable[TextSegment]) -> Iterator[TextSegment]:
        for piece in pieces:
            self._total += len(piece.text) + 1
            yield piece

    def _hold(self, lines: Sequence[Fragment], *places: int) -> None:
        """Keeps only these lines, their segments, and the segments at `places`."""
        self._found = {one.words: one for one in lines}
        self.pieces = {place: self.pieces[place] for place in (*(one.piece for one in lines), *places)}

    def _cut(self, place: int, piece: TextSegment) -> Iterator[tuple[str, Fragment]]:
        """Yields the fragments of a segment, each with its text without outer blanks."""
        begins, self._read = self._read, self._read + len(piece.text) + 1
        number, read, length = 0, 0, len(piece.text)
        facts_of = _FragmentFacts(piece).of
        is_typed, is_framed, is_notice = (
            piece.kind == SegmentKind.USER, piece.kind in FRAMED, piece.kind == SegmentKind.NOTICE
        )  # fmt: skip
        is_listing, is_listed = is_notice and LISTING.match(piece.text) is not None, False
        wrapped = ""
        for line in piece.text.split("\n"):
            begins += len(line) + 1
            is_asked = is_typed and (read < TYPED or length - read < ENDING)
            read += len(line) + 1
            bare = line.strip()
            if not bare:
                continue
            number += 1
            if is_typed and (tag := WRAPPED.match(bare)) is not None:
                wrapped = f"</{tag[1]}>"
            if wrapped:  # what programs put before and behind what somebody typed
                wrapped = "" if wrapped in bare else wrapped
                continue
            if is_listed:
                is_listed = REMINDED not in line
                continue
            is_listed = is_notice and LISTED.match(line) is not None and REMINDED not in line
            if is_framed and NOISE.fullmatch(bare):
                continue
            whole = not _is_long(piece.kind, line)
            at = 1 - begins / (self._total or 1)
            for part, text in enumerate([line.rstrip()] if whole else _parts(piece.kind, line)):
                if is_listing and part:
                    break
                words = bare if whole else text.strip()
                facts = facts_of(text, words, is_asked=is_asked)
                known = self._found.pop(words, None)
                items = known.items if known is not None else tuple(dict.fromkeys(named(text)))
                if piece.is_script and facts:
                    items = tuple(
                        dict.fromkeys([*items, *(Identifier(IdentifierKind.COMMAND, one) for _, one in facts)])
                    )
                often = known.often + 1 if known is not None else 1
                yield words, Fragment(place, number, part, text, at, items, facts, often, whole)


def fragments(pieces: Sequence[TextSegment]) -> list[Fragment]:
    """All fragments of these segments, in order."""
    return Fragments(pieces).lines


def _is_status(piece: TextSegment) -> bool:
    """Whether a segment sets a task's status by its id: the state of the session says the newest one of each."""
    return piece.kind == SegmentKind.INPUT and piece.tool == "TaskUpdate" and piece.argument in ("status", "taskId")


def _is_long(kind: SegmentKind, line: str) -> bool:
    """Whether a line is cut. Prose counts by its bytes: scripts with fewer characters say as much in a line."""
    return len(line) > LONGEST or (kind in PROSE and len(utf8(line)) > LONGEST)


def _parts(kind: SegmentKind, line: str) -> Iterator[str]:
    """Yields the parts of a long line."""
    for part in SENTENCE.split(line) if kind in PROSE else [line]:
        if len(part) > LONGEST:
            yield from CUT.findall(part)
        elif part.strip():
            yield part.strip()


def _ends(text: str) -> Iterator[str]:
    """Yields the first and the last sentence of what the model said: decisions and open work stand there."""
    said = [one for one in sentences(text) if len(WORD.findall(one)) >= FEWEST and not one.endswith(":")]
    yield from {*said[:1], *said[-1:]}


class _FragmentFacts:
    """Finds the facts of the fragments of one segment: those of `cut/rank/facts.py`, and those that only `scoring.py`
    uses.
    """

    def __init__(self, piece: TextSegment) -> None:
        self._passed = has_passed(piece)
        self._counted = line_facts(piece, passed=self._passed)
        self._is_result = piece.kind == SegmentKind.RESULT
        self._is_shown = piece.kind in (SegmentKind.RESULT, SegmentKind.NOTICE)
        self._failed, self._is_searched = piece.failed, self._is_result and may_fail(piece)
        self._is_said = piece.kind in (SegmentKind.ASSISTANT, SegmentKind.SUMMARY)
        self._ends = frozenset(_ends(piece.text)) if piece.kind == SegmentKind.ASSISTANT else NOTHING
        """Sentences that count by their place."""

    def of(self, text: str, words: str, *, is_asked: bool) -> tuple[Fact, ...]:
        """The facts of a fragment. `words`: it without outer blanks; `is_asked`: a person typed it."""
        found = self._counted(text)
        is_counted = bool(found)
        if self._is_result:
            found = [(name, ALIKE.sub("0", fact) if len(fact) > TERSE else fact) for name, fact in found]
        if is_asked:
            found.append(("asked", words))
        elif self._is_said:
            found += [
                ("placed" if one in self._ends else "said", one) for one in sentences(text) if not one.endswith(":")
            ]
        if self._is_shown and not is_counted and len(words) >= SHORTEST and (self._failed or self._fails(text)):
            found.append(("failures", ALIKE.sub("0", words)))
        return tuple(found)

    def _fails(self, text: str) -> bool:
        """Whether a line says what failed that was not searched for it yet."""
        return not self._is_searched and is_failing(text, passed=self._passed)
