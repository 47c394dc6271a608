"""Orders the lines of a summary by how useful they are, so that it can be shortened line by line. Pure.

`cut/trim_cuts.py` uses it for every summary that a budget cuts: by `compact` (`summary_text.py` lays it out),
by a model, a program or a person. The ranks are those of `compact`: the state first, cut from its end, then a model's
words, then files and lines by their scores (`scoring.py`), with what the summary still says about each: its message,
who spoke, its section.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from ctxkit.core.board import LEFT_OUT
from ctxkit.cut.rank.coverage import Line, cover
from ctxkit.cut.rank.scoring import LineScores, SessionCourse
from ctxkit.cut.summarize.state_header import HEADER, REQUESTED, SHARE
from ctxkit.cut.units.segments import Fragment, fragments
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from ctxkit.cut.units.touched_files import File

EDITED, READ, MESSAGES = "Files edited", "Files read", "Messages"
"""The titles of the lists of a summary by `compact`."""
OPENING, STORY = "[messages ", ", in the words of the model "
"""The start of its first line; and what is in that of a model's summary, which has the one by rules below it."""
FILLED = 40
"""A gap of at most so many characters between two lines is filled, instead of marked."""
LONGEST = 600
"""The most characters of a first line that always stays."""
SPEAKERS = {
    SegmentKind.USER: "user",
    SegmentKind.ASSISTANT: "assistant",
    SegmentKind.SUMMARY: "earlier summary",
    SegmentKind.NOTICE: "notice",
}
HEADING = re.compile(r"#[\d.]+ (\S+ \$)?")
"""Matches the start of a heading. A quoted line that begins so is indented, so that it cannot pass for a heading."""
_QUOTED = re.compile(
    rf"#[\d.]+ (?:(?P<who>{'|'.join(SPEAKERS.values())}):|(?P<ran>\S+) \$|"
    r'(?P<tool>\S+)(?: "[^\n]*?")?(?P<failed> failed(?: until #[\d.]+)?)? →|(?P<call>\S+)(?: [^\n:]*)?:)(?: |$)'
)
"""Matches a heading with what it says of the lines below or behind it."""
STATED = 2 * SHARE
"""The most that the request and the state have of the head of a long text: `compact` writes them shorter."""
_TAG = re.compile(r"\s*</?[\w-]+>\s*")
"""Matches a line that programs write around a summary, by which it is known as one."""
FIRST = 4
"""Among so many first lines, and as the last one, such a line stays."""
_KINDS = {name: kind for kind, name in SPEAKERS.items()}
ALL = 1 << 60
"""More tokens than any summary has."""
LETTERS, MARK = 4, 2
"""About how many characters a token has, and the tokens of a line's end with the mark of a gap."""
_BARE = TextSegment(0, SegmentKind.SUMMARY, "")
_NAMES = re.compile(r"(?: #[\d.]+)+$")
"""Matches the messages behind a file."""
_TITLES = tuple(f"{title}:" for title in (HEADER, EDITED, READ, MESSAGES))


class _Row(NamedTuple):
    """A line of the summary: a heading with a blank, or "", and what is behind it. `block`: the place of its block."""

    heading: str
    text: str
    block: int


class _Block(NamedTuple):
    """Lines below one heading. `above`: the places of the title and of the line with the heading, as far as there are;
    `piece`: what the heading says of them; `is_marked`: what is left out between two of its lines is marked.
    """

    above: tuple[int, ...]
    piece: TextSegment
    is_marked: bool


class _Part(NamedTuple):
    """What leaves as a whole: the characters from `start` to `end` of what line `row` has behind its heading."""

    row: int
    start: int
    end: int

    @property
    def size(self) -> int:
        """How many characters it has."""
        return self.end - self.start


