"""extract: a summary by rules alone: what was said, word for word, the lines that keep most of what is needed later.

COMPACTION 3. Pieces are cut into fragments (`fragments.py`), files are listed (`touched.py`); each line is worth what
it keeps that nothing taken keeps yet (`worth.py`); the best for their tokens are taken until the budget is used
(`cover.py`) and put into words (`wording.py`). The same pieces give the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.core.names import Name, Names
from ctxkit.policies.compact.cover import Line, cover
from ctxkit.policies.compact.fragments import Fragment, fragments
from ctxkit.policies.compact.source import Piece
from ctxkit.policies.compact.touched import File, touched
from ctxkit.policies.compact.wording import INDEX, Words
from ctxkit.policies.compact.worth import Worth

Count = Callable[[Sequence[str]], Sequence[int]]
"""Tokens of each of these texts."""
TAG, MARK = 4, 2
"""Tokens of a message's number, and of the ends of a line with what marks a gap."""
LISTED = -1
"""The group of what stands in a list and needs no heading."""
GUESSES = 6
"""Of how many lines fit, by how many tokens others have."""
MORE = 1.2
"""Of the budget: lines that are taken so that the best ones for it can be told."""


def extract(
    pieces: Sequence[Piece], budget: int, count: Count, *, told: Names | None = None,
    label: Callable[[Name], str] = str,
) -> str | None:  # fmt: skip
    """A summary of at most `budget` tokens, by `count`; None where nothing fits.

    `pieces`: of the context, in order; `told`: the messages that the summary tells (None: all of them), beside which
    the others stay, so that it need not say what they do; `label`: how messages are named in it.
    """
    lines, files = fragments(pieces), touched(pieces)
    told_pieces = [told is None or piece.name in told for piece in pieces]
    words = Words(pieces, label, [piece.name for piece in pieces] if told is None else told)
    ours = [told_pieces[one.piece] for one in lines] + [told is None or file.told_by(told) for file in files]
    taken = _best(words, lines, files, ours, count, budget)
    return _fitting(words, [*lines, *files], taken, budget, count)


def _best(
    words: Words, lines: Sequence[Fragment], files: Sequence[File], ours: Sequence[bool], count: Count, budget: int
) -> list[int]:
    """Places among the lines, then the files, the best ones first. `ours`: which of them may be taken."""
    places = [place for place, is_ours in enumerate(ours) if is_ours]
    both: list[Fragment | File] = [*lines, *files]
    tokens = count([both[place].text for place in places])
    worth = Worth(words.pieces, lines, files, budget / (sum(tokens) or 1))
    found = []
    for place, size in zip(places, tokens, strict=True):
        one = both[place]
        if isinstance(one, File):
            found.append(Line(one.keeps, worth.words[place], size + TAG * len(one.names), LISTED))
        else:
            tags = sum(name in INDEX for name, _ in one.facts[:1])
            found.append(Line(one.keeps, worth.words[place], size + MARK + tags * TAG, one.piece))
    headed = sorted({line.group for line in found} - {LISTED})
    headings = dict(zip(headed, count([words.heading(words.pieces[group]) for group in headed]), strict=True))
    headings[LISTED] = -1
    there = [kept for one, is_ours in zip(both, ours, strict=True) if not is_ours for kept in one.keeps]
    taken = cover(found, worth.of, lambda group: headings[group] + 1, int(MORE * budget), there)
    return [places[place] for place in taken]


def _fitting(
    words: Words, found: Sequence[Fragment | File], taken: Sequence[int], budget: int, count: Count
) -> str | None:
    """The text of as many of the best lines as fit, in a few tries: guessed by size, then halved."""
    low, high = 0, len(taken)  # so many fit, and no more than so many
    best, many, tries = None, high, 0
    while low < high or best is None:
        tries += 1
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
        guess = int(many * budget / size) if tries < GUESSES else (low + high + 1) // 2
        many = min(max(guess, low + 1 if best is not None else 0), high)
    return best if low else None
