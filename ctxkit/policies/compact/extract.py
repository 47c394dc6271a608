"""extract: a summary by rules alone: what was said, word for word, the lines that keep most of what is needed later.

COMPACTION 3. Pieces are cut into fragments (`fragments.py`), files are listed (`touched.py`); each line is worth what
it keeps that nothing taken keeps yet (`worth.py`); the best for their tokens are taken until the budget is used
(`cover.py`) and put into words (`wording.py`). The same pieces give the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from ctxkit.core.names import Name
from ctxkit.policies.compact.cover import Line, cover
from ctxkit.policies.compact.fragments import Fragment, fragments
from ctxkit.policies.compact.items import Item, Sort, short
from ctxkit.policies.compact.source import Piece
from ctxkit.policies.compact.touched import File, touched
from ctxkit.policies.compact.wording import Words, heading, section
from ctxkit.policies.compact.worth import Worth

Count = Callable[[Sequence[str]], Sequence[int]]
"""Tokens of each of these texts."""
TAG, MARK = 4, 2
"""Tokens of a message's number, and of the ends of a line with what marks a gap."""
LISTS = -1
"""The group of the lines that stand in lists, which need no heading of their own."""
MORE = 1.2
"""Of the budget: lines that are taken so that the best ones for it can be told."""


def extract(pieces: Sequence[Piece], budget: int, count: Count, label: Callable[[Name], str] = str) -> str | None:
    """A summary of `pieces` of at most `budget` tokens, by `count`; None where nothing fits.

    `label`: how messages are named in it.
    """
    lines, files = fragments(pieces), touched(pieces)
    taken = _best(pieces, lines, files, count, int(MORE * budget))
    return _fitting(Words(pieces, label), [*lines, *files], taken, budget, count)


def _best(
    pieces: Sequence[Piece], lines: Sequence[Fragment], files: Sequence[File], count: Count, budget: int
) -> list[int]:
    """Places among the lines, then the files, the best ones first."""
    worth = Worth(pieces, lines, files)
    tokens = count([*(one.text for one in lines), *(file.path for file in files)])
    found = []
    for one, size, words in zip(lines, tokens, worth.words, strict=False):
        listed = section(one) is not None
        keeps: tuple[Hashable, ...] = (*one.items, *one.facts)
        found.append(Line(keeps, words, size + (TAG if listed else MARK), LISTS if listed else one.piece))
    for file, size, words in zip(files, tokens[len(lines) :], worth.words[len(lines) :], strict=True):
        kept = file.fact, Item(Sort.PATH, short(file.path))
        found.append(Line(kept, words, size + TAG * len(file.names), LISTS))
    headings = count([heading(piece, str) for piece in pieces])
    return cover(found, worth.of, lambda group: 0 if group == LISTS else headings[group] + 1, budget)


def _fitting(
    words: Words, found: Sequence[Fragment | File], taken: Sequence[int], budget: int, count: Count
) -> str | None:
    """The text of as many of the best lines as fit, in a few tries."""
    low, high = 0, len(taken)  # so many fit, and no more than so many
    best, many = None, high
    while low < high or best is None:
        text = words.of([found[place] for place in taken[:many]])
        [size] = count([text])
        if size <= budget:
            low, best = many, text
            if size >= 0.995 * budget or low == high:
                break
        elif many == 0:
            return None
        else:
            high = many - 1
        guess = int(many * budget / size)
        many = min(max(guess, low + 1 if best is not None else 0), high)
    return best if low else None
