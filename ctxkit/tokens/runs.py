"""Long runs of blanks: counted so that tiktoken neither crashes nor stalls, and the figure stays exact.

tiktoken's patterns end in `\\s+(?!\\S)`, which backtracks: 999,999 blanks in a row exhaust its stack (a panic, no
exception). Both patterns make one piece of a run of blanks without line breaks, but for its last one where a word
follows; so the text is parted there, and the run counted as the one piece that it is. Where a line break follows, it
takes the blanks along: nothing is parted, but the middle of a run of one blank repeats itself, and is counted once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Count = Callable[[str], int]

LONG = 500_000
"""Characters from which a run of blanks is looked at; half of what tiktoken bears."""
PERIOD = 4096
"""Characters after which the tokens of one repeated blank repeat: each merge doubles a token, so a power of two does,
where it is a multiple of the longest token of blanks."""


def count(text: str, whole: Count, piece: Count, long: int = LONG) -> int:
    """Tokens of a text, where `whole` counts ordinary text, and `piece` one piece that no pattern parts."""
    if len(text) < long:
        return whole(text)
    return sum(_folded(part, piece if blanks else whole, long) for part, blanks in parts(text, long))


def parts(text: str, long: int = LONG) -> Iterator[tuple[str, bool]]:
    """The parts of a text in order, whose tokens add up to its own; True with those that are one piece each."""
    start = 0
    for run in re.finditer(rf"[^\S\r\n]{{{long},}}(?![^\S\r\n])", text):
        after = text[run.end() : run.end() + 1]
        if after in ("\r", "\n"):
            continue
        end = run.end() - bool(after)
        yield text[start : run.start()], False
        yield text[run.start() : end], True
        start = end
    yield text[start:], False


def _folded(text: str, count: Count, long: int) -> int:
    """`count` of a text with each long run of one blank shortened, and what that leaves out."""
    runs = list(re.finditer(rf"([^\S\r\n])\1{{{max(long, 4 * PERIOD) - 1},}}", text))
    kept, start = [], 0
    for run in runs:
        kept += [text[start : run.start()], run[1] * (2 * PERIOD + len(run[0]) % PERIOD)]
        start = run.end()
    kept.append(text[start:])
    tokens = count("".join(kept))
    for place, run in enumerate(runs):
        longer = [*kept]
        longer[2 * place + 1] += run[1] * PERIOD
        tokens += (len(run[0]) // PERIOD - 2) * (count("".join(longer)) - count("".join(kept)))
    return tokens
