r"""Long runs of blanks: counted so that tiktoken does not crash, and the figure stays that of the whole text.

tiktoken's patterns end in `\s+(?!\S)`, whose stack 999,999 blanks in a row exhaust: a panic, no exception. So a text is
cut before such a run, and the run is counted as the one piece that it is. Why that changes no figure, for both patterns
(a blank: white space other than CR and LF; a run: all blanks in a row, so that what follows is none):

1. Where a line break follows, nothing is cut: `\s*[\r\n]` takes the run along, without a stack.
2. The run begins a piece. A blank is inside a piece only behind other white space; a piece that goes on behind a line
   break (`[\r\n/]*`, `\s*[\r\n]+`) has none there, since no line break follows the run.
3. The piece is the run but for its last blank, which goes with the word that follows or is alone; or all of it, where
   the text ends. No other alternative takes two blanks that no line break follows.
4. A pattern looks no further back than where a piece begins, so what follows is parted as in a text of its own. What
   stands before is, too: it meets its end where it met a blank, and `(?!\S)` holds at both.
5. One thing is left: cl100k_base's `\s++$` makes one piece of line breaks and the run, where the text ends with it. Its
   tokens are those of both parts all the same, as no token of that encoding has a blank at its end behind a line break
   (a test looks at each): none reaches over the cut.

A piece of one blank alone repeats itself: merging goes by pairs, from the left, so all but the ends of a run are tokens
alike, each of them twice the one before, until no token is longer. A period more is as many tokens more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Count = Callable[[str], int]

BLANKS = "\t\x0b\x0c \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
r"""What `\s` is to tiktoken, but for CR and LF; Python's has U+001C to U+001F too."""
LONG = 500_000
"""Characters from which a run is cut out; half of what tiktoken bears."""
PERIOD = 4096
"""Blanks after which the tokens of one blank repeat: a multiple of the longest token of blanks, in bytes."""
_RUN = re.compile(f"[{BLANKS}]*")


def count(text: str, whole: Count, piece: Count, long: int = LONG) -> int:
    """Tokens of a text, where `whole` counts ordinary text, and `piece` one piece that no pattern parts."""
    if len(text) < long:
        return whole(text)
    tokens = start = 0
    for first, end in runs(text, long):
        after = text[end : end + 1]
        if after not in ("\r", "\n"):
            last = end - len(after)
            tokens += whole(text[start:first]) + _blanks(text[first:last], piece)
            start = last
    return tokens + whole(text[start:])


def runs(text: str, long: int) -> Iterator[tuple[int, int]]:
    """Where each run of at least `long` blanks begins and ends: one character in so many is looked at, and the runs."""
    end = 0
    for probe in range(0, len(text), long):
        if probe >= end and text[probe] in BLANKS:
            earliest = max(end, probe - long)
            start = earliest + len(text[earliest:probe].rstrip(BLANKS))
            end = _RUN.match(text, probe).end()  # type: ignore[union-attr]  # it matches everywhere
            if end - start >= long:
                yield start, end


def _blanks(run: str, piece: Count) -> int:
    """Tokens of a run that is one piece."""
    if len(run) < 4 * PERIOD or run.count(run[0]) < len(run):
        return piece(run)
    short = run[: 2 * PERIOD + len(run) % PERIOD]
    tokens = piece(short)
    return tokens + (len(run) // PERIOD - 2) * (piece(short + run[:PERIOD]) - tokens)
