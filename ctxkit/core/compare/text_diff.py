"""What changed between two texts, by words or by lines, in linear time.

Used by `diff`, for a message that was edited, shortened, or told in other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxkit.core.compare.align import align

SAME, GONE, CAME = "same", "gone", "came"

Edit = tuple[str, str]
"""SAME, GONE or CAME, and the text of it."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def words(old: str, new: str) -> list[Edit]:
    """The edits that make `new` of `old`, word by word; without GONE they spell `new`, without CAME `old`."""
    return list(_edits(_WORDS.findall(old), _WORDS.findall(new)))


def lines(old: Sequence[str], new: Sequence[str]) -> list[Edit]:
    """The same line by line, a line an edit."""
    return list(_each(old, new))


def alike(old: str, new: str) -> bool:
    """Whether two texts have at least half of their words in common, counted without their order."""
    mine, other = set(re.findall(r"\w+", old)), set(re.findall(r"\w+", new))
    return 2 * len(mine & other) >= max(len(mine), len(other), 1)


def _edits(old: Sequence[str], new: Sequence[str]) -> Iterator[Edit]:
    """Neighbours of one kind are one edit; blanks between two changes belong to them."""
    i = j = 0
    gone = came = ""
    for a, b, count in [*align(old, new), (len(old), len(new), 0)]:
        same = "".join(old[a : a + count])
        gone, came = gone + "".join(old[i:a]), came + "".join(new[j:b])
        i, j = a + count, b + count
        inner = bool(gone or came) and i < len(old) and j < len(new)
        if inner and not same.strip():
            gone, came = gone + same, came + same
            continue
        yield from ((kind, text) for kind, text in ((GONE, gone), (CAME, came), (SAME, same)) if text)
        gone = came = ""


def _each(old: Sequence[str], new: Sequence[str]) -> Iterator[Edit]:
    i = j = 0
    for a, b, count in [*align(old, new), (len(old), len(new), 0)]:
        yield from ((GONE, line) for line in old[i:a])
        yield from ((CAME, line) for line in new[j:b])
        yield from ((SAME, line) for line in old[a : a + count])
        i, j = a + count, b + count
