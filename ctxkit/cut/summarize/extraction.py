"""Writes a summary by rules: verbatim lines that keep most of what is needed later. Pure.

Segments are cut into fragments (`segments.py`), and files are listed (`touched_files.py`). Each line is scored
(`scoring.py`). The best lines for their tokens are selected until the budget is used (`coverage.py`), and laid out
(`summary_text.py`). The same segments give the same text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from itertools import accumulate

from ctxkit.core.item_names import Name, Names
from ctxkit.cut.rank.coverage import Line, cover
from ctxkit.cut.rank.scoring import LineScores, SessionCourse
from ctxkit.cut.shorten.shorten_text import FULL, Count, longest
from ctxkit.cut.summarize.state_header import SHARE, SessionState, header
from ctxkit.cut.summarize.summary_text import SummaryLayout, grouped
from ctxkit.cut.units.segments import MOST, Fragment, Fragments
from ctxkit.cut.units.text_segments import TextSegment
from ctxkit.cut.units.touched_files import File, touched

TAG, MARK = 4, 2
"""Tokens of a message's number, and of a line's end with the mark of a gap."""
LISTED = -1
"""The group of files, which are in a list and need no heading."""
LETTERS = 4
"""About how many characters a token has."""
MORE = 1.2
"""Lines for so many times the budget are selected, since not all of them may fit."""


class Extraction:
    """The lines and files of a context, cut and counted once, for summaries of any size. Only lines that a summary may
    have are held in memory.
    """

    def __init__(
        self, pieces: Sequence[TextSegment], count: Count, label: Callable[[Name], str] = str, most: int = MOST,
        focus: str = "",
    ) -> None:  # fmt: skip
        """`label`: names a message in a summary; `most`: the most lines that are held; `focus`: what counts more."""
        self.pieces, self.count, self.label = pieces, count, label
        self.files = touched(pieces)
        self.state = SessionState(pieces)
        self.course = SessionCourse(self.files, focus)
        cut = Fragments(pieces, self._better, most)
        self.lines, self.heads = cut.lines, cut.pieces
        self.both: list[Fragment | File] = [*self.lines, *self.files]
        self._sizes: dict[int, int] = {}
        self._groups = grouped(self.heads)
        self._headings: dict[Hashable, int] = {LISTED: -1}
        """Group -> the tokens of its heading."""

    def _better(self, held: Fragments) -> list[Fragment]:
        """The better half of the held lines: those that are selected first."""
        lines = held.lines
        worth = LineScores(held.pieces, lines, self.files, self.course)
        some = [
            Line(one.keeps, worth.words[place], len(one.text) // LETTERS + MARK, one.piece)
            for place, one in enumerate(lines)
        ]
        taken = cover(some, worth.of, lambda group: TAG, sum(line.tokens + TAG for line in some))
        return [lines[place] for place in taken[: len(lines) // 2]]

    def text(self, budget: int, covered: Names | None = None) -> str | None:
        """A summary of at most `budget` tokens; None if nothing fits. `covered`: the messages to summarize (None: all).
        The others stay in the context, so the summary leaves out what they keep.
        """
        if not (self.pieces if covered is None else covered):
            return None
        names = Names.of({piece.name for piece in self.pieces}) if covered is None else covered
        words = SummaryLayout(self.pieces, self.label, names, self.heads)
        words.mended = self.state.runs.mended
        words.state, quoted = header(self.state, names, words.tag, int(SHARE * budget), self.count)
        ours = [
            (covered is None or self.heads[one.piece].name in covered)
            and one.text.strip() not in quoted.get(one.piece, "")
            for one in self.lines
        ]
        ours += [covered is None or file.is_last_in(covered) for file in self.files]
        taken, sizes = self._best(words, ours, budget)

        def make(tokens: float) -> tuple[int, str | None]:
            many = bisect_right(sizes, tokens)
            text = words.of([self.both[place] for place in taken[:many]])
            # with nothing to add, the summary still names its messages
            return self.count([text])[0], text if many or not taken else None

        whole = sizes[-1] if sizes else 0
        return longest(make, budget, least=(0, 0), most=(whole, whole), slack=(1 - FULL) * budget)

    @cached_property
    def full(self) -> dict[Name, int]:
        """Message -> about how many tokens a summary with all its lines has for it."""
        words = SummaryLayout(self.pieces, self.label, Names(), self.heads)
        found: dict[Name, int] = {}
        opened: set[Hashable] = {LISTED}
        weighed = self._weighed(words, range(len(self.both)), [0.0] * len(self.both))
        for line, one in zip(weighed, self.both, strict=True):
            if isinstance(one, Fragment):
                name = self.heads[one.piece].name
                found[name] = found.get(name, 0) + line.tokens + self._opens(line, opened)
        return found

    def _best(self, words: SummaryLayout, ours: Sequence[bool], budget: int) -> tuple[list[int], list[int]]:
        """Places among the lines, then the files, the best first; and about how many tokens they have with their
        headings, up to each. `ours`: which of them may be selected.
        """
        places = [place for place, is_ours in enumerate(ours) if is_ours]
        self._count_all(places)
        whole = sum(self._sizes[place] for place in places)
        worth = LineScores(self.heads, self.lines, self.files, self.course, budget / (whole or 1))
        found = self._weighed(words, places, worth.words)
        there = [kept for one, is_ours in zip(self.both, ours, strict=True) if not is_ours for kept in one.keeps]
        taken = cover(found, worth.of, lambda group: self._headings[group] + 1, int(MORE * budget), there)
        opened: set[Hashable] = set()
        sizes = [line.tokens + self._opens(line, opened) for line in map(found.__getitem__, taken)]
        return [places[place] for place in taken], list(accumulate(sizes))

    def _opens(self, line: Line, opened: set[Hashable]) -> int:
        """The tokens of the heading of a line, if nothing else opened it; opens it."""
        if line.group in opened:
            return 0
        opened.add(line.group)
        return self._headings[line.group] + 1

    def _weighed(self, words: SummaryLayout, places: Sequence[int], own: Sequence[float]) -> list[Line]:
        """The lines and files at these places, for `cover`. `own`: the score of the words of each."""
        self._count_all(places)
        found = []
        for place in places:
            one, size = self.both[place], self._sizes[place]
            if isinstance(one, File):
                found.append(Line(one.keeps, own[place], size + TAG, LISTED))
            else:
                found.append(Line(one.keeps, own[place], size + MARK, self._groups[one.piece]))
        groups = {self._groups[one.piece] for one in map(self.both.__getitem__, places) if isinstance(one, Fragment)}
        fresh = sorted(groups - self._headings.keys())
        sizes = self.count([words.heading(self.heads[group], group) for group in fresh])
        self._headings.update(zip(fresh, sizes, strict=True))
        return found

    def _count_all(self, places: Sequence[int]) -> None:
        fresh = [place for place in places if place not in self._sizes]
        sizes = self.count(
            [one.line if isinstance(one, File) else one.text for one in map(self.both.__getitem__, fresh)]
        )
        self._sizes.update(zip(fresh, sizes, strict=True))


def extract(
    pieces: Sequence[TextSegment], budget: int, count: Count, *, covered: Names | None = None,
    label: Callable[[Name], str] = str, focus: str = "",
) -> str | None:  # fmt: skip
    """A summary of at most `budget` tokens, by `count`; None if nothing fits.

    `pieces`: of the context, in order; `covered`: the messages to summarize (None: all); `label`: names a message;
    `focus`: words of lines that count more.
    """
    return Extraction(pieces, count, label, focus=focus).text(budget, covered)
