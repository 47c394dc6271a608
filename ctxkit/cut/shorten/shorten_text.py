"""Shortens a text to its head, its tail, and the lines between them that keep most. Pure.

It is for messages that a summary cannot replace: the first one, a newest one that somebody typed, a very long one among
few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.cut.rank.coverage import Line, cover
from ctxkit.cut.rank.scoring import LineScores, SessionCourse
from ctxkit.cut.units.segments import fragments
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

Count = Callable[[Sequence[str]], Sequence[int]]
HEAD, TAIL = 0.35, 0.25
"""The least shares of the head and the tail. The lines between them get the rest."""
GAP = "…"
LEFT_OUT = "[…]"
NOTE = 24
"""Tokens of the line that says how much is left out."""
SHORT = 2 * NOTE
"""A text cut to fewer tokens is only its beginning, which keeps more."""
LINE = 3
"""Tokens of a line's end, and of the mark of a gap before it."""
TRIES = 12
FULL = 0.997
"""A text that uses this share of its tokens is not made longer."""


def abridged(text: str, tokens: int, count: Count, kind: SegmentKind = SegmentKind.USER) -> str | None:
    """The text in at most `tokens` tokens, by `count`; None if it has no more, or nothing of it fits."""
    [whole] = count([text])
    if whole <= tokens or not text:
        return None
    rate = len(text) / whole
    if tokens < SHORT:
        return _begun(text, tokens, rate, count)
    ends = tokens - NOTE
    head, tail = int(HEAD * ends * rate), int(TAIL * ends * rate)
    lines = _best(text, head, len(text) - tail, int((1 - HEAD - TAIL) * ends), count, kind)
    best, low, high = "", 0.0, None
    scale = 1.0
    for _ in range(TRIES):
        made = _assembled(text, int(scale * head), int(scale * tail), lines)
        [size] = count([made])
        if size <= tokens:
            best, low = made, scale
            if size >= FULL * tokens:
                break
        else:
            high = scale
        grown = scale * (1 + (tokens - size) / max(1, (HEAD + TAIL) * ends))
        scale = (
            grown
            if low < grown and (high is None or grown < high)
            else (low + (2 * low + 1 if high is None else high)) / 2
        )
    return best or _begun(text, tokens, rate, count)


def _begun(text: str, tokens: int, rate: float, count: Count) -> str | None:
    """The beginning of a text, with a mark; None if nothing fits. The note would take most of so few tokens."""
    length = int(tokens * rate)
    for _ in range(TRIES):
        made = f"{text[: max(length, 0)].rstrip()} {LEFT_OUT}"
        [size] = count([made])
        if length <= 0 or size <= tokens:
            return made if length > 0 and len(made) < len(text) else None
        length -= max(1, int((size - tokens) * rate))
    return None


def _assembled(text: str, head: int, tail: int, lines: Sequence[tuple[int, int]]) -> str:
    """Both ends of a text, and those of the lines (start, end) that are between them."""
    end, begin = head, max(head, len(text) - tail)
    middle, at = [], end
    for start, stop in lines:
        if start < end or stop > begin:
            continue
        if text[at:start].strip():
            middle.append(GAP)
        middle.append(text[start:stop])
        at = stop
    if text[at:begin].strip():
        middle.append(GAP)
    left = begin - end - sum(stop - start for start, stop in lines if start >= end and stop <= begin)
    if left <= 0:
        return text
    note = f"[shortened: {left:,} of {len(text):,} characters are left out, {GAP} marks where]"
    return "\n".join([text[:end], note, *middle, text[begin:]])


def _best(text: str, begin: int, end: int, tokens: int, count: Count, kind: SegmentKind) -> list[tuple[int, int]]:
    """The lines between two places that keep most for their tokens: start and end of each, in order."""
    pieces = [TextSegment(1, kind, text[begin:end])]
    found = fragments(pieces)
    if not found or tokens <= 0:
        return []
    sizes = count([one.text for one in found])
    worth = LineScores(dict(enumerate(pieces)), found, [], SessionCourse([]), tokens / (sum(sizes) or 1))
    lines = [
        Line(one.keeps, worth.words[place], size + LINE, 0)
        for place, (one, size) in enumerate(zip(found, sizes, strict=True))
    ]
    taken = sorted(cover(lines, worth.of, lambda group: 0, tokens))
    spans, at = [], begin
    for place in taken:
        start = text.find(found[place].text, at, end)
        if start >= 0:
            at = start + len(found[place].text)
            spans.append((start, at))
    return spans
