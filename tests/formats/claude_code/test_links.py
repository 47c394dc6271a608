"""The columns of a chain: what repeats a uuid, and what each row hangs on, however the rows come."""

from __future__ import annotations

import pytest

from ctxkit.formats.claude_code.links import UNKNOWN, ChainLinks, RowKind

ROWS = [
    ("a", ""), ("p", "a"), ("q", "p"), ("b", "q"), ("a", "b"), ("c", "a"), ("d", "late"), ("late", ""), ("a", "a"),
    ("", "c"), ("", ""), ("p2", "nowhere"), ("e", "p2"), ("self", "self"),
]  # fmt: skip
"""uuid and parent; p and q in front are progress rows."""


def chain(step: int) -> ChainLinks:
    """The rows, so many at a time."""
    links = ChainLinks()
    for start in range(0, len(ROWS), step):
        some = ROWS[start : start + step]
        kinds = [RowKind.PROGRESS if uuid[:1] in ("p", "q") else RowKind.USER for uuid, _ in some]
        links.extend(kinds, [uuid for uuid, _ in some], [parent for _, parent in some], [None] * len(some))
    return links


@pytest.mark.parametrize("step", [1, 2, 3, 5, 100])
def test_rows_hang_on_what_was_there(step: int) -> None:
    """The newest row so far with the parent's uuid, progress rows looked through; what comes later is not known."""
    links = chain(step)
    unknown = UNKNOWN
    assert list(links.above) == [-1, 0, 0, 0, 3, 4, unknown, -1, 4, 5, -1, unknown, unknown, unknown]
    assert [links.parent(i) for i in range(len(links))] == [parent for _, parent in ROWS]
    assert links.older == {4: 0, 8: 4}
    assert [links.find("a", limit) for limit in (0, 1, 4, 5, 8, 9)] == [-1, 0, 0, 4, 4, 8]
    assert (links.find("", 99), links.find("x", 99)) == (-1, -1)


def test_a_part() -> None:
    """Some of the rows as a chain of their own: what is not among them is lost."""
    links = chain(100)
    links.numbers = list(range(1, len(ROWS) + 1))
    links.threads = {3: "x", 4: "x"}
    part = links.part([3, 4, 5, 8])
    assert (part.uuids, part.numbers, part.threads) == (["b", "a", "c", "a"], [4, 5, 6, 9], {0: "x", 1: "x"})
    assert (list(part.above), part.older) == ([UNKNOWN, 0, 1, 1], {3: 1})
    assert part.parent(0) == "q"


def test_rows_of_a_message() -> None:
    """They need not stand together."""
    links = chain(100)
    links.numbers[2] = links.numbers[7] = 5
    assert links.of(5) == [2, 7]