class SummaryLines:
    """The lines of the summary `text`. Its head leaves last: its first line, with the request and the state of the
    session, as much as `compact` writes of these; of a text that names no state its best lines, up to the share of one.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._rows: dict[int, _Row] = {}
        """Place of a line -> it, without blank lines, marks of gaps, and titles."""
        self._blocks: list[_Block] = [_Block((), _BARE, is_marked=True)]
        frame, of_state, has_state = self._read(max(LONGEST, int(STATED * len(text))))
        head = [*frame, *of_state]
        ordered = self._ordered({*head})
        self._parts = [_Part(place, 0, len(self._rows[place].text)) for place in head]
        room = SHARE * len(text) - sum(part.size for part in self._parts)
        while ordered and not has_state and (not self._parts or ordered[0].size <= room):
            room -= ordered[0].size
            self._parts.append(ordered.pop(0))
        self._least, self._fewest = max(1, len(frame)), len(self._parts)
        words = [place for place, row in self._rows.items() if row.text.startswith("> ") and not self._title(row)]
        story = frozenset(words if STORY in self._lines[0] else ())  # a model's words, before all lines by rules
        self._parts += sorted(ordered, key=lambda part: part.row not in story)
        self._sizes = list(accumulate(self._lengths()))

    def best(self, letters: int, *, whole_head: bool = True) -> str:
        """The head, and as many of the best lines as have about so many characters with it. Without `whole_head` also
        less of the head, but the lines by which it is known as a summary.
        """
        many = max(self._fewest if whole_head else self._least, bisect_right(self._sizes, letters))
        return "\n".join(self._laid_out(self._parts[:many]))

    def _read(self, room: int) -> tuple[list[int], list[int], bool]:
        """Finds the lists and the quoted messages. Returns the places of the head, by which it is known as a summary
        and of the request and the state, of which it has at most `room` characters; and whether it has these.
        """
        head: list[int] = []
        frame: list[int] = []
        asks = -1
        last = max((place for place, line in enumerate(self._lines) if line.strip()), default=-1)
        state, quotes, stated, block, title = False, False, False, 0, -1
        for place, line in enumerate(self._lines):
            blank = place == 0 or not self._lines[place - 1]  # a quoted request has lines of blanks
            if line == LEFT_OUT or not (line.strip() or (line and self._rows)):
                continue
            if blank and (state or self._blocks[block].above) and not quotes:
                state, block = False, self._open((), _BARE, is_marked=False)
            if blank and line in _TITLES:
                state, quotes = line == _TITLES[0], line == _TITLES[-1]
                stated = stated or state
                title, block = place, self._open(() if state else (place,), _BARE, is_marked=quotes)
                if not state:
                    continue
            found = _QUOTED.match(line) if quotes else None
            asked = place - 1 in head and line.startswith("  " if place - 1 == asks else REQUESTED)
            asks = place if asked else asks
            stated = stated or asked
            framed = _TAG.fullmatch(line) is not None and (len(self._rows) < FIRST or place == last)
            first = not self._rows and len(line) <= LONGEST
            of_state = state or asked or line.startswith(OPENING)
            if first or framed or (of_state and len(line) <= room):
                head.append(place)
                frame += [place] * (first or framed)
                room -= len(line)
            if found is None:
                self._rows[place] = _Row("", line, block)
                continue
            whole = found.end() == len(line)
            block = self._open((title, place) if whole else (title,), _piece(found), is_marked=True)
            if not whole:
                self._rows[place] = _Row(line[: found.end()], line[found.end() :], block)
        return frame, [place for place in head if place not in frame], stated

    def _open(self, above: tuple[int, ...], piece: TextSegment, *, is_marked: bool) -> int:
        self._blocks.append(_Block(above, piece, is_marked))
        return len(self._blocks) - 1

    def _ordered(self, head: Set[int]) -> list[_Part]:
        """The parts of all lines but those of the head, the most useful first."""
        files = {
            place: File(_NAMES.sub("", row.text), title == _TITLES[1], [], place / len(self._lines))  # the best first
            for place, row in self._rows.items()
            if place not in head and (title := self._title(row)) in _TITLES[1:3]
        }
        rows: dict[int, list[int]] = {}
        for place, row in self._rows.items():
            if place not in head and place not in files:
                rows.setdefault(row.block, []).append(place)
        members = [*rows.values()]
        pieces = [
            self._blocks[block].piece._replace(name=n, text="\n".join(self._rows[place].text for place in places))
            for n, (block, places) in enumerate(rows.items(), start=1)
        ]
        found, listed = fragments(pieces), [*files.values()]
        worth = LineScores(dict(enumerate(pieces)), found, listed, SessionCourse(listed))
        lines = [
            Line(one.keeps, worth.words[place], len(one.text) // LETTERS + MARK, members[one.piece][one.line - 1])
            for place, one in enumerate(found)
        ] + [
            Line(file.keeps, own, len(self._rows[place].text) // LETTERS, place)
            for (place, file), own in zip(files.items(), worth.words[len(found) :], strict=True)
        ]
        said = fragments([_BARE._replace(text="\n".join(self._rows[place].text for place in sorted(head)))])
        there = {kept for one in said for kept in one.keeps}
        taken = cover(lines, worth.of, self._heading, ALL, there)
        rest = {*range(len(lines))}.difference(taken)
        spans = [*self._spans(found, members), *(_Part(place, 0, len(self._rows[place].text)) for place in files)]
        parts: dict[_Part, None] = {}
        for place in (*taken, *sorted(rest, reverse=True)):
            parts[spans[place]] = None
        seen = {part.row for part in parts}
        others = [place for places in reversed(members) for place in reversed(places) if place not in seen]
        return [*parts, *(_Part(place, 0, len(self._rows[place].text)) for place in others)]

    def _title(self, row: _Row) -> str:
        """The title above a line; "" if it has none."""
        return "".join(self._lines[at] for at in self._blocks[row.block].above[:1])

    def _heading(self, place: int) -> int:
        """The tokens of the heading of a line."""
        row = self._rows[place]
        return (len(row.heading) + sum(len(self._lines[at]) for at in self._blocks[row.block].above[1:])) // LETTERS

    def _spans(self, found: Sequence[Fragment], members: Sequence[Sequence[int]]) -> list[_Part]:
        """Where each fragment stands."""
        spans: list[_Part] = []
        for one in found:
            place = members[one.piece][one.line - 1]
            text = self._rows[place].text
            at = spans[-1].end if spans and spans[-1].row == place else 0
            start = -1 if one.whole else text.find(one.text, at)
            spans.append(_Part(place, start, start + len(one.text)) if start >= 0 else _Part(place, 0, len(text)))
        return spans

    def _lengths(self) -> Iterator[int]:
        """Yields how many characters each part adds to those before it."""
        opened: set[int] = set()
        for part in self._parts:
            row = self._rows[part.row]
            above = [at for at in self._blocks[row.block].above if at not in opened]
            yield (
                part.size + 1 + len(row.heading) * (part.row not in opened) + sum(len(self._lines[at]) for at in above)
            )
            opened.update([part.row, *above])

    def _laid_out(self, parts: Sequence[_Part]) -> Iterator[str]:
        """Yields the lines of the text with these parts alone, with marks where others are left out between them."""
        spans: dict[int, list[_Part]] = {}
        for part in parts:
            spans.setdefault(part.row, []).append(part)
        last = -1
        opened: set[int] = set()
        for place in sorted(spans):
            row = self._rows[place]
            above = [at for at in self._blocks[row.block].above if at not in opened]
            opened.update(above)
            first = (*above, place)[0]
            gap = self._gap(last, place) if last >= 0 else []
            if gap:
                yield from [LEFT_OUT] if LEFT_OUT in gap or sum(map(len, gap)) > FILLED else gap
            elif last >= 0 and any(not line.strip() for line in self._lines[last + 1 : first]):
                yield ""
            yield from (self._lines[at] for at in above)
            yield row.heading + _joined(row.text, spans[place])
            last = place

    def _gap(self, last: int, place: int) -> list[str]:
        """The lines that are left out between two lines of one block, if that is to be marked."""
        block = self._rows[place].block
        if self._rows[last].block != block or not self._blocks[block].is_marked:
            return []
        return [self._lines[at] for at in range(last + 1, place) if self._lines[at].strip()]


def _joined(text: str, parts: Sequence[_Part]) -> str:
    """These parts of a line, with a mark for what is left out between two of them."""
    words, end = "", 0
    for part in sorted(parts):
        if text[end : part.start].strip():
            words = f"{words.rstrip()} {LEFT_OUT} ".lstrip()
        elif words:
            words += text[end : part.start]
        words += text[max(part.start, end) : part.end]
        end = max(end, part.end)
    return words if not text[end:].strip() else f"{words.rstrip()} {LEFT_OUT}"


def _piece(found: re.Match[str]) -> TextSegment:
    """What a heading says of its lines."""
    if found["who"]:
        return _BARE._replace(kind=_KINDS[found["who"]])
    if found["tool"]:
        return _BARE._replace(kind=SegmentKind.RESULT, tool=found["tool"], failed=bool(found["failed"]))
    key = "command" if found["ran"] else "new_string"
    return _BARE._replace(kind=SegmentKind.INPUT, tool=found["ran"] or found["call"], key=key)
