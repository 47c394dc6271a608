"""Shortens one text: to its lines that keep most, or to both ends with such lines between them. Pure.

`lines_of` is for a result of a tool; `abridged` for what somebody said or wrote, whose ends say most. How much of a
text fits is searched by `longest`, here and wherever else a length is searched by counting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import NamedTuple, TypeVar

from ctxkit.core.board import LEFT_OUT
from ctxkit.cut.rank.coverage import Line, cover
from ctxkit.cut.rank.scoring import LineScores, SessionCourse, spoken
from ctxkit.cut.summarize.summary_text import by_line
from ctxkit.cut.units.segments import Fragment, fragments
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

Count = Callable[[Sequence[str]], Sequence[int]]
T = TypeVar("T")
FULL = 0.995
"""A text that uses this share of its tokens is not made longer."""
GUESSES, TRIES = 6, 14
"""How many tries guess a length by those before, until it is halved; and how many there are."""
HEAD, TAIL = 0.35, 0.25
"""The least shares of the head and the tail. The lines between them get the rest."""
BEGUN = "[…]"
NOTE = 24
"""Tokens of the line that says how much is left out."""
SHORT = 2 * NOTE
"""A text cut to fewer tokens is only its beginning, which keeps more."""
LINE = 3
"""Tokens of a line's end with the mark of a gap."""
FAILING = frozenset({"errors", "failures"})
"""Classes of facts of lines that say what failed."""
FIRST = 2.0
"""How much more these lines of a result count: more than any other line has."""
ASKED = 1.0
"""How much more all lines together count that a query names: it finds the only one, and decides between like ones."""
MORE = 1.5
"""Lines for so many times the tokens are selected: where they are neighbours, no mark stands between them."""


def longest(
    make: Callable[[float], tuple[float, T]], room: float, *, least: tuple[float, float], most: tuple[float, float],
    slack: float,
) -> T | None:  # fmt: skip
    """What `make` gives for about the greatest length of which the size is at most `room`; None if there is none.

    `make` returns the size that a length (tokens, or lines) gives, and what has it. `least`, `most`: the ends of the
    lengths, each with the size that it may give; `slack`: so much below `room` is enough.
    """
    aim = room - slack / 2  # not at the room itself: a try that is just too large would draw all others to it
    (low, under), (high, over) = (least[0], least[1] - aim), (most[0], most[1] - aim)
    best: tuple[float, T] | None = None
    was_over: bool | None = None
    for turn in range(TRIES):
        if over <= 0 or (was_over is False and high == most[0]):  # what the upper end gives was said, not seen
            share = 1.0
        else:
            share = under / (under - over) if under < 0 and turn < GUESSES else 0.5
        length = low + (high - low) * share
        size, made = make(length)
        if size > room:  # halving the other end keeps the tries from coming from one side alone
            high, over, under = length, size - aim, under / 2 if was_over else under
        else:
            best = max(best or (size, made), (size, made), key=lambda one: one[0])
            if room - size <= slack or length >= most[0]:
                break
            low, under, over = length, min(size - aim, -1.0), over / 2 if was_over is False else over
        was_over = size > room
        if high - low < 1:
            break
    return None if best is None else best[1]


class _BestLines(NamedTuple):
    """The fragments of a text, their tokens, and the places of those to take, the best first."""

    fragments: Sequence[Fragment]
    sizes: Sequence[int]
    taken: Sequence[int]


def _best(piece: TextSegment, tokens: int, count: Count, query: str = "", more: float = 1.0) -> _BestLines:
    """The lines that keep most in `tokens` tokens; of a result failures first, then what `query` names. `more`: lines
    for so many times the tokens are taken.
    """
    found = fragments([piece])
    sizes = count([one.text for one in found])
    worth = LineScores({0: piece}, found, [], SessionCourse([]), tokens / max(1, sum(sizes)))
    asked, is_result = spoken(query), piece.kind == SegmentKind.RESULT
    named = {place for place, one in enumerate(found) if not asked.isdisjoint(spoken(one.text))} if asked else set()
    tie = ASKED / max(1, len(named))
    fails = [is_result and any(name in FAILING for name, _ in one.facts) for one in found]
    lines = [
        Line(one.keeps, own + FIRST * failing + tie * (place in named), size + LINE, 0)
        for place, (one, own, failing, size) in enumerate(zip(found, worth.words, fails, sizes, strict=True))
    ]
    return _BestLines(found, sizes, cover(lines, worth.of, lambda group: 0, int(more * tokens)))


