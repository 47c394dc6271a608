"""Shortens one result of a tool to the lines that keep most: failures first, then what a query names. Pure.

It chooses as a summary does, for a result alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.compact.summary_text import by_line
from ctxkit.content.coverage import Line, cover
from ctxkit.content.scoring import LineScores, SessionCourse, spoken
from ctxkit.content.segments import Fragment, fragments
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.core.board import LEFT_OUT

Count = Callable[[Sequence[str]], Sequence[int]]
FAILING = frozenset({"errors", "failures"})
"""Classes of facts of lines that say what failed."""
FIRST = 2.0
"""How much more these lines count: more than any other line has. Those that a query names count half of it."""
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
    course = SessionCourse(pieces, [], focus=query)
    asked = spoken(query)
    worth = LineScores(dict(enumerate(pieces)), found, [], course, tokens / max(1, sum(sizes)))
    lines = [
        Line(one.keeps, worth.words[place] + _first(one, asked), LINE + size, 0)
        for place, (one, size) in enumerate(zip(found, sizes, strict=True))
    ]
    taken = cover(lines, worth.of, lambda group: 0, tokens) or _fitting(lines, tokens)
    while taken:
        made = _joined([found[place] for place in sorted(taken)], found)
        [size] = count([made])
        if size <= tokens:
            return made
        taken = taken[: min(len(taken) - 1, len(taken) * tokens // size)]
    return None


def _fitting(lines: Sequence[Line], tokens: int) -> list[int]:
    """The places of the first lines that fit, of a result in which no line has anything to keep."""
    taken: list[int] = []
    for place, one in enumerate(lines):
        tokens -= one.tokens
        if tokens < 0:
            break
        taken.append(place)
    return taken


def _first(one: Fragment, asked: set[str]) -> float:
    """What a line counts more that says what failed, or has a word that is looked for."""
    fails = any(name in FAILING for name, _ in one.facts)
    return FIRST * fails + FIRST / 2 * (not asked.isdisjoint(spoken(one.text)))


def _joined(some: Sequence[Fragment], of: Sequence[Fragment]) -> str:
    """These fragments, with a mark for each gap, and at both ends if others come before or after."""
    texts = by_line(some)
    rows: list[str] = []
    for number, before in zip(sorted(texts), [0, *sorted(texts)], strict=False):
        rows += [LEFT_OUT] if number > before + 1 else []
        rows.append(texts[number])
    if some and some[-1].place != of[-1].place:
        rows.append(LEFT_OUT)
    return "\n".join(rows)
