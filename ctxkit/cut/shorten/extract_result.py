"""Shortens one result of a tool to the lines that keep most: failures first, then what a query names. Pure.

It chooses as a summary does, for a result alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import chain, pairwise

from ctxkit.core.board import LEFT_OUT
from ctxkit.cut.rank.coverage import Line, cover
from ctxkit.cut.rank.scoring import LineScores, SessionCourse, spoken
from ctxkit.cut.summarize.summary_text import by_line
from ctxkit.cut.units.segments import Fragment, fragments
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

Count = Callable[[Sequence[str]], Sequence[int]]
FAILING = frozenset({"errors", "failures"})
"""Classes of facts of lines that say what failed."""
FIRST = 2.0
"""How much more these lines count: more than any other line has."""
ASKED = 1.0
"""How much more all lines together count that a query names: it finds the only one, and decides between like ones."""
MORE = 1.5
"""Lines for so many times the tokens are selected: where they are neighbours, no mark stands between them."""
LINE = 2
"""Tokens of a line's end with the mark of a gap."""


def extract_result(
    text: str, tokens: int, count: Count, *, tool: str = "", failed: bool = False, query: str = ""
) -> str | None:
    """The lines of a result that keep most, in order, in at most `tokens` by `count`; … marks what is left out. None if
    the whole text fits, or not one line does.

    `tool`: whose result it is; `failed`: it is an error; `query`: words of lines that count more.
    """
    [whole] = count([text])
    if whole <= tokens:
        return None
    pieces = [TextSegment(1, SegmentKind.RESULT, text, tool, failed=failed)]
    found = fragments(pieces)
    sizes = count([one.text for one in found])
    course = SessionCourse([])
    asked = spoken(query)
    named = {place for place, one in enumerate(found) if not asked.isdisjoint(spoken(one.text))} if asked else set()
    tie = ASKED / max(1, len(named))
    worth = LineScores(dict(enumerate(pieces)), found, [], course, tokens / max(1, sum(sizes)))
    lines = [
        Line(
            one.keeps,
            worth.words[place] + FIRST * any(name in FAILING for name, _ in one.facts) + tie * (place in named),
            LINE + size, 0,
        )
        for place, (one, size) in enumerate(zip(found, sizes, strict=True))
    ]  # fmt: skip
    taken = cover(lines, worth.of, lambda group: 0, int(MORE * tokens))
    gaps = [range(start + 1, end) for start, end in pairwise([-1, *sorted(taken), len(lines)])]
    taken += [place for place in chain(*sorted(gaps, key=len)) if sizes[place] <= tokens]  # if nothing speaks for more

    unblank = [line for line in text.split("\n") if line.strip()]

    def made(many: int) -> str:
        return _joined([found[place] for place in sorted(taken[:many])], found, unblank)

    fits = bisect_right(range(1, len(taken) + 1), tokens, key=lambda many: count([made(many)])[0])
    return made(fits) if fits else None


def _joined(some: Sequence[Fragment], of: Sequence[Fragment], lines: Sequence[str]) -> str:
    """These fragments of these lines, with a mark for each gap, and at both ends if others come before or after."""
    texts = by_line(some, lines)
    rows: list[str] = []
    for number, before in zip(sorted(texts), [0, *sorted(texts)], strict=False):
        rows += [LEFT_OUT] if number > before + 1 else []
        rows.append(texts[number])
    if some and some[-1].place != of[-1].place:
        rows.append(LEFT_OUT)
    return "\n".join(rows)