def lines_of(
    text: str, tokens: int, count: Count, *, tool: str = "", failed: bool = False, query: str = ""
) -> str | None:
    """The lines of a result that keep most, in order, in at most `tokens` by `count`; … marks what is left out. None if
    the whole text fits, or not one line does.

    `tool`: whose result it is; `failed`: it is an error; `query`: words of lines that count more.
    """
    [whole] = count([text])
    if whole <= tokens:
        return None
    piece = TextSegment(1, SegmentKind.RESULT, text, tool, failed=failed)
    found, sizes, best = _best(piece, tokens, count, query, MORE)
    gaps = [range(start + 1, end) for start, end in pairwise([-1, *sorted(best), len(found)])]
    # if nothing speaks for more, the short gaps are filled
    taken = [*best, *(place for place in chain(*sorted(gaps, key=len)) if sizes[place] <= tokens)]
    unblank = [line for line in text.split("\n") if line.strip()]

    def make(many: float) -> tuple[int, str]:
        made = _joined([found[place] for place in sorted(taken[: int(many)])], found, unblank)
        return count([made])[0], made

    before = list(accumulate((sizes[place] + LINE for place in taken), initial=0))
    return longest(make, tokens, least=(0, 0), most=(len(taken), before[-1]), slack=(1 - FULL) * tokens) or None


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


def abridged(text: str, tokens: int, count: Count, kind: SegmentKind = SegmentKind.USER) -> str | None:
    """The text in at most `tokens` tokens, by `count`: its head, its tail, and the lines between them that keep most.
    None if it has no more, or nothing of it fits.
    """
    [whole] = count([text])
    if whole <= tokens or not text:
        return None
    rate, slack = len(text) / whole, (1 - FULL) * tokens

    def begun(size: float) -> tuple[float, str]:
        made = f"{text[: int(size * rate)].rstrip()} {BEGUN}" * (size * rate >= 1)
        return count([made])[0], made

    def assembled(ends: float) -> tuple[float, str]:
        made = _assembled(text, int(HEAD * ends * rate), int(TAIL * ends * rate), lines)
        return count([made])[0], made

    made = None
    if tokens >= SHORT:
        ends = tokens - NOTE
        head, tail, between = int(HEAD * ends * rate), int(TAIL * ends * rate), (1 - HEAD - TAIL) * ends
        lines = _between(text, head, len(text) - tail, int(between), count, kind)
        most = (whole / (HEAD + TAIL), whole)  # with which both ends meet
        made = longest(assembled, tokens, least=(0, NOTE + between), most=most, slack=slack)
    made = made or longest(begun, tokens, least=(0, 0), most=(tokens, tokens + 3), slack=slack)
    return made if made and len(made) < len(text) else None


def _assembled(text: str, head: int, tail: int, lines: Sequence[tuple[int, int]]) -> str:
    """Both ends of a text, and those of the lines (start, end) that are between them."""
    end, begin = head, max(head, len(text) - tail)
    middle, at = [], end
    for start, stop in lines:
        if start < end or stop > begin:
            continue
        middle += [LEFT_OUT] if text[at:start].strip() else []
        middle.append(text[start:stop])
        at = stop
    middle += [LEFT_OUT] if text[at:begin].strip() else []
    left = begin - end - sum(stop - start for start, stop in lines if start >= end and stop <= begin)
    if left <= 0:
        return text
    note = f"[shortened: {left:,} of {len(text):,} characters are left out, {LEFT_OUT} marks where]"
    return "\n".join([text[:end], note, *middle, text[begin:].removeprefix("\n")])


def _between(text: str, begin: int, end: int, tokens: int, count: Count, kind: SegmentKind) -> list[tuple[int, int]]:
    """The lines between two places that keep most for their tokens: start and end of each, in order."""
    best = _best(TextSegment(1, kind, text[begin:end]), tokens, count)
    spans, at = [], begin
    for place in sorted(best.taken):
        words = best.fragments[place].text
        start = text.find(words, at, end)
        if start >= 0:
            at = start + len(words)
            spans.append((start, at))
    return spans
